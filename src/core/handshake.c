#include "core/handshake.h"

#include "core/assertion.h"
#include "core/wire.h"

#include <string.h>

#define HANDSHAKE_MAGIC_SIZE 8
#define HANDSHAKE_PREFIX_SIZE 16 /* magic, version, answer */
#define HANDSHAKE_HELLO_SIZE 68
#define HANDSHAKE_CHALLENGE_SIZE 80
#define HANDSHAKE_PROOF_SIZE 32
#define HANDSHAKE_ANSWER_SIZE 48

static const uint8_t handshake_hello_magic[HANDSHAKE_MAGIC_SIZE] = {'M', 'U', 'S', 'T',
                                                                    'E', 'R', 'h', 'i'};
static const uint8_t handshake_challenge_magic[HANDSHAKE_MAGIC_SIZE] = {'M', 'U', 'S', 'T',
                                                                        'E', 'R', 'c', 'h'};
static const uint8_t handshake_answer_magic[HANDSHAKE_MAGIC_SIZE] = {'M', 'U', 'S', 'T',
                                                                     'E', 'R', 'a', 'n'};

muster_status_t handshake_answer_status(uint32_t answer)
{
    switch (answer) {
#define X(name, status)                                                                            \
    case HANDSHAKE_##name:                                                                         \
        return status;
        HANDSHAKE_ANSWER_LIST(X)
#undef X
    default:
        return MUSTER_PROTOCOL;
    }
}

/* The MAC with a letter over what both sides have said, as drawn in the header. */
static void handshake_sign(const handshake_t *handshake, uint8_t letter, uint32_t answer,
                           uint8_t mac[HANDSHAKE_MAC_SIZE])
{
    bool accepts = handshake->accepts;
    uint8_t bytes[HANDSHAKE_SIGNED_SIZE];
    bytes[0] = letter;
    wire_put_u32(bytes + 1, answer);
    wire_put_u32(bytes + 5, accepts ? handshake->peer_version : handshake->version);
    wire_put_u32(bytes + 9, accepts ? handshake->version : handshake->peer_version);
    wire_put_u32(bytes + 13, handshake->from);
    wire_put_u32(bytes + 17, handshake->to);
    memcpy(bytes + 21, handshake->job, HANDSHAKE_JOB_SIZE);
    memcpy(bytes + 37, accepts ? handshake->peer_nonce : handshake->own_nonce,
           HANDSHAKE_NONCE_SIZE);
    memcpy(bytes + 69, accepts ? handshake->own_nonce : handshake->peer_nonce,
           HANDSHAKE_NONCE_SIZE);
    handshake->mac(handshake->mac_context, bytes, sizeof bytes, mac);
}

/* Takes as long for any two MACs, so that time tells nothing about them. */
static bool handshake_mac_equal(const uint8_t *one, const uint8_t *other)
{
    uint8_t difference = 0;
    for (size_t i = 0; i < HANDSHAKE_MAC_SIZE; i++)
        difference |= (uint8_t)(one[i] ^ other[i]);
    return difference == 0;
}

/* Says the prefix of CHALLENGE or ANSWER, zeros after it. */
static void handshake_say(handshake_t *handshake, const uint8_t *magic, uint32_t answer,
                          size_t length)
{
    memset(handshake->output, 0, sizeof handshake->output);
    memcpy(handshake->output, magic, HANDSHAKE_MAGIC_SIZE);
    wire_put_u32(handshake->output + 8, handshake->version);
    wire_put_u32(handshake->output + 12, answer);
    handshake->output_length = length;
    handshake->output_sent = 0;
}

static void handshake_fail(handshake_t *handshake, muster_status_t status)
{
    handshake->state = HANDSHAKE_FAILED;
    handshake->status = status;
}

static void handshake_begin(handshake_t *handshake, const handshake_identity_t *identity,
                            const uint8_t *nonce)
{
    memset(handshake, 0, sizeof *handshake);
    handshake->state = HANDSHAKE_OPEN;
    handshake->version = identity->version;
    handshake->size = identity->size;
    memcpy(handshake->job, identity->job, HANDSHAKE_JOB_SIZE);
    memcpy(handshake->own_nonce, nonce, HANDSHAKE_NONCE_SIZE);
    handshake->mac = identity->mac;
    handshake->mac_context = identity->mac_context;
}

