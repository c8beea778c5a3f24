/* A stream of control messages: what is accepted is what encoding writes; no frame is too long. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/assertion.h"
#include "core/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t size)
{
    MUSTER_ASSERT(memchr(text, 0, size) != NULL);
    MUSTER_ASSERT(strpbrk(text, "\n\r\t\x7f") == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t again[CONTROL_FRAME_MAX];
    while (size > 0) {
        control_message_t message;
        size_t used = 0;
        switch (control_decode(data, size, &message, &used)) {
        case CONTROL_READ_GARBAGE:
            return 0;
        case CONTROL_READ_MORE:
            MUSTER_ASSERT(size < CONTROL_FRAME_MAX);
            return 0;
        case CONTROL_READ_MESSAGE:
            break;
        }
        MUSTER_ASSERT(used >= CONTROL_HEADER_SIZE && used <= size && used <= CONTROL_FRAME_MAX);
        MUSTER_ASSERT(control_size(&message) == used);
        control_encode(&message, again);
        MUSTER_ASSERT(memcmp(data, again, used) == 0);
        check_text(message.host, sizeof message.host);
        check_text(message.text, sizeof message.text);
        data += used;
        size -= used;
    }
    return 0;
}
