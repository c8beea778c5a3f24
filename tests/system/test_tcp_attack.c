/*
 * The transport `tcp` on a host that is not friendly: garbage and silence at its listening socket,
 * wrong secrets, jobs and versions, addresses that are taken or not there, peers that are gone.
 */
#include <arpa/inet.h>
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/handshake.h"
#include "transport/tcp.h"
#include "transport/tcp_address.h"

#define SECOND INT64_C(1000000000)
#define RANKS 2

typedef struct pair {
    transport_t *transports[RANKS];
    uint8_t table[RANKS * TCP_ADDRESS_SIZE];
    size_t arrived[RANKS];
    muster_status_t lost[RANKS]; /* OK: not lost */
    size_t losses[RANKS];
} pair_t;

static int64_t clock_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * SECOND + time.tv_nsec;
}

static tcp_options_t options_of(uint32_t rank)
{
    tcp_options_t options = {.rank = rank, .size = RANKS, .bind_address = "127.0.0.1"};
    memset(options.job, 'j', sizeof options.job);
    memset(options.secret, 's', sizeof options.secret);
    return options;
}

static void pair_create(pair_t *pair, const tcp_options_t options[RANKS])
{
    memset(pair, 0, sizeof *pair);
    for (uint32_t i = 0; i < RANKS; i++) {
        muster_failure_t failure;
        ck_assert_msg(tcp_create(&options[i], &pair->transports[i], &failure) == MUSTER_OK, "%s",
                      failure.message);
        tcp_address(pair->transports[i], pair->table + i * TCP_ADDRESS_SIZE);
    }
    for (uint32_t i = 0; i < RANKS; i++)
        ck_assert_int_eq(tcp_connect_table(pair->transports[i], pair->table, NULL), MUSTER_OK);
}

static void pair_begin(pair_t *pair)
{
    tcp_options_t options[RANKS] = {options_of(0), options_of(1)};
    pair_create(pair, options);
}

static void pair_end(pair_t *pair)
{
    for (uint32_t i = 0; i < RANKS; i++) {
        if (pair->transports[i] != NULL)
            pair->transports[i]->operations->destroy(pair->transports[i]);
    }
}

static void pair_poll(pair_t *pair)
{
    for (uint32_t i = 0; i < RANKS; i++) {
        transport_t *transport = pair->transports[i];
        transport_event_t event;
        if (transport == NULL)
            continue;
        while (transport->operations->poll(transport, &event)) {
            ck_assert_uint_eq(event.peer, 1 - i);
            if (event.kind == TRANSPORT_MESSAGE) {
                pair->arrived[i]++;
            } else if (event.kind == TRANSPORT_LOST) {
                pair->lost[i] = event.status;
                pair->losses[i]++;
            }
        }
        transport->operations->wait(transport, 200000);
    }
}

