/*
 * Rank 0 of the environment is the hub of its job: it listens, takes in who shows the secret, and
 * tells everybody what core/hub.h says. Until a connection has shown the secret it is a guest: one
 * of a fixed number of places, which the oldest leaves when there are too many.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sodium.h>

#include "boot/boot_fork.h"
#include "boot/boot_network.h"
#include "core/assertion.h"
#include "core/hub.h"

#define MILLISECOND INT64_C(1000000)
#define GUESTS_MAX 64
#define GUEST_TIME (5000 * MILLISECOND)
#define ACCEPTS_MAX 64
#define EVENTS_MAX 64
/* How long nobody is taken in when the descriptors are used up. */
#define MUTE_TIME (100 * MILLISECOND)

/* What an epoll event is about. */
#define ABOUT_LISTENER UINT64_C(0)
#define ABOUT_GUEST UINT64_C(1)
#define ABOUT_MEMBER (ABOUT_GUEST + GUESTS_MAX)

typedef enum guest_state {
    GUEST_NONE = 0,
    GUEST_SHAKES, /* the handshake is under way */
    GUEST_JOINS,  /* it has shown the secret, its JOIN is awaited */
    GUEST_GOES    /* it is refused, once that is sent it is closed */
} guest_state_t;

typedef struct guest {
    guest_state_t state;
    int64_t until;
    uint32_t rank; /* JOINS */
    int fd;        /* SHAKES */
    bool writing;  /* SHAKES: waits for room */
    handshake_t handshake;
    boot_link_t link; /* JOINS, GOES */
} guest_t;

struct boot_hub {
    hub_t hub;
    void *memory;
    boot_listeners_t listeners;
    int64_t muted_until; /* 0: not muted */
    boot_link_t *links;  /* by rank */
    guest_t guests[GUESTS_MAX];
    char host[MUSTER_HOST_MAX];
};

/* ---- Members --------------------------------------------------------------------------------- */

static void hub_sends(void *owner, uint32_t rank, const control_message_t *message)
{
    boot_t *boot = owner;
    if (rank == boot->rank)
        boot_receive(boot, message);
    else
        boot_link_send(&boot->hub->links[rank], message);
}

static void lose_member(boot_t *boot, uint32_t rank, const char *how)
{
    boot_link_close(&boot->hub->links[rank], true);
    hub_lose(&boot->hub->hub, rank, 0, how);
}

static void serve_member(boot_t *boot, uint32_t rank)
{
    boot_link_t *link = &boot->hub->links[rank];
    control_message_t message;
    boot_link_flush(link);
    boot_link_read(link);
    for (;;) {
        switch (boot_link_next(link, &message)) {
        case BOOT_LINK_NOTHING:
            return;
        case BOOT_LINK_BROKEN:
            lose_member(boot, rank, "closed its control connection without leaving");
            return;
        case BOOT_LINK_MESSAGE:
            break;
        }
        const char *fault = hub_take(&boot->hub->hub, rank, &message);
        if (fault != NULL) {
            lose_member(boot, rank, fault);
            return;
        }
    }
}

/* ---- Guests ---------------------------------------------------------------------------------- */

static void dismiss(guest_t *guest)
{
    if (guest->state == GUEST_SHAKES)
        boot_fork_close(guest->fd);
    else if (guest->state != GUEST_NONE)
        boot_link_close(&guest->link, true);
    guest->state = GUEST_NONE;
}

static void refuse(guest_t *guest, control_message_t *refusal)
{
    refusal->kind = CONTROL_REFUSED;
    boot_link_send(&guest->link, refusal);
    guest->state = GUEST_GOES;
    if (guest->link.out_length == 0)
        dismiss(guest);
}

static void refuse_duplicate(boot_t *boot, guest_t *guest)
{
    const hub_member_t *member = &boot->hub->hub.members[guest->rank];
    control_message_t refusal = {.kind = CONTROL_REFUSED};
    hub_refuse_duplicate(guest->rank, member->pid, member->host, &refusal);
    refuse(guest, &refusal);
}

