/*
 * Both sides of the handshake. The first byte says which side, how the bytes after it are cut into
 * pieces, and what an acceptor answers. The MAC is a constant, so that the later steps are reached.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/assertion.h"
#include "core/handshake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_mac(void *context, const uint8_t *bytes, size_t length,
                     uint8_t mac[HANDSHAKE_MAC_SIZE])
{
    (void)context;
    uint8_t sum = 0;
    for (size_t i = 0; i < length; i++)
        sum ^= bytes[i]; /* a sanitizer sees the whole of it */
    (void)sum;
    memset(mac, 'm', HANDSHAKE_MAC_SIZE);
}

/* What holds at every moment, and the output sent in pieces. */
static void fuzz_check(handshake_t *handshake)
{
    const uint8_t *output;
    MUSTER_ASSERT(handshake_wants(handshake) <= HANDSHAKE_MESSAGE_MAX);
    MUSTER_ASSERT((handshake_wants(handshake) > 0) == (handshake->state == HANDSHAKE_OPEN));
    for (size_t left; (left = handshake_output(handshake, &output)) > 0;) {
        MUSTER_ASSERT(left <= HANDSHAKE_MESSAGE_MAX);
        handshake_sent(handshake, left > 1 ? left / 2 : 1);
    }
    if (handshake->state == HANDSHAKE_DONE || handshake->state == HANDSHAKE_ASKS) {
        MUSTER_ASSERT(handshake->authentic);
        MUSTER_ASSERT(handshake->from < handshake->size && handshake->from != handshake->to);
        MUSTER_ASSERT(handshake->peer_version == handshake->version);
    }
    if (handshake->state == HANDSHAKE_FAILED)
        MUSTER_ASSERT(handshake->status != MUSTER_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t choice = data[0];
    handshake_identity_t identity = {.version = 1, .rank = 0, .size = 4, .mac = fuzz_mac};
    uint8_t nonce[HANDSHAKE_NONCE_SIZE] = {0};
    handshake_t handshake;
    memset(identity.job, 'j', sizeof identity.job);
    if (choice & 1)
        handshake_accept(&handshake, &identity, nonce);
    else
        handshake_connect(&handshake, &identity, 1, nonce);
    fuzz_check(&handshake);
    size_t piece = choice >> 4 == 0 ? HANDSHAKE_MESSAGE_MAX : choice >> 4;
    for (size_t at = 1; at < size && handshake.state == HANDSHAKE_OPEN;) {
        size_t length = handshake_wants(&handshake);
        length = length < piece ? length : piece;
        length = length < size - at ? length : size - at;
        handshake_input(&handshake, data + at, length);
        at += length;
        fuzz_check(&handshake);
    }
    if (handshake.state == HANDSHAKE_ASKS) {
        handshake_answer(&handshake,
                         (handshake_answer_t)((choice >> 1 & 7) % HANDSHAKE_ANSWER_COUNT));
        MUSTER_ASSERT(handshake.state != HANDSHAKE_ASKS);
        fuzz_check(&handshake);
    }
    return 0;
}
