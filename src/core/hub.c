#include "core/hub.h"

#include <string.h>

#include "core/assertion.h"
#include "core/text.h"

size_t hub_memory(uint32_t size)
{
    size_t one = sizeof(hub_member_t) + sizeof(uint32_t) + CONTROL_BLOB_MAX;
    if (size == 0 || size > (SIZE_MAX >> 1) / one)
        return 0;
    return size * one;
}

void hub_begin(hub_t *hub, uint32_t size, void *memory, hub_send_t send, void *owner)
{
    MUSTER_ASSERT(size >= 1);
    MUSTER_ASSERT(memory != NULL);
    memset(memory, 0, size * sizeof(hub_member_t));
    uint32_t *gone = (uint32_t *)((hub_member_t *)memory + size);
    *hub = (hub_t){
        .size = size,
        .send = send,
        .owner = owner,
        .members = memory,
        .gone = gone,
        .blobs = (uint8_t *)(gone + size),
    };
}

static void send_all(hub_t *hub, const control_message_t *message)
{
    for (uint32_t rank = 0; rank < hub->size; rank++) {
        if (hub->members[rank].state == HUB_JOINED)
            hub->send(hub->owner, rank, message);
    }
}

static control_message_t lost_message(const hub_t *hub, uint32_t rank)
{
    const hub_member_t *member = &hub->members[rank];
    control_message_t message = {.kind = CONTROL_LOST, .rank = rank, .pid = member->pid};
    memcpy(message.host, member->host, sizeof message.host);
    memcpy(message.text, member->how, sizeof member->how);
    return message;
}

uint32_t hub_missing(const hub_t *hub, muster_rank_range_t *ranges)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < hub->size; rank++) {
        if (hub->members[rank].addressed)
            continue;
        if (count > 0 && (ranges[count - 1].last + 1 == rank || count == CONTROL_RANGES_MAX)) {
            ranges[count - 1].last = rank;
        } else {
            ranges[count++] = (muster_rank_range_t){rank, rank};
        }
    }
    return count;
}

static control_message_t missing_message(const hub_t *hub)
{
    control_message_t message = {.kind = CONTROL_MISSING};
    message.count = hub_missing(hub, message.ranges);
    return message;
}

bool hub_join(hub_t *hub, uint32_t rank, uint32_t pid, const char *host)
{
    MUSTER_ASSERT(rank < hub->size);
    hub_member_t *member = &hub->members[rank];
    if (member->state != HUB_AWAITED)
        return false;
    member->state = HUB_JOINED;
    member->pid = pid;
    text_t text = text_over(member->host, sizeof member->host);
    text_string(&text, host);
    for (uint32_t i = 0; i <= hub->gone_count; i++) {
        if (hub->expired && i == hub->gone_before_expiry) {
            control_message_t missing = missing_message(hub);
            hub->send(hub->owner, rank, &missing);
        }
        if (i == hub->gone_count)
            break;
        uint32_t other = hub->gone[i];
        control_message_t message = {.kind = CONTROL_LEFT, .rank = other};
        if (hub->members[other].state == HUB_LOST)
            message = lost_message(hub, other);
        hub->send(hub->owner, rank, &message);
    }
    return true;
}

static void send_table(hub_t *hub)
{
    uint32_t room = control_table_room(hub->blob_length);
    for (uint32_t first = 0; first < hub->size;) {
        uint32_t left = hub->size - first;
        control_message_t message = {
            .kind = CONTROL_TABLE,
            .rank = first,
            .count = left < room ? left : room,
            .blob = hub->blobs + (size_t)first * hub->blob_length,
            .blob_length = hub->blob_length,
        };
        send_all(hub, &message);
        first += message.count;
    }
    for (uint32_t rank = 0; rank < hub->size; rank++)
        hub->members[rank].addressed = false;
    hub->exchanges++;
    hub->blob_length = 0;
}