#define POLL_UNTIL(pair, condition)                                                                \
    do {                                                                                           \
        for (int64_t begin_ = clock_now(); !(condition); pair_poll(pair))                          \
            ck_assert_msg(clock_now() - begin_ < 50 * SECOND, "does not come true: " #condition);  \
    } while (0)

/* Eight bytes to the other rank. */
static muster_status_t say(pair_t *pair, uint32_t from)
{
    uint8_t header[WIRE_HEADER_SIZE] = {WIRE_DATA}, bytes[8] = "message";
    transport_span_t span = {.bytes = bytes, .length = sizeof bytes};
    bool done = false;
    wire_put_u64(header + 8, sizeof bytes);
    transport_t *transport = pair->transports[from];
    return transport->operations->send(transport, 1 - from, header, &span, 1, bytes, &done);
}

static void pair_talks(pair_t *pair)
{
    size_t before[RANKS] = {pair->arrived[0], pair->arrived[1]};
    ck_assert_int_eq(say(pair, 0), MUSTER_OK);
    ck_assert_int_eq(say(pair, 1), MUSTER_OK);
    POLL_UNTIL(pair, pair->arrived[0] > before[0] && pair->arrived[1] > before[1]);
}

static const char *why(const pair_t *pair, uint32_t rank)
{
    transport_t *transport = pair->transports[rank];
    const char *text = transport->operations->peer(transport, 1 - rank)->why;
    ck_assert_ptr_nonnull(text);
    return text;
}

static tcp_location_t location_of(const pair_t *pair, uint32_t rank)
{
    tcp_location_t location;
    ck_assert(tcp_location_decode(pair->table + rank * TCP_ADDRESS_SIZE, &location));
    return location;
}

/* A plain connection to a rank, not by Muster. */
static int stranger(const pair_t *pair, uint32_t rank)
{
    tcp_location_t location = location_of(pair, rank);
    struct sockaddr_storage address;
    socklen_t length = tcp_endpoint_socket(&location.endpoints[0], &address);
    int descriptor = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(connect(descriptor, (struct sockaddr *)&address, length), 0);
    return descriptor;
}

/* Whether the other side has closed. */
static bool is_closed(int descriptor)
{
    uint8_t bytes[256];
    for (;;) {
        ssize_t length = recv(descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
        if (length == 0)
            return true;
        if (length < 0)
            return errno != EAGAIN;
    }
}

static size_t descriptors_open(void)
{
    size_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

/* ---- Strangers ------------------------------------------------------------------------------- */

START_TEST(garbage_costs_a_closed_connection) /* C922, case 39 */
{
    uint64_t seed = (uint64_t)clock_now();
    printf("seed %lu\n", (unsigned long)seed);
    pair_t pair;
    pair_begin(&pair);
    srandom((unsigned)seed);
    for (int i = 0; i < 100; i++) {
        int descriptor = stranger(&pair, 0);
        uint8_t bytes[1000];
        for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k] = (uint8_t)random();
        if (i % 3 == 0)
            memcpy(bytes, "MUSTERhi", 8); /* right so far */
        (void)send(descriptor, bytes, 1 + (size_t)random() % sizeof bytes, MSG_NOSIGNAL);
        if (i % 2 == 0)
            shutdown(descriptor, SHUT_WR);
        if (i % 3 != 0 || i % 2 == 0)
            POLL_UNTIL(&pair, is_closed(descriptor));
        close(descriptor);
        if (i % 25 == 0)
            pair_talks(&pair);
    }
    pair_talks(&pair);
    tcp_counters_t counters = tcp_counters(pair.transports[0]);
    ck_assert_uint_ge(counters.garbage, 60); /* C921: failures are counted */
    ck_assert_uint_eq(pair.losses[0] + pair.losses[1], 0);
    pair_end(&pair);
}
END_TEST

START_TEST(half_a_handshake_ends_by_itself) /* C922, case 39 */
{
    pair_t pair;
    pair_begin(&pair);
    int descriptor = stranger(&pair, 0);
    ck_assert_int_eq(send(descriptor, "MUSTERhi", 8, MSG_NOSIGNAL), 8);
    int64_t begin = clock_now();
    POLL_UNTIL(&pair, is_closed(descriptor));
    ck_assert(clock_now() - begin < 20 * SECOND);
    close(descriptor);
    ck_assert_uint_eq(tcp_counters(pair.transports[0]).silent, 1);
    pair_talks(&pair);
    pair_end(&pair);
}
END_TEST

START_TEST(a_thousand_silent_connections_keep_nobody_out) /* C921, C922, case 39 */
{
    enum { SILENT = 1000 };
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    setrlimit(RLIMIT_NOFILE, &limit);
    pair_t pair;
    pair_begin(&pair);
    size_t before = descriptors_open();
    static int descriptors[SILENT];
    for (int i = 0; i < SILENT; i++) {
        descriptors[i] = stranger(&pair, 1);
        if (i % 50 == 0)
            pair_poll(&pair);
        if (i == SILENT / 2)
            ck_assert_int_eq(say(&pair, 0), MUSTER_OK); /* amid the others */
    }
    POLL_UNTIL(&pair, pair.arrived[1] == 1);
    ck_assert_uint_eq(pair.losses[0] + pair.losses[1], 0);
    /* No more than the handshakes' places are held for them. */
    POLL_UNTIL(&pair, tcp_counters(pair.transports[1]).accepted > SILENT);
    ck_assert_uint_le(descriptors_open(), before + SILENT + 64 + 8);
    ck_assert_uint_ge(tcp_counters(pair.transports[1]).evicted, SILENT - 64 - 1);
    ck_assert_uint_ge(tcp_counters(pair.transports[1]).delays, 1); /* C921: rate-limited */
    for (int i = 0; i < SILENT; i++)
        close(descriptors[i]);
    pair_talks(&pair);
    pair_end(&pair);
}
END_TEST

START_TEST(a_wrong_secret_or_job_gets_nobody_in) /* C921 */
{
    tcp_options_t options[RANKS] = {options_of(0), options_of(1)};
    pair_t pair;
    if (_i == 0)
        options[0].secret[31] ^= 1;
    else
        options[0].job[0] ^= 1;
    pair_create(&pair, options);
    ck_assert_int_eq(say(&pair, 0), MUSTER_OK);
    int64_t begin = clock_now();
    POLL_UNTIL(&pair, pair.losses[0] == 1);
    ck_assert(clock_now() - begin < 10 * SECOND); /* at once, not by a deadline */
    ck_assert_int_eq(pair.lost[0], MUSTER_NOT_AUTHENTICATED);
    ck_assert_ptr_nonnull(strstr(why(&pair, 0), "127.0.0.1:"));
    /* The other one knows nothing about a rank from who has shown nothing. */
    ck_assert_uint_eq(pair.losses[1], 0);
    POLL_UNTIL(&pair,
               tcp_counters(pair.transports[1]).garbage + tcp_counters(pair.transports[1]).silent ==
                   1);
    ck_assert_uint_eq(tcp_counters(pair.transports[1]).proven, 0);
    pair_end(&pair);
}
END_TEST

START_TEST(two_versions_in_one_job) /* C921, case 40 */
{
    tcp_options_t options[RANKS] = {options_of(0), options_of(1)};
    options[1].version = 4711;
    pair_t pair;
    pair_create(&pair, options);
    ck_assert_int_eq(say(&pair, (uint32_t)_i), MUSTER_OK);
    int64_t begin = clock_now();
    POLL_UNTIL(&pair, pair.losses[0] == 1 && pair.losses[1] == 1);
    ck_assert(clock_now() - begin < 10 * SECOND);
    char own[32];
    snprintf(own, sizeof own, "version %d", WIRE_VERSION);
    for (uint32_t i = 0; i < RANKS; i++) {
        ck_assert_int_eq(pair.lost[i], MUSTER_VERSION_MISMATCH);
        ck_assert_ptr_nonnull(strstr(why(&pair, i), "version 4711"));
        ck_assert_ptr_nonnull(strstr(why(&pair, i), own));
        ck_assert_int_eq(say(&pair, i), MUSTER_PEER_LOST);
    }
    ck_assert_uint_eq(tcp_counters(pair.transports[1 - _i]).versions, 1);
    pair_end(&pair);
}
END_TEST

/* ---- Addresses ------------------------------------------------------------------------------- */

START_TEST(addresses_that_cannot_be_had_are_told_apart) /* C911, C913 */
{
    pair_t pair;
    pair_begin(&pair);
    tcp_location_t location = location_of(&pair, 0);
    ck_assert_uint_eq(location.count, 1);
    ck_assert_uint_ne(location.endpoints[0].port, 0);
    ck_assert_uint_eq(location.pid, (uint32_t)getpid());
    tcp_options_t options = options_of(0);
    transport_t *transport = NULL;
    muster_failure_t failure;
    char endpoint[32];
    /* The address in the blob is the one that is listened on, still. */
    options.bind_port = location.endpoints[0].port;
    snprintf(endpoint, sizeof endpoint, "127.0.0.1:%u", options.bind_port);
    ck_assert_int_eq(tcp_create(&options, &transport, &failure), MUSTER_ADDRESS_IN_USE);
    ck_assert_int_eq(failure.status, MUSTER_ADDRESS_IN_USE);
    ck_assert_ptr_nonnull(strstr(failure.message, endpoint));
    options.bind_port = 0;
    options.bind_address = "192.0.2.1"; /* for documents: nobody's */
    ck_assert_int_eq(tcp_create(&options, &transport, &failure), MUSTER_ADDRESS_NOT_AVAILABLE);
    ck_assert_ptr_nonnull(strstr(failure.message, "192.0.2.1:0"));
    options.bind_address = "nowhere";
    ck_assert_int_eq(tcp_create(&options, &transport, &failure), MUSTER_INVALID_ARGUMENT);
    ck_assert_ptr_null(transport);
    pair_end(&pair);
}
END_TEST

START_TEST(fifty_at_once_never_collide) /* C911, case 34 */
{
    enum { TRANSPORTS = 50 };
    transport_t *transports[TRANSPORTS];
    uint16_t ports[TRANSPORTS];
    for (int i = 0; i < TRANSPORTS; i++) {
        tcp_options_t options = options_of(0);
        uint8_t blob[TCP_ADDRESS_SIZE];
        tcp_location_t location;
        ck_assert_int_eq(tcp_create(&options, &transports[i], NULL), MUSTER_OK);
        tcp_address(transports[i], blob);
        ck_assert(tcp_location_decode(blob, &location));
        ports[i] = location.endpoints[0].port;
        for (int k = 0; k < i; k++)
            ck_assert_uint_ne(ports[i], ports[k]);
    }
    for (int i = 0; i < TRANSPORTS; i++)
        transports[i]->operations->destroy(transports[i]);
}
END_TEST

START_TEST(loopback_is_for_the_same_host_only) /* C914, case 31 */
{
    static const char *const addresses[] = {NULL, "127.0.0.1", "127.0.1.1", "::1"};
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        tcp_options_t options[RANKS] = {options_of(0), options_of(1)};
        options[0].bind_address = options[1].bind_address = addresses[i];
        pair_t pair;
        pair_create(&pair, options);
        ck_assert_uint_eq(pair.transports[0]->local_ranks, RANKS);
        tcp_location_t here = location_of(&pair, 0), elsewhere = here;
        elsewhere.host_id[0] ^= 1;
        tcp_endpoint_t chosen[TCP_ENDPOINTS_MAX];
        uint32_t count = tcp_location_choose(&here, &here, chosen);
        ck_assert_uint_ge(count, 1);
        ck_assert_int_eq(chosen[0].reach, TCP_REACH_HOST);
        count = tcp_location_choose(&elsewhere, &here, chosen);
        for (uint32_t k = 0; k < count; k++) {
            bool four = chosen[k].family == 4 && chosen[k].address[0] == 127;
            struct in6_addr six;
            memcpy(&six, chosen[k].address, sizeof six);
            ck_assert(!four && !(chosen[k].family == 6 && IN6_IS_ADDR_LOOPBACK(&six)));
        }
        if (addresses[i] != NULL)
            ck_assert_uint_eq(count, 0);
        pair_talks(&pair);
        pair_end(&pair);
    }
}
END_TEST

/* Rank 0's table, in which rank 1 is found at these endpoints. */
static void pair_misled(pair_t *pair, const tcp_endpoint_t *endpoints, uint32_t count,
                        bool elsewhere, int64_t timeout)
{
    memset(pair, 0, sizeof *pair);
    for (uint32_t i = 0; i < RANKS; i++) {
        tcp_options_t options = options_of(i);
        options.connect_timeout = timeout;
        ck_assert_int_eq(tcp_create(&options, &pair->transports[i], NULL), MUSTER_OK);
        tcp_address(pair->transports[i], pair->table + i * TCP_ADDRESS_SIZE);
    }
    ck_assert_int_eq(tcp_connect_table(pair->transports[1], pair->table, NULL), MUSTER_OK);
    tcp_location_t real = location_of(pair, 1), location = real;
    location.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        location.endpoints[location.count] = endpoints[i];
        if (endpoints[i].port == 0)
            location.endpoints[location.count].port = real.endpoints[0].port;
        location.count++;
    }
    if (elsewhere)
        location.host_id[0] ^= 1;
    tcp_location_encode(&location, pair->table + TCP_ADDRESS_SIZE);
    ck_assert_int_eq(tcp_connect_table(pair->transports[0], pair->table, NULL), MUSTER_OK);
}

