/* The handshake: two machines that talk to each other over arrays. */
#include <check.h>
#include <string.h>

#include "core/handshake.h"
#include "core/wire.h"
#include "unit/require.h"

/* A stand-in for a keyed digest: every byte and its place count. context: the key, one byte. */
static void digest(void *context, const uint8_t *bytes, size_t length,
                   uint8_t mac[HANDSHAKE_MAC_SIZE])
{
    uint64_t state = *(const uint8_t *)context + UINT64_C(0xcbf29ce484222325);
    ck_assert_uint_eq(length, HANDSHAKE_SIGNED_SIZE);
    for (size_t i = 0; i < length; i++)
        state = (state ^ bytes[i]) * UINT64_C(0x100000001b3) + (state >> 29);
    for (size_t i = 0; i < HANDSHAKE_MAC_SIZE; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407U;
        mac[i] = (uint8_t)(state >> 56);
    }
}

static uint8_t right_key = 1;
static uint8_t wrong_key = 2;

typedef struct pair {
    handshake_identity_t one; /* rank 1 connects */
    handshake_identity_t two; /* to rank 2 */
    handshake_t connector;
    handshake_t acceptor;
    uint8_t sent[2][256]; /* everything each side has said */
    size_t length[2];
    size_t piece; /* bytes that are passed on at once */
    size_t flip;  /* which bit of the whole conversation is changed; SIZE_MAX: none */
    size_t said;  /* bits */
    handshake_answer_t answer;
} pair_t;

static pair_t pair_of(void)
{
    pair_t pair = {.piece = 1000, .flip = SIZE_MAX, .answer = HANDSHAKE_ACCEPT};
    pair.one = (handshake_identity_t){
        .version = 7, .rank = 1, .size = 4, .mac = digest, .mac_context = &right_key};
    memset(pair.one.job, 'j', sizeof pair.one.job);
    pair.two = pair.one;
    pair.two.rank = 2;
    return pair;
}

/* Passes on what `from` has to say. False: nothing. */
static bool pass(pair_t *pair, handshake_t *from, handshake_t *to)
{
    const uint8_t *output;
    size_t length = handshake_output(from, &output), side = from->accepts;
    if (length == 0)
        return false;
    if (length > pair->piece)
        length = pair->piece;
    size_t wants = handshake_wants(to);
    uint8_t bytes[HANDSHAKE_MESSAGE_MAX];
    memcpy(bytes, output, length);
    handshake_sent(from, length);
    if (pair->flip >= pair->said && pair->flip < pair->said + length * 8)
        bytes[(pair->flip - pair->said) / 8] ^= (uint8_t)(1u << (pair->flip - pair->said) % 8);
    pair->said += length * 8;
    memcpy(pair->sent[side] + pair->length[side], bytes, length);
    pair->length[side] += length;
    if (to->state == HANDSHAKE_OPEN) {
        REQUIRE(wants >= length); /* what is said is what is wanted */
        handshake_input(to, bytes, length);
    }
    return true;
}

static void talk(pair_t *pair)
{
    uint8_t nonces[2][HANDSHAKE_NONCE_SIZE];
    memset(nonces[0], 'x', sizeof nonces[0]);
    memset(nonces[1], 'y', sizeof nonces[1]);
    handshake_connect(&pair->connector, &pair->one, 2, nonces[0]);
    handshake_accept(&pair->acceptor, &pair->two, nonces[1]);
    for (int i = 0; i < 1000; i++) {
        bool some = pass(pair, &pair->connector, &pair->acceptor);
        if (pair->acceptor.state == HANDSHAKE_ASKS) {
            REQUIRE(handshake_wants(&pair->acceptor) == 0);
            handshake_answer(&pair->acceptor, pair->answer);
        }
        some = pass(pair, &pair->acceptor, &pair->connector) || some;
        if (!some)
            return;
    }
    ck_abort_msg("the two talk for ever");
}