bool hub_address(hub_t *hub, uint32_t rank, const uint8_t *blob, uint32_t length)
{
    MUSTER_ASSERT(rank < hub->size);
    MUSTER_ASSERT(length >= 1 && length <= CONTROL_BLOB_MAX);
    hub_member_t *member = &hub->members[rank];
    if (member->state != HUB_JOINED || member->addressed)
        return false;
    if (hub->blob_length != 0 && hub->blob_length != length)
        return false;
    hub->blob_length = length;
    memcpy(hub->blobs + (size_t)rank * length, blob, length);
    member->addressed = true;
    for (uint32_t other = 0; other < hub->size; other++) {
        if (!hub->members[other].addressed || hub->members[other].state != HUB_JOINED)
            return true;
    }
    if (!hub->expired)
        send_table(hub);
    return true;
}

void hub_expire(hub_t *hub, uint32_t rank)
{
    MUSTER_ASSERT(rank < hub->size);
    /* Where it is not addressed, its table is on the way. */
    if (hub->expired || !hub->members[rank].addressed)
        return;
    hub->expired = true;
    hub->gone_before_expiry = hub->gone_count;
    control_message_t message = missing_message(hub);
    send_all(hub, &message);
}

void hub_leave(hub_t *hub, uint32_t rank)
{
    MUSTER_ASSERT(rank < hub->size);
    if (hub->members[rank].state != HUB_JOINED)
        return;
    hub->members[rank].state = HUB_LEFT;
    hub->gone[hub->gone_count++] = rank;
    control_message_t message = {.kind = CONTROL_LEFT, .rank = rank};
    send_all(hub, &message);
}

static const char *step_of(const hub_t *hub, const hub_member_t *member)
{
    if (member->state == HUB_AWAITED)
        return " before it joined";
    if (hub->exchanges > 0)
        return "";
    return member->addressed ? " before all addresses were there" : " before it gave its address";
}

void hub_lose(hub_t *hub, uint32_t rank, uint32_t pid, const char *how)
{
    MUSTER_ASSERT(rank < hub->size);
    hub_member_t *member = &hub->members[rank];
    if (member->state == HUB_LEFT || member->state == HUB_LOST)
        return;
    text_t text = text_over(member->how, sizeof member->how);
    text_string(&text, how);
    text_string(&text, step_of(hub, member));
    if (member->pid == 0)
        member->pid = pid;
    member->state = HUB_LOST;
    hub->gone[hub->gone_count++] = rank;
    control_message_t message = lost_message(hub, rank);
    send_all(hub, &message);
}

bool hub_over(const hub_t *hub)
{
    for (uint32_t rank = 0; rank < hub->size; rank++) {
        hub_state_t state = hub->members[rank].state;
        if (state == HUB_AWAITED || state == HUB_JOINED)
            return false;
    }
    return true;
}

const char *hub_take(hub_t *hub, uint32_t rank, const control_message_t *message)
{
    switch (message->kind) {
    case CONTROL_ADDRESS:
        return hub_address(hub, rank, message->blob, message->blob_length)
                   ? NULL
                   : "gave an address out of turn or of another length than others";
    case CONTROL_EXPIRED:
        hub_expire(hub, rank);
        return NULL;
    case CONTROL_LEAVE:
        hub_leave(hub, rank);
        return NULL;
    default:
        return "sent a control message out of turn";
    }
}

static text_t refuse(control_message_t *refusal, muster_status_t status)
{
    refusal->kind = CONTROL_REFUSED;
    refusal->status = status;
    return text_over(refusal->text, sizeof refusal->text);
}

bool hub_refuses_version(const char *hub, uint32_t rank, uint32_t version,
                         control_message_t *refusal)
{
    if (version == CONTROL_VERSION)
        return false;
    text_t text = refuse(refusal, MUSTER_VERSION_MISMATCH);
    text_string(&text, hub);
    text_string(&text, " speaks version ");
    text_number(&text, CONTROL_VERSION);
    text_string(&text, " of the protocol, rank ");
    text_number(&text, rank);
    text_string(&text, " version ");
    text_number(&text, version);
    return true;
}

void hub_refuse_duplicate(uint32_t rank, uint32_t pid, const char *host, control_message_t *refusal)
{
    text_t text = refuse(refusal, MUSTER_DUPLICATE_RANK);
    text_t name = text_over(refusal->host, sizeof refusal->host);
    refusal->pid = pid;
    text_string(&name, host);
    text_string(&text, "rank ");
    text_number(&text, rank);
    text_string(&text, " is held by process ");
    text_number(&text, pid);
    text_string(&text, " on ");
    text_string(&text, host);
}