static void take_in(boot_t *boot, guest_t *guest, const control_message_t *join)
{
    boot_hub_t *hub = boot->hub;
    boot_link_t *link = &hub->links[guest->rank];
    control_message_t welcome = {.kind = CONTROL_WELCOME,
                                 .version = CONTROL_VERSION,
                                 .rank = guest->rank,
                                 .size = boot->size};
    memcpy(welcome.job, boot->job, sizeof welcome.job);
    epoll_ctl(boot->epoll, EPOLL_CTL_DEL, guest->link.fd, NULL);
    *link = guest->link;
    guest->link = (boot_link_t){.fd = -1, .epoll = -1};
    guest->state = GUEST_NONE;
    link->epoll = -1;
    if (!boot_link_watch(link, boot->epoll, ABOUT_MEMBER + guest->rank)) {
        boot_link_close(link, true);
        return;
    }
    boot_link_send(link, &welcome);
    bool joined = hub_join(&hub->hub, guest->rank, join->pid, join->host);
    MUSTER_ASSERT(joined);
}

static void answer_join(boot_t *boot, guest_t *guest, const control_message_t *join)
{
    control_message_t refusal = {.status = MUSTER_REFUSED, .pid = (uint32_t)boot->pid};
    memcpy(refusal.host, boot->hub->host, sizeof refusal.host);
    if (hub_refuses_version("rank 0", guest->rank, join->version, &refusal)) {
        refuse(guest, &refusal);
        return;
    }
    if (join->size != boot->size) {
        refusal.status = MUSTER_MISMATCH;
        snprintf(refusal.text, sizeof refusal.text,
                 "WORLD_SIZE is %" PRIu32 " for rank %" PRIu32 " and %" PRIu32 " for rank 0",
                 join->size, guest->rank, boot->size);
        refuse(guest, &refusal);
        return;
    }
    switch (boot->hub->hub.members[guest->rank].state) {
    case HUB_AWAITED:
        take_in(boot, guest, join);
        break;
    case HUB_JOINED:
        refuse_duplicate(boot, guest);
        break;
    case HUB_LEFT:
        dismiss(guest);
        break; /* it comes again, when the next job listens here */
    case HUB_LOST:
        snprintf(refusal.text, sizeof refusal.text, "rank %" PRIu32 " counts as lost: %s",
                 guest->rank, boot->hub->hub.members[guest->rank].how);
        refuse(guest, &refusal);
        break;
    }
}

static void hear_guest(boot_t *boot, guest_t *guest)
{
    control_message_t message;
    boot_link_read(&guest->link);
    boot_link_result_t result = boot_link_next(&guest->link, &message);
    if (result == BOOT_LINK_NOTHING)
        return;
    if (result == BOOT_LINK_BROKEN || message.kind != CONTROL_JOIN)
        dismiss(guest);
    else
        answer_join(boot, guest, &message);
}

/* It has shown the secret: only now something is allocated for it. */
static void admit(boot_t *boot, guest_t *guest)
{
    uint64_t about = ABOUT_GUEST + (uint64_t)(guest - boot->hub->guests);
    guest->rank = guest->handshake.from;
    epoll_ctl(boot->epoll, EPOLL_CTL_DEL, guest->fd, NULL);
    if (!boot_link_open(&guest->link, guest->fd, BOOT_RANK_FRAME_MAX)) {
        guest->state = GUEST_NONE;
        return;
    }
    guest->state = GUEST_JOINS;
    if (!boot_link_watch(&guest->link, boot->epoll, about))
        dismiss(guest);
    else
        hear_guest(boot, guest);
}

static void shake_hands(boot_t *boot, guest_t *guest)
{
    const uint8_t *unsent;
    boot_move_t move = boot_move_handshake(guest->fd, &guest->handshake);
    if (move == BOOT_MOVE_MADE && guest->handshake.state == HANDSHAKE_ASKS) {
        handshake_answer(&guest->handshake, HANDSHAKE_ACCEPT);
        move = boot_move_handshake(guest->fd, &guest->handshake);
    }
    if (move == BOOT_MOVE_MADE && guest->handshake.state == HANDSHAKE_DONE) {
        admit(boot, guest);
        return;
    }
    if (move != BOOT_MOVE_WAITS) {
        dismiss(guest);
        return;
    }
    bool writing = handshake_output(&guest->handshake, &unsent) > 0;
    if (writing == guest->writing)
        return;
    struct epoll_event event = {.events = EPOLLIN | (writing ? EPOLLOUT : 0),
                                .data.u64 = ABOUT_GUEST + (uint64_t)(guest - boot->hub->guests)};
    epoll_ctl(boot->epoll, EPOLL_CTL_MOD, guest->fd, &event);
    guest->writing = writing;
}

static void serve_guest(boot_t *boot, guest_t *guest)
{
    switch (guest->state) {
    case GUEST_NONE:
        break;
    case GUEST_SHAKES:
        shake_hands(boot, guest);
        break;
    case GUEST_JOINS:
        hear_guest(boot, guest);
        break;
    case GUEST_GOES:
        boot_link_flush(&guest->link);
        boot_link_read(&guest->link);
        if (guest->link.out_length == 0 || guest->link.broken)
            dismiss(guest);
        break;
    }
}