START_TEST(both_learn_who_the_other_is)
{
    for (size_t piece = 1; piece <= HANDSHAKE_MESSAGE_MAX; piece++) {
        pair_t pair = pair_of();
        pair.piece = piece;
        talk(&pair);
        ck_assert_int_eq(pair.connector.state, HANDSHAKE_DONE);
        ck_assert_int_eq(pair.acceptor.state, HANDSHAKE_DONE);
        ck_assert(pair.connector.authentic && pair.acceptor.authentic);
        ck_assert_uint_eq(pair.acceptor.from, 1);
        ck_assert_uint_eq(pair.length[0], 68 + 32);
        ck_assert_uint_eq(pair.length[1], 80 + 48);
    }
}
END_TEST

START_TEST(the_drawing_is_right)
{
    pair_t pair = pair_of();
    talk(&pair);
    const uint8_t *hello = pair.sent[0], *challenge = pair.sent[1], *answer = challenge + 80;
    ck_assert_mem_eq(hello, "MUSTERhi\7\0\0\0\1\0\0\0\2\0\0\0jjjjjjjjjjjjjjjjxxxx", 40);
    ck_assert_mem_eq(challenge, "MUSTERch\7\0\0\0\0\0\0\0yyyy", 20);
    ck_assert_mem_eq(answer, "MUSTERan\7\0\0\0\0\0\0\0", 16);
}
END_TEST

START_TEST(each_answer_is_heard)
{
    for (uint32_t answer = 1; answer < HANDSHAKE_ANSWER_COUNT; answer++) {
        pair_t pair = pair_of();
        pair.answer = (handshake_answer_t)answer;
        talk(&pair);
        ck_assert_int_eq(pair.connector.state, HANDSHAKE_FAILED);
        ck_assert_int_eq(pair.acceptor.state, HANDSHAKE_FAILED);
        ck_assert_int_eq(pair.connector.status, handshake_answer_status(answer));
        ck_assert_int_eq(pair.connector.answer, answer);
        ck_assert_int_ne(pair.connector.status, MUSTER_OK);
    }
    ck_assert_int_eq(handshake_answer_status(HANDSHAKE_ANSWER_COUNT), MUSTER_PROTOCOL);
}
END_TEST

START_TEST(another_version_is_named_on_both_sides) /* C921 */
{
    pair_t pair = pair_of();
    pair.two.version = 9;
    talk(&pair);
    ck_assert_int_eq(pair.connector.status, MUSTER_VERSION_MISMATCH);
    ck_assert_int_eq(pair.acceptor.status, MUSTER_VERSION_MISMATCH);
    ck_assert_uint_eq(pair.connector.peer_version, 9);
    ck_assert_uint_eq(pair.acceptor.peer_version, 7);
    /* Proven: nobody without the secret can make two ranks believe it. */
    ck_assert(pair.connector.authentic && pair.acceptor.authentic);
}
END_TEST

START_TEST(without_the_secret_nobody_gets_in) /* C921 */
{
    pair_t pair = pair_of();
    pair.one.mac_context = &wrong_key;
    talk(&pair);
    ck_assert_int_eq(pair.connector.status, MUSTER_NOT_AUTHENTICATED);
    ck_assert(!pair.connector.authentic && !pair.acceptor.authentic);
    ck_assert_uint_eq(pair.length[0], 68); /* it shows nothing to who shows nothing */
    /* One that goes on regardless. */
    uint8_t guess[HANDSHAKE_MAC_SIZE] = {0};
    handshake_input(&pair.acceptor, guess, sizeof guess);
    ck_assert_int_eq(pair.acceptor.state, HANDSHAKE_FAILED);
    ck_assert_int_eq(pair.acceptor.status, MUSTER_NOT_AUTHENTICATED);
}
END_TEST

START_TEST(strangers_are_refused) /* C921 */
{
    for (int kind = 0; kind < 4; kind++) {
        pair_t pair = pair_of();
        if (kind == 0)
            pair.one.job[15] ^= 1;
        else if (kind == 1)
            pair.one.rank = 4; /* beyond the job */
        else if (kind == 2)
            pair.one.rank = 2; /* the acceptor itself */
        else
            pair.two.rank = 3; /* not whom it looks for */
        talk(&pair);
        ck_assert_int_eq(pair.connector.status, MUSTER_NOT_AUTHENTICATED);
        ck_assert_int_eq(pair.acceptor.status, MUSTER_NOT_AUTHENTICATED);
        ck_assert_int_eq(pair.acceptor.answer, HANDSHAKE_STRANGER);
        ck_assert(!pair.acceptor.authentic);
        ck_assert_uint_eq(pair.length[0], 68);
    }
}
END_TEST

