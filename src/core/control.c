#include "core/control.h"

#include <string.h>

#include "core/assertion.h"
#include "core/wire.h"

#define JOIN_SIZE (12 + MUSTER_HOST_MAX)
#define WELCOME_SIZE (12 + CONTROL_JOB_SIZE + CONTROL_SECRET_SIZE)
#define REFUSED_SIZE (8 + MUSTER_HOST_MAX + CONTROL_TEXT_MAX)
#define LOST_SIZE (8 + MUSTER_HOST_MAX + CONTROL_HOW_MAX)
#define TABLE_HEAD 12

static void put_text(uint8_t *bytes, const char *text, size_t size)
{
    size_t length = 0;
    while (length + 1 < size && text[length] != 0)
        length++;
    memset(bytes, 0, size);
    memcpy(bytes, text, length);
}

/* One line of printable characters, closed and padded by zeros: it will be shown to people. */
static bool get_text(const uint8_t *bytes, char *text, size_t size)
{
    size_t length = 0;
    while (length < size && bytes[length] != 0) {
        if (bytes[length] < 0x20 || bytes[length] == 0x7f)
            return false;
        length++;
    }
    if (length == size)
        return false;
    for (size_t i = length; i < size; i++) {
        if (bytes[i] != 0)
            return false;
    }
    memcpy(text, bytes, size);
    return true;
}

uint32_t control_table_room(uint32_t blob_length)
{
    MUSTER_ASSERT(blob_length >= 1 && blob_length <= CONTROL_BLOB_MAX);
    return (CONTROL_PAYLOAD_MAX - TABLE_HEAD) / blob_length;
}

static size_t payload_size(const control_message_t *message)
{
    switch (message->kind) {
    case CONTROL_JOIN:
        return JOIN_SIZE;
    case CONTROL_ADDRESS:
        return message->blob_length;
    case CONTROL_WELCOME:
        return WELCOME_SIZE;
    case CONTROL_REFUSED:
        return REFUSED_SIZE;
    case CONTROL_TABLE:
        return TABLE_HEAD + (size_t)message->count * message->blob_length;
    case CONTROL_MISSING:
        return 4 + (size_t)message->count * 8;
    case CONTROL_LOST:
        return LOST_SIZE;
    case CONTROL_LEFT:
        return 4;
    case CONTROL_NONE:
    case CONTROL_EXPIRED:
    case CONTROL_LEAVE:
    case CONTROL_KIND_COUNT:
        break;
    }
    return 0;
}

size_t control_size(const control_message_t *message)
{
    MUSTER_ASSERT(message->kind > CONTROL_NONE && message->kind < CONTROL_KIND_COUNT);
    return CONTROL_HEADER_SIZE + payload_size(message);
}

static void encode_payload(const control_message_t *message, uint8_t *bytes)
{
    switch (message->kind) {
    case CONTROL_JOIN:
        wire_put_u32(bytes, message->version);
        wire_put_u32(bytes + 4, message->pid);
        wire_put_u32(bytes + 8, message->size);
        put_text(bytes + 12, message->host, MUSTER_HOST_MAX);
        break;
    case CONTROL_ADDRESS:
        memcpy(bytes, message->blob, message->blob_length);
        break;
    case CONTROL_WELCOME:
        wire_put_u32(bytes, message->version);
        wire_put_u32(bytes + 4, message->rank);
        wire_put_u32(bytes + 8, message->size);
        memcpy(bytes + 12, message->job, CONTROL_JOB_SIZE);
        memcpy(bytes + 12 + CONTROL_JOB_SIZE, message->secret, CONTROL_SECRET_SIZE);
        break;
    case CONTROL_REFUSED:
        wire_put_u32(bytes, (uint32_t)message->status);
        wire_put_u32(bytes + 4, message->pid);
        put_text(bytes + 8, message->host, MUSTER_HOST_MAX);
        put_text(bytes + 8 + MUSTER_HOST_MAX, message->text, CONTROL_TEXT_MAX);
        break;
    case CONTROL_TABLE:
        wire_put_u32(bytes, message->rank);
        wire_put_u32(bytes + 4, message->count);
        wire_put_u32(bytes + 8, message->blob_length);
        memcpy(bytes + TABLE_HEAD, message->blob, (size_t)message->count * message->blob_length);
        break;
    case CONTROL_MISSING:
        wire_put_u32(bytes, message->count);
        for (uint32_t i = 0; i < message->count; i++) {
            wire_put_u32(bytes + 4 + 8 * (size_t)i, message->ranges[i].first);
            wire_put_u32(bytes + 8 + 8 * (size_t)i, message->ranges[i].last);
        }
        break;
    case CONTROL_LOST:
        wire_put_u32(bytes, message->rank);
        wire_put_u32(bytes + 4, message->pid);
        put_text(bytes + 8, message->host, MUSTER_HOST_MAX);
        put_text(bytes + 8 + MUSTER_HOST_MAX, message->text, CONTROL_HOW_MAX);
        break;
    case CONTROL_LEFT:
        wire_put_u32(bytes, message->rank);
        break;
    case CONTROL_NONE:
    case CONTROL_EXPIRED:
    case CONTROL_LEAVE:
    case CONTROL_KIND_COUNT:
        break;
    }
}

void control_encode(const control_message_t *message, uint8_t *bytes)
{
    size_t size = payload_size(message);
    MUSTER_ASSERT(message->kind > CONTROL_NONE && message->kind < CONTROL_KIND_COUNT);
    MUSTER_ASSERT(size <= CONTROL_PAYLOAD_MAX);
    MUSTER_ASSERT(message->kind != CONTROL_MISSING || message->count <= CONTROL_RANGES_MAX);
    memset(bytes, 0, CONTROL_HEADER_SIZE);
    bytes[0] = (uint8_t)message->kind;
    wire_put_u32(bytes + 4, (uint32_t)size);
    encode_payload(message, bytes + CONTROL_HEADER_SIZE);
}

