/*
 * The job that the environment describes: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and the
 * secret.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <sodium.h>

#include "boot/boot_network.h"

#define SECRET_DIGITS (2 * CONTROL_SECRET_SIZE)

/* ---- Variables ------------------------------------------------------------------------------- */

/* NULL where it is not set, or empty. */
static const char *variable(const char *name)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != 0 ? text : NULL;
}

static bool parse_number(const char *text, unsigned long most, unsigned long *number)
{
    char *end;
    errno = 0;
    *number = strtoul(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == 0 && errno == 0 && *number <= most;
}

static muster_status_t read_number(const char *name, unsigned long least, unsigned long most,
                                   unsigned long *number, muster_failure_t *failure)
{
    const char *text = variable(name);
    if (text == NULL) {
        return boot_fail(failure, MUSTER_INVALID_ARGUMENT, MUSTER_NO_RANK,
                         "%s is not set, though other variables describe a job", name);
    }
    if (!parse_number(text, most, number) || *number < least) {
        return boot_fail(failure, MUSTER_INVALID_ARGUMENT, MUSTER_NO_RANK,
                         "%s is \"%.40s\", which is no number from %lu to %lu", name, text, least,
                         most);
    }
    return MUSTER_OK;
}

static muster_status_t read_ranks(unsigned long *rank, unsigned long *size,
                                  muster_failure_t *failure)
{
    muster_status_t status = read_number("WORLD_SIZE", 1, INT32_MAX, size, failure);
    if (status == MUSTER_OK)
        status = read_number("RANK", 0, INT32_MAX, rank, failure);
    if (status != MUSTER_OK)
        return status;
    if (*rank >= *size) {
        return boot_fail(failure, MUSTER_INVALID_ARGUMENT, MUSTER_NO_RANK,
                         "RANK is %lu, which is not below WORLD_SIZE, %lu", *rank, *size);
    }
    return MUSTER_OK;
}

static bool is_loopback(const struct addrinfo *address)
{
    if (address->ai_family == AF_INET) {
        const struct sockaddr_in *four = (const void *)address->ai_addr;
        return (ntohl(four->sin_addr.s_addr) >> 24) == 127;
    }
    const struct sockaddr_in6 *six = (const void *)address->ai_addr;
    return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static bool all_loopback(const struct addrinfo *addresses)
{
    for (; addresses != NULL; addresses = addresses->ai_next) {
        if (!is_loopback(addresses))
            return false;
    }
    return true;
}

/* How many of the ranks are on this host; 0: not known. */
static unsigned long local_size(void)
{
    const char *text = variable("LOCAL_WORLD_SIZE");
    unsigned long local;
    return text != NULL && parse_number(text, INT32_MAX, &local) ? local : 0;
}

/* Whether it may mean something else on other hosts. */
static bool is_name_of_host(const char *address)
{
    static const char *const loopback[] = {"localhost", "ip6-localhost", "ip6-loopback"};
    struct addrinfo *found;
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
    if (getaddrinfo(address, NULL, &hints, &found) == 0) {
        freeaddrinfo(found);
        return false;
    }
    for (size_t i = 0; i < sizeof loopback / sizeof loopback[0]; i++)
        if (strncasecmp(address, loopback[i], strlen(loopback[i])) == 0)
            return false;
    return true;
}

/*
 * A host may know itself by a loopback address only, under a name that the others know better. With
 * a secret it is reached at all its addresses then.
 */
static muster_status_t look_beyond_loopback(unsigned long size, boot_place_t *place,
                                            muster_failure_t *failure)
{
    unsigned long local = local_size();
    if (!all_loopback(place->found) || local >= size)
        return MUSTER_OK;
    bool secret = variable("MUSTER_SECRET") != NULL || variable("MUSTER_SECRET_FILE") != NULL;
    bool name = is_name_of_host(place->address);
    place->everywhere = name && secret;
    if (place->everywhere || local == 0)
        return MUSTER_OK;
    return boot_fail(failure, MUSTER_INVALID_ARGUMENT, MUSTER_NO_RANK,
                     "MASTER_ADDR is \"%.100s\", which is a loopback address here: ranks on other "
                     "hosts (LOCAL_WORLD_SIZE is below WORLD_SIZE) cannot reach it%s",
                     place->address,
                     name ? ", unless MUSTER_SECRET or MUSTER_SECRET_FILE is set" : "");
}

static muster_status_t find_place(unsigned long size, boot_place_t *place,
                                  muster_failure_t *failure)
{
    unsigned long port;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    place->address = variable("MASTER_ADDR");
    if (place->address == NULL) {
        return boot_fail(failure, MUSTER_INVALID_ARGUMENT, MUSTER_NO_RANK,
                         "MASTER_ADDR is not set, though WORLD_SIZE is %lu", size);
    }
    /* A launcher such as torchrun may hold MASTER_PORT itself: then there is a port of Muster's. */
    const char *name = variable("MUSTER_PORT") != NULL ? "MUSTER_PORT" : "MASTER_PORT";
    muster_status_t status = read_number(name, 1, UINT16_MAX, &port, failure);
    if (status != MUSTER_OK)
        return status;
    place->port = variable(name);
    int error = getaddrinfo(place->address, place->port, &hints, &place->found);
    if (error != 0) {
        place->found = NULL;
        return boot_fail(
            failure, error == EAI_NONAME ? MUSTER_INVALID_ARGUMENT : MUSTER_UNREACHABLE,
            MUSTER_NO_RANK, "MASTER_ADDR is \"%.100s\", which means no address: %s", place->address,
            error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
    }
    return look_beyond_loopback(size, place, failure);
}

/* ---- The secret ------------------------------------------------------------------------------ */

static bool parse_secret(const char *text, uint8_t secret[CONTROL_SECRET_SIZE])
{
    size_t length = 0;
    const char *end;
    while (isspace((unsigned char)*text))
        text++;
    if (sodium_hex2bin(secret, CONTROL_SECRET_SIZE, text, strnlen(text, SECRET_DIGITS), NULL,
                       &length, &end) != 0 ||
        length != CONTROL_SECRET_SIZE) {
        return false;
    }
    while (isspace((unsigned char)*end))
        end++;
    return *end == 0;
}

static muster_status_t read_secret_file(const char *path, uint8_t *secret,
                                        muster_failure_t *failure)
{
    char text[256] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    int reason = errno;
    if (fd >= 0)
        close(fd);
    if (length < 0) {
        return boot_fail(failure, MUSTER_ENVIRONMENT, MUSTER_NO_RANK,
                         "cannot read MUSTER_SECRET_FILE, \"%.200s\": %s", path, strerror(reason));
    }
    bool good = parse_secret(text, secret);
    sodium_memzero(text, sizeof text);
    if (good)
        return MUSTER_OK;
    return boot_fail(failure, MUSTER_INVALID_ARGUMENT, MUSTER_NO_RANK,
                     "MUSTER_SECRET_FILE, \"%.200s\", does not hold %d hexadecimal digits", path,
                     SECRET_DIGITS);
}

static const char *run_name(void)
{
    const char *name = variable("MUSTER_JOB");
    if (name == NULL)
        name = variable("TORCHELASTIC_RUN_ID");
    return name != NULL ? name : "";
}

static muster_status_t find_secret(const boot_place_t *place, uint8_t *secret,
                                   muster_failure_t *failure)
{
    const char *given = variable("MUSTER_SECRET");
    const char *path = variable("MUSTER_SECRET_FILE");
    if (given != NULL) {
        if (parse_secret(given, secret))
            return MUSTER_OK;
        return boot_fail(failure, MUSTER_INVALID_ARGUMENT, MUSTER_NO_RANK,
                         "MUSTER_SECRET is not %d hexadecimal digits", SECRET_DIGITS);
    }
    if (path != NULL)
        return read_secret_file(path, secret, failure);
    if (!all_loopback(place->found)) {
        return boot_fail(
            failure, MUSTER_INVALID_ARGUMENT, MUSTER_NO_RANK,
            "MASTER_ADDR, \"%.100s\", can be reached from other hosts: set MUSTER_SECRET or "
            "MUSTER_SECRET_FILE to the job's secret",
            place->address);
    }
    /* No secret from anybody on this host: it only keeps jobs that run beside each other apart. */
    crypto_generichash_state state;
    static const char purpose[] = "muster loopback secret";
    crypto_generichash_init(&state, NULL, 0, CONTROL_SECRET_SIZE);
    crypto_generichash_update(&state, (const uint8_t *)purpose, sizeof purpose);
    crypto_generichash_update(&state, (const uint8_t *)place->port, strlen(place->port) + 1);
    crypto_generichash_update(&state, (const uint8_t *)run_name(), strlen(run_name()) + 1);
    crypto_generichash_final(&state, secret, CONTROL_SECRET_SIZE);
    return MUSTER_OK;
}

/* The hub's handshakes have a key of their own, and a name by which jobs with one secret differ. */
static void derive_hub(boot_t *boot, const boot_place_t *place)
{
    static const char purpose[] = "muster hub";
    crypto_generichash_state state;
    crypto_generichash(boot->hub_key, sizeof boot->hub_key, (const uint8_t *)purpose,
                       sizeof purpose, boot->secret, sizeof boot->secret);
    crypto_generichash_init(&state, NULL, 0, sizeof boot->hub_name);
    crypto_generichash_update(&state, (const uint8_t *)place->port, strlen(place->port) + 1);
    crypto_generichash_update(&state, (const uint8_t *)run_name(), strlen(run_name()) + 1);
    crypto_generichash_final(&state, boot->hub_name, sizeof boot->hub_name);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static muster_status_t open_place(boot_t *boot, boot_place_t *place, int64_t deadline_ns,
                                  muster_failure_t *failure)
{
    muster_status_t status = find_place(boot->size, place, failure);
    if (status == MUSTER_OK)
        status = find_secret(place, boot->secret, failure);
    if (status != MUSTER_OK)
        return status;
    derive_hub(boot, place);
    if (boot->rank != 0)
        return boot_connect(boot, place, deadline_ns, failure);
    status = boot_hub_open(boot, place, failure);
    if (status != MUSTER_ADDRESS_IN_USE)
        return status;
    /* Perhaps by a process that is rank 0 already: then it says so itself. */
    muster_failure_t answer = {.status = MUSTER_OK};
    int64_t patience = boot_now() + INT64_C(1000000000);
    boot_connect(boot, place, patience < deadline_ns ? patience : deadline_ns, &answer);
    if (answer.status != MUSTER_DUPLICATE_RANK)
        return status;
    if (failure != NULL)
        *failure = answer;
    return answer.status;
}

muster_status_t boot_open_environment(boot_t *boot, int64_t deadline_ns, muster_failure_t *failure)
{
    static const char *const names[] = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
    unsigned long rank = 0, size = 1;
    muster_status_t status = MUSTER_OK;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (variable(names[i]) == NULL)
            continue;
        status = read_ranks(&rank, &size, failure);
        break;
    }
    if (status != MUSTER_OK)
        return status;
    if (!boot_set_size(boot, (uint32_t)rank, (uint32_t)size)) {
        return boot_fail(failure, MUSTER_NO_MEMORY, MUSTER_NO_RANK, "out of memory");
    }
    if (size == 1)
        return MUSTER_OK;
    boot_place_t place = {0};
    status = open_place(boot, &place, deadline_ns, failure);
    if (place.found != NULL)
        freeaddrinfo(place.found);
    return status;
}