START_TEST(no_changed_bit_goes_unseen)
{
    size_t bits = (68 + 80 + 32 + 48) * 8;
    for (size_t flip = 0; flip < bits; flip++) {
        pair_t pair = pair_of();
        pair.flip = flip;
        talk(&pair);
        REQUIRE(pair.connector.state != HANDSHAKE_DONE, "bit %zu", flip);
        /* Only who sends the last message cannot know that it arrives changed. */
        if (flip < (68 + 80 + 32) * 8)
            REQUIRE(pair.acceptor.state != HANDSHAKE_DONE, "bit %zu", flip);
    }
}
END_TEST

START_TEST(a_recording_proves_nothing)
{
    pair_t pair = pair_of();
    talk(&pair);
    handshake_t acceptor;
    uint8_t nonce[HANDSHAKE_NONCE_SIZE] = "fresh";
    handshake_accept(&acceptor, &pair.two, nonce);
    handshake_input(&acceptor, pair.sent[0], 68);
    ck_assert_int_eq(handshake_input(&acceptor, pair.sent[0] + 68, 32), HANDSHAKE_FAILED);
    ck_assert_int_eq(acceptor.status, MUSTER_NOT_AUTHENTICATED);
}
END_TEST

START_TEST(a_challenge_is_no_proof)
{
    /* Its MAC comes back to the one that made it. */
    pair_t pair = pair_of();
    talk(&pair);
    handshake_t acceptor;
    uint8_t nonce[HANDSHAKE_NONCE_SIZE] = "fresh";
    const uint8_t *challenge;
    handshake_accept(&acceptor, &pair.two, nonce);
    handshake_input(&acceptor, pair.sent[0], 68);
    ck_assert_uint_eq(handshake_output(&acceptor, &challenge), 80);
    uint8_t mac[HANDSHAKE_MAC_SIZE];
    memcpy(mac, challenge + 48, sizeof mac);
    ck_assert_int_eq(handshake_input(&acceptor, mac, sizeof mac), HANDSHAKE_FAILED);
}
END_TEST

START_TEST(garbage_is_known_by_its_first_byte) /* C922 */
{
    for (unsigned byte = 0; byte < 256; byte++) {
        for (int accepts = 0; accepts < 2; accepts++) {
            pair_t pair = pair_of();
            uint8_t nonce[HANDSHAKE_NONCE_SIZE] = {0}, first = (uint8_t)byte;
            handshake_t handshake;
            if (accepts)
                handshake_accept(&handshake, &pair.two, nonce);
            else
                handshake_connect(&handshake, &pair.one, 2, nonce);
            REQUIRE(handshake_wants(&handshake) <= HANDSHAKE_MESSAGE_MAX);
            handshake_state_t state = handshake_input(&handshake, &first, 1);
            REQUIRE(state == (byte == 'M' ? HANDSHAKE_OPEN : HANDSHAKE_FAILED));
            if (byte != 'M')
                REQUIRE(handshake.status == MUSTER_PROTOCOL && handshake_wants(&handshake) == 0);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("handshake");
    TCase *tcase = tcase_create("handshake");
    tcase_add_test(tcase, both_learn_who_the_other_is);
    tcase_add_test(tcase, the_drawing_is_right);
    tcase_add_test(tcase, each_answer_is_heard);
    tcase_add_test(tcase, another_version_is_named_on_both_sides);
    tcase_add_test(tcase, without_the_secret_nobody_gets_in);
    tcase_add_test(tcase, strangers_are_refused);
    tcase_add_test(tcase, no_changed_bit_goes_unseen);
    tcase_add_test(tcase, a_recording_proves_nothing);
    tcase_add_test(tcase, a_challenge_is_no_proof);
    tcase_add_test(tcase, garbage_is_known_by_its_first_byte);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