static bool decode_welcome(const uint8_t *bytes, control_message_t *message)
{
    message->version = wire_get_u32(bytes);
    message->rank = wire_get_u32(bytes + 4);
    message->size = wire_get_u32(bytes + 8);
    memcpy(message->job, bytes + 12, CONTROL_JOB_SIZE);
    memcpy(message->secret, bytes + 12 + CONTROL_JOB_SIZE, CONTROL_SECRET_SIZE);
    return message->rank < message->size;
}

static bool decode_refused(const uint8_t *bytes, control_message_t *message)
{
    uint32_t status = wire_get_u32(bytes);
    message->pid = wire_get_u32(bytes + 4);
    if (status == MUSTER_OK || status >= MUSTER_STATUS_COUNT)
        return false;
    message->status = (muster_status_t)status;
    return get_text(bytes + 8, message->host, MUSTER_HOST_MAX) &&
           get_text(bytes + 8 + MUSTER_HOST_MAX, message->text, CONTROL_TEXT_MAX);
}

static bool decode_table(const uint8_t *bytes, size_t length, control_message_t *message)
{
    if (length < TABLE_HEAD)
        return false;
    message->rank = wire_get_u32(bytes);
    message->count = wire_get_u32(bytes + 4);
    message->blob_length = wire_get_u32(bytes + 8);
    message->blob = bytes + TABLE_HEAD;
    if (message->blob_length < 1 || message->blob_length > CONTROL_BLOB_MAX)
        return false;
    if (message->count < 1 || message->count > control_table_room(message->blob_length))
        return false;
    if (message->rank > UINT32_MAX - message->count)
        return false;
    return length - TABLE_HEAD == (size_t)message->count * message->blob_length;
}

static bool decode_missing(const uint8_t *bytes, size_t length, control_message_t *message)
{
    if (length < 4)
        return false;
    message->count = wire_get_u32(bytes);
    if (message->count > CONTROL_RANGES_MAX || length != 4 + (size_t)message->count * 8)
        return false;
    for (uint32_t i = 0; i < message->count; i++) {
        muster_rank_range_t range = {wire_get_u32(bytes + 4 + 8 * (size_t)i),
                                     wire_get_u32(bytes + 8 + 8 * (size_t)i)};
        if (range.first > range.last)
            return false;
        if (i > 0 && range.first <= message->ranges[i - 1].last)
            return false;
        message->ranges[i] = range;
    }
    return true;
}

static bool decode_lost(const uint8_t *bytes, control_message_t *message)
{
    message->rank = wire_get_u32(bytes);
    message->pid = wire_get_u32(bytes + 4);
    return get_text(bytes + 8, message->host, MUSTER_HOST_MAX) &&
           get_text(bytes + 8 + MUSTER_HOST_MAX, message->text, CONTROL_HOW_MAX);
}

static bool decode_payload(const uint8_t *bytes, size_t length, control_message_t *message)
{
    switch (message->kind) {
    case CONTROL_JOIN:
        if (length != JOIN_SIZE)
            return false;
        message->version = wire_get_u32(bytes);
        message->pid = wire_get_u32(bytes + 4);
        message->size = wire_get_u32(bytes + 8);
        return get_text(bytes + 12, message->host, MUSTER_HOST_MAX);
    case CONTROL_ADDRESS:
        message->blob = bytes;
        message->blob_length = (uint32_t)length;
        return length >= 1 && length <= CONTROL_BLOB_MAX;
    case CONTROL_EXPIRED:
    case CONTROL_LEAVE:
        return length == 0;
    case CONTROL_WELCOME:
        return length == WELCOME_SIZE && decode_welcome(bytes, message);
    case CONTROL_REFUSED:
        return length == REFUSED_SIZE && decode_refused(bytes, message);
    case CONTROL_TABLE:
        return decode_table(bytes, length, message);
    case CONTROL_MISSING:
        return decode_missing(bytes, length, message);
    case CONTROL_LOST:
        return length == LOST_SIZE && decode_lost(bytes, message);
    case CONTROL_LEFT:
        if (length != 4)
            return false;
        message->rank = wire_get_u32(bytes);
        return true;
    case CONTROL_NONE:
    case CONTROL_KIND_COUNT:
        break;
    }
    return false;
}

control_read_t control_decode(const uint8_t *bytes, size_t length, control_message_t *message,
                              size_t *used)
{
    static const uint8_t filler[3];
    /* What is wrong is said at once, so that a stranger is not waited for. */
    if (length >= 1 && (bytes[0] == CONTROL_NONE || bytes[0] >= CONTROL_KIND_COUNT)) {
        return CONTROL_READ_GARBAGE;
    }
    if (length < CONTROL_HEADER_SIZE)
        return CONTROL_READ_MORE;
    uint32_t size = wire_get_u32(bytes + 4);
    if (memcmp(bytes + 1, filler, 3) != 0 || size > CONTROL_PAYLOAD_MAX)
        return CONTROL_READ_GARBAGE;
    if (length - CONTROL_HEADER_SIZE < size)
        return CONTROL_READ_MORE;
    control_message_t read = {.kind = (control_kind_t)bytes[0]};
    if (!decode_payload(bytes + CONTROL_HEADER_SIZE, size, &read))
        return CONTROL_READ_GARBAGE;
    *message = read;
    *used = CONTROL_HEADER_SIZE + (size_t)size;
    return CONTROL_READ_MESSAGE;
}
