/* Each rank in a thread of its own: waiting, waking, and both sides at work at once. */
#include "contract.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CONTRACT_SECOND INT64_C(1000000000)

typedef struct contract_worker {
    pthread_t thread;
    contract_t *contract;
    uint32_t rank;
    uint64_t seed;
    pthread_barrier_t *barrier;
} contract_worker_t;

static void contract_run(contract_t *contract, void *(*work)(void *))
{
    contract_worker_t workers[CONTRACT_RANKS_MAX];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, contract->group.size);
    for (uint32_t i = 0; i < contract->group.size; i++) {
        workers[i] = (contract_worker_t){.contract = contract, .rank = i, .barrier = &barrier};
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < contract->group.size; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&barrier);
}

/* Lets the others go ahead by some ns. */
static void contract_spend(int64_t time)
{
    for (int64_t begin = contract_deadline(); contract_deadline() - begin < time;)
        sched_yield();
}

/* Polls until there is nothing; where there was nothing at all, waits if it may. */
static void contract_progress(contract_rank_t *rank, bool waits)
{
    bool some = false;
    for (int n = 0; n < 1000 && contract_poll(rank) != NULL; n++)
        some = true;
    if (!some && waits)
        rank->transport->operations->wait(rank->transport, 10 * CONTRACT_SECOND);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static void *contract_waiter(void *argument)
{
    transport_t *transport = argument;
    transport->operations->wait(transport, -1);
    return NULL;
}

START_TEST(a_wake_ends_a_wait_whenever_it_comes)
{
    contract_t contract;
    contract_begin(&contract, 2);
    transport_t *transport = contract.ranks[0].transport;
    ck_assert_ptr_null(contract_poll(&contract.ranks[0]));
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, contract_waiter, transport), 0);
        /* Before it begins, while it spins, or when it sleeps: all moments come to pass. */
        contract_spend(i % 8 * 50000);
        transport->operations->wake(transport);
        pthread_join(thread, NULL);
    }
    contract_end(&contract);
}
END_TEST

static int64_t contract_thread_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * CONTRACT_SECOND + time.tv_nsec;
}

START_TEST(a_wait_ends_in_time_and_sleeps_until_then)
{
    contract_t contract;
    contract_begin(&contract, 2);
    contract_meet(&contract);
    transport_t *transport = contract.ranks[0].transport;
    while (contract_poll(&contract.ranks[0]) != NULL)
        ;
    int64_t begin = contract_deadline(), spent = contract_thread_time();
    int waits = 0;
    while (contract_deadline() - begin < CONTRACT_SECOND / 2) {
        transport->operations->wait(transport, CONTRACT_SECOND / 4);
        ck_assert_ptr_null(contract_poll(&contract.ranks[0]));
        waits++;
    }
    ck_assert(contract_deadline() - begin < 20 * CONTRACT_SECOND);
    ck_assert_int_lt(waits, 100); /* some may return early, not all */
    ck_assert_msg(contract_thread_time() - spent < CONTRACT_SECOND / 5, "waiting burns time");
    contract_end(&contract);
}
END_TEST

static void *contract_receiver(void *argument)
{
    contract_rank_t *rank = argument;
    while (contract_arrived(rank, 0) < 2) {
        if (contract_poll(rank) == NULL)
            rank->transport->operations->wait(rank->transport, -1);
    }
    return NULL;
}

START_TEST(a_message_ends_a_wait)
{
    contract_t contract;
    contract_begin(&contract, 2);
    contract_meet(&contract);
    for (int i = 0; i < 50; i++) {
        contract.ranks[1].count = 0;
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, contract_receiver, &contract.ranks[1]), 0);
        contract_send(&contract.ranks[0], 1, 0, 10, 1);
        contract_spend(i % 5 * 100000);
        contract_send(&contract.ranks[0], 1, 1, 10, 1);
        pthread_join(thread, NULL);
        contract_in_order(&contract.ranks[1], 0, 0, 2);
    }
    contract_end(&contract);
}
END_TEST

/* ---- All at work ----------------------------------------------------------------------------- */

enum { CONTRACT_STRESS = 300 };

static bool contract_stress_over(const contract_worker_t *worker, const size_t *arrived)
{
    const contract_rank_t *rank = &worker->contract->ranks[worker->rank];
    for (uint32_t peer = 0; peer < worker->contract->group.size; peer++) {
        if (peer != worker->rank && arrived[peer] < CONTRACT_STRESS)
            return false;
    }
    return rank->sends_under_way == 0;
}