/* A socket whose queue is full: who connects gets no answer. */
static int dead_end(tcp_endpoint_t *endpoint, int filling[4])
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    socklen_t length = sizeof address;
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(descriptor, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(listen(descriptor, 0), 0);
    ck_assert_int_eq(getsockname(descriptor, (struct sockaddr *)&address, &length), 0);
    for (int i = 0; i < 4; i++) {
        filling[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(filling[i], (struct sockaddr *)&address, length);
    }
    *endpoint = (tcp_endpoint_t){.reach = TCP_REACH_ALL,
                                 .family = 4,
                                 .port = ntohs(address.sin_port),
                                 .address = {127, 0, 0, 1}};
    return descriptor;
}

START_TEST(a_dead_end_blocks_nobody) /* C914, case 32 */
{
    int filling[4];
    tcp_endpoint_t endpoints[3];
    int decoy = dead_end(&endpoints[0], filling);
    endpoints[1] = endpoints[0];
    endpoints[2] = (tcp_endpoint_t){
        .reach = TCP_REACH_ALL, .family = 4, .address = {127, 0, 0, 1}}; /* the real one */
    pair_t pair;
    pair_misled(&pair, endpoints, 3, true, 20 * SECOND);
    int64_t begin = clock_now();
    ck_assert_int_eq(say(&pair, 0), MUSTER_OK);
    POLL_UNTIL(&pair, pair.arrived[1] == 1);
    ck_assert(clock_now() - begin < 5 * SECOND);
    pair_end(&pair);
    /* Nothing but dead ends: it says why, naming them, in time. */
    pair_misled(&pair, endpoints, 2, true, SECOND);
    begin = clock_now();
    ck_assert_int_eq(say(&pair, 0), MUSTER_OK);
    POLL_UNTIL(&pair, pair.losses[0] == 1);
    ck_assert(clock_now() - begin < 10 * SECOND);
    ck_assert_int_eq(pair.lost[0], MUSTER_UNREACHABLE);
    char name[32];
    snprintf(name, sizeof name, "127.0.0.1:%u", endpoints[0].port);
    ck_assert_ptr_nonnull(strstr(why(&pair, 0), name));
    /* None at all. */
    pair_end(&pair);
    pair_misled(&pair, endpoints, 0, true, 20 * SECOND);
    ck_assert_int_eq(say(&pair, 0), MUSTER_OK);
    POLL_UNTIL(&pair, pair.losses[0] == 1);
    ck_assert_int_eq(pair.lost[0], MUSTER_UNREACHABLE);
    pair_end(&pair);
    for (int i = 0; i < 4; i++)
        close(filling[i]);
    close(decoy);
}
END_TEST

START_TEST(one_way_is_enough) /* C914 */
{
    /* Rank 0 finds no way to rank 1, but is found by it. */
    int filling[4];
    tcp_endpoint_t endpoint;
    int decoy = dead_end(&endpoint, filling);
    pair_t pair;
    pair_misled(&pair, &endpoint, 1, true, 40 * SECOND);
    int64_t begin = clock_now();
    ck_assert_int_eq(say(&pair, 0), MUSTER_OK);
    for (int i = 0; i < 10; i++)
        pair_poll(&pair);
    ck_assert_int_eq(say(&pair, 1), MUSTER_OK);
    POLL_UNTIL(&pair, pair.arrived[0] == 1 && pair.arrived[1] == 1);
    ck_assert(clock_now() - begin < 10 * SECOND);
    ck_assert_uint_eq(pair.losses[0] + pair.losses[1], 0);
    pair_end(&pair);
    for (int i = 0; i < 4; i++)
        close(filling[i]);
    close(decoy);
}
END_TEST

START_TEST(a_wrong_table_is_refused) /* C922 */
{
    tcp_options_t options = options_of(0);
    transport_t *transport;
    uint8_t table[RANKS * TCP_ADDRESS_SIZE] = {0};
    muster_failure_t failure;
    ck_assert_int_eq(tcp_create(&options, &transport, NULL), MUSTER_OK);
    tcp_address(transport, table);
    ck_assert_int_eq(tcp_connect_table(transport, table, &failure), MUSTER_PROTOCOL);
    ck_assert_uint_eq(failure.rank, 1);
    transport->operations->destroy(transport);
}
END_TEST

/* ---- Ends ------------------------------------------------------------------------------------ */

START_TEST(an_orderly_close_is_a_loss) /* case 4 */
{
    pair_t pair;
    pair_begin(&pair);
    pair_talks(&pair);
    transport_event_t event;
    ck_assert(!pair.transports[0]->operations->poll(pair.transports[0], &event));
    pair.transports[1]->operations->destroy(pair.transports[1]);
    pair.transports[1] = NULL;
    errno = EAGAIN; /* from before */
    POLL_UNTIL(&pair, pair.losses[0] == 1);
    ck_assert_int_eq(pair.lost[0], MUSTER_PEER_LOST);
    ck_assert_int_eq(say(&pair, 0), MUSTER_PEER_LOST);
    pair_end(&pair);
}
END_TEST

START_TEST(a_peer_that_is_gone_is_found_out_at_once) /* case 2 */
{
    pair_t pair;
    pair_begin(&pair);
    pair.transports[1]->operations->destroy(pair.transports[1]);
    pair.transports[1] = NULL;
    int64_t begin = clock_now();
    ck_assert_int_eq(say(&pair, 0), MUSTER_OK);
    POLL_UNTIL(&pair, pair.losses[0] == 1);
    ck_assert(clock_now() - begin < 5 * SECOND);
    ck_assert_int_eq(pair.lost[0], MUSTER_PEER_LOST);
    pair_end(&pair);
}
END_TEST

START_TEST(want_of_descriptors_neither_burns_nor_loses) /* case 36 */
{
    pair_t pair;
    pair_begin(&pair);
    int descriptors[4];
    for (int i = 0; i < 4; i++)
        descriptors[i] = stranger(&pair, 0);
    struct rlimit limit, before;
    getrlimit(RLIMIT_NOFILE, &before);
    limit = before;
    limit.rlim_cur = 3; /* none can be opened from now on */
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    transport_t *transport = pair.transports[0];
    transport_event_t event;
    int64_t begin = clock_now();
    clock_t spent = clock();
    while (clock_now() - begin < SECOND / 2) {
        ck_assert(!transport->operations->poll(transport, &event));
        transport->operations->wait(transport, SECOND / 4);
    }
    ck_assert_int_lt(clock() - spent, CLOCKS_PER_SEC / 5);
    ck_assert_uint_ge(tcp_counters(transport).delays, 1);
    ck_assert_uint_le(tcp_counters(transport).delays, 20);
    ck_assert_int_eq(say(&pair, 0), MUSTER_OK);
    pair_poll(&pair);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    POLL_UNTIL(&pair, pair.arrived[1] == 1);
    ck_assert_uint_eq(pair.losses[0] + pair.losses[1], 0);
    for (int i = 0; i < 4; i++)
        close(descriptors[i]);
    pair_end(&pair);
}
END_TEST

START_TEST(every_descriptor_is_closed_at_exec_and_in_the_end) /* C933 */
{
    size_t before = descriptors_open();
    pair_t pair;
    pair_begin(&pair);
    pair_talks(&pair);
    int silent = stranger(&pair, 0);
    pair_poll(&pair);
    DIR *directory = opendir("/proc/self/fd");
    struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        char path[64], text[512] = "";
        snprintf(path, sizeof path, "/proc/self/fdinfo/%.20s", entry->d_name);
        int descriptor = atoi(entry->d_name);
        FILE *file = descriptor > 2 ? fopen(path, "re") : NULL;
        if (file == NULL)
            continue;
        size_t length = fread(text, 1, sizeof text - 1, file);
        fclose(file);
        text[length] = '\0';
        unsigned flags = 0;
        const char *line = strstr(text, "flags:");
        struct sockaddr_storage name;
        socklen_t name_length = sizeof name;
        if (line != NULL && sscanf(line, "flags: %o", &flags) == 1 &&
            getsockname(descriptor, (struct sockaddr *)&name, &name_length) == 0 &&
            (name.ss_family == AF_INET || name.ss_family == AF_INET6))
            ck_assert_msg(flags & 02000000, "descriptor %d outlives exec", descriptor);
    }
    closedir(directory);
    close(silent);
    pair_end(&pair);
    ck_assert_uint_eq(descriptors_open(), before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tcp_attack");
    TCase *tcase = tcase_create("tcp_attack");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, garbage_costs_a_closed_connection);
    tcase_add_test(tcase, half_a_handshake_ends_by_itself);
    tcase_add_test(tcase, a_thousand_silent_connections_keep_nobody_out);
    tcase_add_loop_test(tcase, a_wrong_secret_or_job_gets_nobody_in, 0, 2);
    tcase_add_loop_test(tcase, two_versions_in_one_job, 0, 2);
    tcase_add_test(tcase, addresses_that_cannot_be_had_are_told_apart);
    tcase_add_test(tcase, fifty_at_once_never_collide);
    tcase_add_test(tcase, loopback_is_for_the_same_host_only);
    tcase_add_test(tcase, a_dead_end_blocks_nobody);
    tcase_add_test(tcase, one_way_is_enough);
    tcase_add_test(tcase, a_wrong_table_is_refused);
    tcase_add_test(tcase, an_orderly_close_is_a_loss);
    tcase_add_test(tcase, a_peer_that_is_gone_is_found_out_at_once);
    tcase_add_test(tcase, want_of_descriptors_neither_burns_nor_loses);
    tcase_add_test(tcase, every_descriptor_is_closed_at_exec_and_in_the_end);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