void handshake_connect(handshake_t *handshake, const handshake_identity_t *identity, uint32_t to,
                       const uint8_t nonce[HANDSHAKE_NONCE_SIZE])
{
    handshake_begin(handshake, identity, nonce);
    handshake->from = identity->rank;
    handshake->to = to;
    uint8_t *hello = handshake->output;
    memcpy(hello, handshake_hello_magic, HANDSHAKE_MAGIC_SIZE);
    wire_put_u32(hello + 8, handshake->version);
    wire_put_u32(hello + 12, handshake->from);
    wire_put_u32(hello + 16, handshake->to);
    memcpy(hello + 20, handshake->job, HANDSHAKE_JOB_SIZE);
    memcpy(hello + 36, handshake->own_nonce, HANDSHAKE_NONCE_SIZE);
    handshake->output_length = HANDSHAKE_HELLO_SIZE;
}

void handshake_accept(handshake_t *handshake, const handshake_identity_t *identity,
                      const uint8_t nonce[HANDSHAKE_NONCE_SIZE])
{
    handshake_begin(handshake, identity, nonce);
    handshake->accepts = true;
    handshake->from = MUSTER_NO_RANK;
    handshake->to = identity->rank;
}

/* The whole length of the message that is read now. */
static size_t handshake_message_size(const handshake_t *handshake)
{
    if (handshake->accepts)
        return handshake->step == 0 ? HANDSHAKE_HELLO_SIZE : HANDSHAKE_PROOF_SIZE;
    return handshake->step == 0 ? HANDSHAKE_CHALLENGE_SIZE : HANDSHAKE_ANSWER_SIZE;
}

size_t handshake_wants(const handshake_t *handshake)
{
    if (handshake->state != HANDSHAKE_OPEN)
        return 0;
    return handshake_message_size(handshake) - handshake->input_length;
}

size_t handshake_output(const handshake_t *handshake, const uint8_t **bytes)
{
    *bytes = handshake->output + handshake->output_sent;
    return handshake->output_length - handshake->output_sent;
}

void handshake_sent(handshake_t *handshake, size_t length)
{
    MUSTER_ASSERT(length <= handshake->output_length - handshake->output_sent);
    handshake->output_sent += length;
}

/* The magic of the message that is read now; NULL: it has none. */
static const uint8_t *handshake_expected_magic(const handshake_t *handshake)
{
    if (handshake->accepts)
        return handshake->step == 0 ? handshake_hello_magic : NULL;
    return handshake->step == 0 ? handshake_challenge_magic : handshake_answer_magic;
}

/* Acceptor: HELLO. What no peer of the job says is refused before anything else is done. */
static void handshake_read_hello(handshake_t *handshake)
{
    const uint8_t *hello = handshake->input;
    handshake->peer_version = wire_get_u32(hello + 8);
    handshake->from = wire_get_u32(hello + 12);
    memcpy(handshake->peer_nonce, hello + 36, HANDSHAKE_NONCE_SIZE);
    if (memcmp(hello + 20, handshake->job, HANDSHAKE_JOB_SIZE) != 0 ||
        wire_get_u32(hello + 16) != handshake->to || handshake->from >= handshake->size ||
        handshake->from == handshake->to) {
        handshake->answer = HANDSHAKE_STRANGER;
        handshake_say(handshake, handshake_challenge_magic, HANDSHAKE_STRANGER,
                      HANDSHAKE_CHALLENGE_SIZE);
        handshake_fail(handshake, MUSTER_NOT_AUTHENTICATED);
        return;
    }
    handshake_say(handshake, handshake_challenge_magic, 0, HANDSHAKE_CHALLENGE_SIZE);
    memcpy(handshake->output + 16, handshake->own_nonce, HANDSHAKE_NONCE_SIZE);
    handshake_sign(handshake, 'a', 0, handshake->output + 48);
}