static void *contract_stress(void *argument)
{
    contract_worker_t *worker = argument;
    contract_t *contract = worker->contract;
    contract_rank_t *rank = &contract->ranks[worker->rank];
    uint64_t random = worker->rank + 1;
    size_t arrived[CONTRACT_RANKS_MAX] = {0};
    size_t seen = 0;
    pthread_barrier_wait(worker->barrier);
    for (uint64_t n = 0; n < CONTRACT_STRESS || !contract_stress_over(worker, arrived); n++) {
        for (uint32_t to = 0; to < contract->group.size && n < CONTRACT_STRESS; to++) {
            size_t limit = contract_random(&random) % 8 == 0 ? 300000 : 5000;
            size_t spans = 1 + contract_random(&random) % 4;
            if (to == worker->rank)
                continue;
            void *token = contract_send(rank, to, n, contract_random(&random) % limit, spans);
            if (token != NULL && contract_random(&random) % 4 == 0) {
                rank->transport->operations->forget(rank->transport, token);
                rank->sends_under_way--;
                contract_buffer_t *buffer = token;
                memset(buffer->bytes, 0x55, buffer->length);
            }
        }
        if (n >= CONTRACT_STRESS || n % 4 == 0)
            contract_progress(rank, n >= CONTRACT_STRESS);
        for (; seen < rank->count; seen++) {
            const contract_event_t *event = &rank->events[seen];
            ck_assert_int_ne(event->kind, TRANSPORT_LOST);
            arrived[event->peer] +=
                event->kind == TRANSPORT_MESSAGE || event->kind == TRANSPORT_RECEIVED;
        }
    }
    while (!rank->transport->operations->flushed(rank->transport))
        contract_progress(rank, true);
    pthread_barrier_wait(worker->barrier);
    return NULL;
}

START_TEST(ranks_send_and_receive_all_at_once)
{
    contract_t contract;
    contract_begin(&contract, 4);
    contract_run(&contract, contract_stress);
    for (uint32_t to = 0; to < 4; to++) {
        for (uint32_t from = 0; from < 4; from++) {
            if (to != from)
                contract_in_order(&contract.ranks[to], from, 0, CONTRACT_STRESS);
        }
    }
    contract_end(&contract);
}
END_TEST

static void *contract_first_word(void *argument)
{
    contract_worker_t *worker = argument;
    contract_rank_t *rank = &worker->contract->ranks[worker->rank];
    uint32_t peer = 1 - worker->rank;
    pthread_barrier_wait(worker->barrier);
    contract_send(rank, peer, 0, 10, 1);
    contract_send(rank, peer, 1, 100000, 1);
    contract_send(rank, peer, 2, 10, 1);
    while (contract_arrived(rank, peer) < 3 || rank->sends_under_way > 0)
        contract_progress(rank, true);
    pthread_barrier_wait(worker->barrier);
    return NULL;
}

START_TEST(first_words_at_once_from_two_threads)
{
    for (int round = 0; round < 200; round++) {
        contract_t contract;
        contract_begin(&contract, 2);
        contract_run(&contract, contract_first_word);
        contract_in_order(&contract.ranks[0], 1, 0, 3);
        contract_in_order(&contract.ranks[1], 0, 0, 3);
        contract_end(&contract);
    }
}
END_TEST

/* Rank 0 goes away whenever it likes; the others see it, whatever they are doing. */
static void *contract_leaver(void *argument)
{
    contract_worker_t *worker = argument;
    contract_t *contract = worker->contract;
    contract_rank_t *rank = &contract->ranks[worker->rank];
    pthread_barrier_wait(worker->barrier);
    if (worker->rank == 0) {
        for (uint64_t n = 0; n < 40; n++) {
            for (uint32_t to = 1; to < contract->group.size; to++)
                contract_send(rank, to, n, n * 1000, 1);
            contract_poll(rank);
        }
        contract_leave(contract, 0);
        return NULL;
    }
    /* One send after the other, until one fails, or LOST comes. */
    uint64_t sequence = 0;
    bool refused = false;
    while (contract_find(rank, TRANSPORT_LOST, 0) == NULL) {
        if (rank->sends_under_way == 0 && !refused)
            refused = contract_try_send(rank, 0, sequence++, 50000, 1) == MUSTER_PEER_LOST;
        if (contract_poll(rank) == NULL)
            rank->transport->operations->wait(rank->transport, 10 * CONTRACT_SECOND);
    }
    return NULL;
}

START_TEST(a_rank_leaves_while_the_others_send_to_it)
{
    for (int round = 0; round < 20; round++) {
        contract_t contract;
        contract_begin(&contract, 3);
        contract_run(&contract, contract_leaver);
        contract_end(&contract);
    }
}
END_TEST

void contract_add_threads(TCase *tcase)
{
    tcase_add_test(tcase, a_wake_ends_a_wait_whenever_it_comes);
    tcase_add_test(tcase, a_wait_ends_in_time_and_sleeps_until_then);
    tcase_add_test(tcase, a_message_ends_a_wait);
    tcase_add_test(tcase, ranks_send_and_receive_all_at_once);
    tcase_add_test(tcase, first_words_at_once_from_two_threads);
    tcase_add_test(tcase, a_rank_leaves_while_the_others_send_to_it);
}