/* A free place, or the one of who has been there for longest. */
static guest_t *find_place(boot_hub_t *hub)
{
    guest_t *place = &hub->guests[0];
    for (guest_t *guest = hub->guests; guest < hub->guests + GUESTS_MAX; guest++) {
        if (guest->state == GUEST_NONE)
            return guest;
        if (guest->until < place->until)
            place = guest;
    }
    dismiss(place);
    return place;
}

static void begin_guest(boot_t *boot, int fd)
{
    boot_hub_t *hub = boot->hub;
    uint8_t nonce[HANDSHAKE_NONCE_SIZE];
    handshake_identity_t identity;
    guest_t *guest = find_place(hub);
    struct epoll_event event = {.events = EPOLLIN,
                                .data.u64 = ABOUT_GUEST + (uint64_t)(guest - hub->guests)};
    if (epoll_ctl(boot->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        boot_fork_close(fd);
        return;
    }
    randombytes_buf(nonce, sizeof nonce);
    boot_identify(boot, BOOT_HUB_NUMBER, &identity);
    *guest = (guest_t){.state = GUEST_SHAKES, .fd = fd, .until = boot_now() + GUEST_TIME};
    handshake_accept(&guest->handshake, &identity, nonce);
    shake_hands(boot, guest);
}

static void watch_listeners(boot_t *boot, bool wanted)
{
    const boot_listeners_t *listeners = &boot->hub->listeners;
    struct epoll_event event = {.events = wanted ? EPOLLIN : 0, .data.u64 = ABOUT_LISTENER};
    for (unsigned i = 0; i < listeners->count; i++)
        epoll_ctl(boot->epoll, EPOLL_CTL_MOD, listeners->fds[i], &event);
    boot->hub->muted_until = wanted ? 0 : boot_now() + MUTE_TIME;
}

static void accept_guests_at(boot_t *boot, int listener)
{
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        int fd = boot_fork_accept(listener);
        if (fd >= 0) {
            boot_prepare_socket(fd);
            begin_guest(boot, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            watch_listeners(boot, false);
            return;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

static void accept_guests(boot_t *boot)
{
    const boot_listeners_t *listeners = &boot->hub->listeners;
    for (unsigned i = 0; i < listeners->count; i++)
        accept_guests_at(boot, listeners->fds[i]);
}

/* ---- All together ---------------------------------------------------------------------------- */

/* Milliseconds until the hub has something to do by itself, at most limit. */
static int do_what_is_due(boot_t *boot, int limit)
{
    boot_hub_t *hub = boot->hub;
    int64_t now = boot_now(), next = INT64_MAX;
    if (hub->muted_until != 0 && hub->muted_until <= now)
        watch_listeners(boot, true);
    if (hub->muted_until != 0)
        next = hub->muted_until;
    for (guest_t *guest = hub->guests; guest < hub->guests + GUESTS_MAX; guest++) {
        if (guest->state == GUEST_NONE)
            continue;
        if (guest->until <= now)
            dismiss(guest);
        else if (guest->until < next)
            next = guest->until;
    }
    if (next == INT64_MAX)
        return limit;
    int wait = boot_milliseconds_until(next);
    return wait < limit ? wait : limit;
}

void boot_hub_pump(boot_t *boot, int timeout_ms)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(boot->epoll, events, EVENTS_MAX, do_what_is_due(boot, timeout_ms));
    for (int i = 0; i < count; i++) {
        uint64_t about = events[i].data.u64;
        if (about == ABOUT_LISTENER)
            accept_guests(boot);
        else if (about < ABOUT_MEMBER)
            serve_guest(boot, &boot->hub->guests[about - ABOUT_GUEST]);
        else
            serve_member(boot, (uint32_t)(about - ABOUT_MEMBER));
    }
}

void boot_hub_address(boot_t *boot, const uint8_t *blob, uint32_t length)
{
    hub_t *hub = &boot->hub->hub;
    if (hub_address(hub, boot->rank, blob, length))
        return;
    /* Its length is what counts; who gave another one does not belong here. */
    for (uint32_t rank = 0; rank < boot->size; rank++) {
        if (rank != boot->rank && hub->members[rank].addressed) {
            lose_member(boot, rank, "gave an address of another length than rank 0");
        }
    }
}

void boot_hub_expire(boot_t *boot)
{
    hub_expire(&boot->hub->hub, boot->rank);
}

void boot_hub_leave(boot_t *boot)
{
    hub_leave(&boot->hub->hub, boot->rank);
}

void boot_hub_tell_all(boot_t *boot, int64_t deadline_ns)
{
    const hub_t *hub = &boot->hub->hub;
    for (uint32_t rank = 0; rank < boot->size;) {
        if (hub->members[rank].state != HUB_AWAITED)
            rank++;
        else if (boot_now() >= deadline_ns)
            return;
        else
            boot_hub_pump(boot, boot_milliseconds_until(deadline_ns));
    }
}

static bool unsent(const boot_t *boot)
{
    for (uint32_t rank = 0; rank < boot->size; rank++) {
        const boot_link_t *link = &boot->hub->links[rank];
        if (link->fd >= 0 && !link->broken && link->out_length > 0)
            return true;
    }
    return false;
}

void boot_hub_forget_descriptors(boot_t *boot)
{
    boot_hub_t *hub = boot->hub;
    for (guest_t *guest = hub->guests; guest < hub->guests + GUESTS_MAX; guest++) {
        if (guest->state == GUEST_SHAKES)
            guest->state = GUEST_NONE;
        else if (guest->state != GUEST_NONE)
            guest->link.fd = -1;
    }
    for (uint32_t rank = 0; rank < boot->size; rank++)
        hub->links[rank].fd = -1;
    hub->listeners.count = 0;
}

void boot_hub_close(boot_t *boot, bool flush, int64_t until)
{
    boot_hub_t *hub = boot->hub;
    while (flush && unsent(boot) && boot_now() < until) {
        boot_hub_pump(boot, boot_milliseconds_until(until));
    }
    for (int i = 0; i < GUESTS_MAX; i++) {
        if (flush)
            dismiss(&hub->guests[i]);
        else if (hub->guests[i].state == GUEST_SHAKES)
            boot_fork_close(hub->guests[i].fd);
        else if (hub->guests[i].state != GUEST_NONE)
            boot_link_close(&hub->guests[i].link, false);
    }
    for (uint32_t rank = 0; rank < boot->size; rank++)
        boot_link_close(&hub->links[rank], flush);
    boot_stop_listening(&hub->listeners);
    free(hub->links);
    free(hub->memory);
    free(hub);
    boot->hub = NULL;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static boot_hub_t *new_hub(boot_t *boot)
{
    boot_hub_t *hub = calloc(1, sizeof *hub);
    size_t size = hub_memory(boot->size);
    if (hub == NULL)
        return NULL;
    hub->memory = size > 0 ? malloc(size) : NULL;
    hub->links = calloc(boot->size, sizeof *hub->links);
    if (hub->memory == NULL || hub->links == NULL) {
        free(hub->memory);
        free(hub->links);
        free(hub);
        return NULL;
    }
    for (uint32_t rank = 0; rank < boot->size; rank++)
        hub->links[rank].fd = hub->links[rank].epoll = -1;
    gethostname(hub->host, sizeof hub->host - 1);
    hub_begin(&hub->hub, boot->size, hub->memory, hub_sends, boot);
    hub_join(&hub->hub, boot->rank, (uint32_t)boot->pid, hub->host);
    return hub;
}

static bool add_listeners(boot_t *boot)
{
    const boot_listeners_t *listeners = &boot->hub->listeners;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = ABOUT_LISTENER};
    for (unsigned i = 0; i < listeners->count; i++)
        if (epoll_ctl(boot->epoll, EPOLL_CTL_ADD, listeners->fds[i], &event) != 0)
            return false;
    return true;
}

muster_status_t boot_hub_open(boot_t *boot, const boot_place_t *place, muster_failure_t *failure)
{
    boot_hub_t *hub = new_hub(boot);
    if (hub == NULL)
        return boot_fail(failure, MUSTER_NO_MEMORY, 0, "out of memory");
    muster_status_t status = boot_listen(place, &hub->listeners, failure);
    boot->hub = hub;
    if (status == MUSTER_OK && (!boot_watch(boot) || !add_listeners(boot))) {
        status = boot_fail(failure, MUSTER_ENVIRONMENT, 0, "cannot watch the listening socket: %s",
                           strerror(errno));
    }
    if (status != MUSTER_OK) {
        boot_hub_close(boot, false, 0);
        return status;
    }
    randombytes_buf(boot->job, sizeof boot->job);
    boot->welcomed = true;
    return MUSTER_OK;
}