/* Connector: CHALLENGE. */
static void handshake_read_challenge(handshake_t *handshake)
{
    const uint8_t *challenge = handshake->input;
    uint8_t mac[HANDSHAKE_MAC_SIZE];
    handshake->peer_version = wire_get_u32(challenge + 8);
    uint32_t answer = wire_get_u32(challenge + 12);
    if (answer != 0) {
        /* Not proven, so all it can mean is that nobody here takes us. */
        handshake->answer = HANDSHAKE_STRANGER;
        handshake_fail(handshake, MUSTER_NOT_AUTHENTICATED);
        return;
    }
    memcpy(handshake->peer_nonce, challenge + 16, HANDSHAKE_NONCE_SIZE);
    handshake_sign(handshake, 'a', 0, mac);
    if (!handshake_mac_equal(mac, challenge + 48)) {
        handshake_fail(handshake, MUSTER_NOT_AUTHENTICATED);
        return;
    }
    handshake->authentic = true;
    handshake_sign(handshake, 'c', 0, handshake->output);
    handshake->output_length = HANDSHAKE_PROOF_SIZE;
    handshake->output_sent = 0;
}

/* Acceptor: PROOF. */
static void handshake_read_proof(handshake_t *handshake)
{
    uint8_t mac[HANDSHAKE_MAC_SIZE];
    handshake_sign(handshake, 'c', 0, mac);
    if (!handshake_mac_equal(mac, handshake->input)) {
        handshake_fail(handshake, MUSTER_NOT_AUTHENTICATED);
        return;
    }
    handshake->authentic = true;
    handshake->state = HANDSHAKE_ASKS;
    if (handshake->peer_version != handshake->version)
        handshake_answer(handshake, HANDSHAKE_VERSION);
}

/* Connector: ANSWER. */
static void handshake_read_answer(handshake_t *handshake)
{
    const uint8_t *bytes = handshake->input;
    uint8_t mac[HANDSHAKE_MAC_SIZE];
    uint32_t answer = wire_get_u32(bytes + 12);
    handshake_sign(handshake, 'r', answer, mac);
    if (!handshake_mac_equal(mac, bytes + 16)) {
        handshake_fail(handshake, MUSTER_NOT_AUTHENTICATED);
    } else if (answer >= HANDSHAKE_ANSWER_COUNT ||
               wire_get_u32(bytes + 8) != handshake->peer_version) {
        handshake_fail(handshake, MUSTER_PROTOCOL);
    } else if (answer == HANDSHAKE_ACCEPT) {
        handshake->answer = HANDSHAKE_ACCEPT;
        handshake->state = HANDSHAKE_DONE;
    } else {
        handshake->answer = (handshake_answer_t)answer;
        handshake_fail(handshake, handshake_answer_status(answer));
    }
}

void handshake_answer(handshake_t *handshake, handshake_answer_t answer)
{
    MUSTER_ASSERT(handshake->state == HANDSHAKE_ASKS);
    handshake_say(handshake, handshake_answer_magic, answer, HANDSHAKE_ANSWER_SIZE);
    handshake_sign(handshake, 'r', answer, handshake->output + HANDSHAKE_PREFIX_SIZE);
    handshake->answer = answer;
    if (answer == HANDSHAKE_ACCEPT)
        handshake->state = HANDSHAKE_DONE;
    else
        handshake_fail(handshake, handshake_answer_status(answer));
}

handshake_state_t handshake_input(handshake_t *handshake, const uint8_t *bytes, size_t length)
{
    MUSTER_ASSERT(length > 0 && length <= handshake_wants(handshake));
    memcpy(handshake->input + handshake->input_length, bytes, length);
    handshake->input_length += length;
    /* Who is no Muster is known by its first bytes. */
    const uint8_t *magic = handshake_expected_magic(handshake);
    size_t compared = handshake->input_length < HANDSHAKE_MAGIC_SIZE ? handshake->input_length
                                                                     : HANDSHAKE_MAGIC_SIZE;
    if (magic != NULL && memcmp(handshake->input, magic, compared) != 0) {
        handshake_fail(handshake, MUSTER_PROTOCOL);
        return handshake->state;
    }
    if (handshake->input_length < handshake_message_size(handshake))
        return handshake->state;
    handshake->input_length = 0;
    uint8_t step = handshake->step++;
    if (handshake->accepts) {
        if (step == 0)
            handshake_read_hello(handshake);
        else
            handshake_read_proof(handshake);
    } else {
        if (step == 0)
            handshake_read_challenge(handshake);
        else
            handshake_read_answer(handshake);
    }
    return handshake->state;
}
