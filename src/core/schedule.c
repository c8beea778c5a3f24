#include "core/schedule.h"

#include <string.h>

#include "core/assertion.h"

uint64_t schedule_region_blocks(const schedule_region_t *region)
{
    return region->run * region->inner_count * region->outer_count;
}

schedule_region_t schedule_run(schedule_buffer_t buffer, uint64_t offset, uint64_t count)
{
    return schedule_rows(buffer, offset, count, 1, count);
}

schedule_region_t schedule_rows(schedule_buffer_t buffer, uint64_t offset, uint64_t run,
                                uint64_t count, uint64_t stride)
{
    if (buffer == SCHEDULE_NOTHING || run == 0 || count == 0)
        return (schedule_region_t){.buffer = SCHEDULE_NOTHING};
    if (run == stride) { /* the runs touch: they are one */
        run *= count;
        count = 1;
    }
    return (schedule_region_t){
        .buffer = (uint8_t)buffer,
        .offset = offset,
        .run = run,
        .inner_count = count,
        .inner_stride = count > 1 ? stride : run,
        .outer_count = 1,
        .outer_stride = 0,
    };
}

uint64_t schedule_region_start(const schedule_region_t *region, uint64_t index)
{
    MUSTER_ASSERT(index < region->inner_count * region->outer_count);
    return region->offset + index / region->inner_count * region->outer_stride +
           index % region->inner_count * region->inner_stride;
}

bool schedule_may_be_in_place(operation_t operation, uint32_t rank, uint32_t root)
{
    if (operation == OPERATION_BARRIER || operation == OPERATION_BROADCAST)
        return false;
    return !operation_is_rooted(operation) || rank == root;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

#define SCHEDULE_ALIGNMENT ((size_t)16)

static size_t schedule_array_bytes(uint32_t count, size_t element)
{
    return (count * element + SCHEDULE_ALIGNMENT - 1) / SCHEDULE_ALIGNMENT * SCHEDULE_ALIGNMENT;
}

size_t schedule_memory(const schedule_t *counted)
{
    return schedule_array_bytes(counted->phase_count, sizeof(schedule_phase_t)) +
           schedule_array_bytes(counted->step_count, sizeof(schedule_step_t)) +
           schedule_array_bytes(counted->send_count, sizeof(schedule_send_t)) +
           schedule_array_bytes(counted->receive_count, sizeof(schedule_receive_t));
}

void schedule_place(schedule_t *counted, void *memory)
{
    MUSTER_ASSERT(memory != NULL || schedule_memory(counted) == 0);
    uint8_t *bytes = memory;
    counted->phases = (schedule_phase_t *)(void *)bytes;
    bytes += schedule_array_bytes(counted->phase_count, sizeof(schedule_phase_t));
    counted->steps = (schedule_step_t *)(void *)bytes;
    bytes += schedule_array_bytes(counted->step_count, sizeof(schedule_step_t));
    counted->sends = (schedule_send_t *)(void *)bytes;
    bytes += schedule_array_bytes(counted->send_count, sizeof(schedule_send_t));
    counted->receives = (schedule_receive_t *)(void *)bytes;
}

schedule_totals_t schedule_count(const schedule_t *schedule)
{
    schedule_totals_t totals = {.messages = schedule->send_count, .blocks = 0};
    for (uint32_t i = 0; i < schedule->send_count; ++i)
        totals.blocks += schedule_region_blocks(&schedule->sends[i].region);
    return totals;
}

bool schedule_request_is_same(const schedule_request_t *one, const schedule_request_t *other)
{
    return one->operation == other->operation && one->size == other->size &&
           one->rank == other->rank && one->root == other->root && one->arity == other->arity &&
           one->segments == other->segments && one->in_place == other->in_place &&
           one->initial == other->initial && one->commutative == other->commutative &&
           one->uniform == other->uniform && one->small == other->small &&
           one->radix.far == other->radix.far && one->radix.count == other->radix.count &&
           memcmp(one->radix.factors, other->radix.factors,
                  one->radix.count * sizeof *one->radix.factors) == 0;
}

/* ---- Print ----------------------------------------------------------------------------------- */

const char *schedule_label_name(uint8_t label)
{
    static const char *const names[] = {"up",    "exchange",  "down",
                                        "relay", "decide up", "decide down"};
    return label < SCHEDULE_ROUND ? names[label] : "round";
}

static void schedule_print_steps(const schedule_t *schedule, const schedule_phase_t *phase,
                                 text_t *text, const char **separator)
{
    for (uint32_t i = 0; i < phase->step_count; ++i) {
        const schedule_step_t *step = &schedule->steps[phase->first_step + i];
        text_string(text, *separator);
        text_string(text, step->work == SCHEDULE_COPY ? "copy " : "reduce ");
        text_number(text, schedule_region_blocks(&step->from));
        *separator = " | ";
    }
}

static void schedule_print_messages(const schedule_t *schedule, const schedule_phase_t *phase,
                                    text_t *text, const char **separator)
{
    for (uint32_t i = 0; i < phase->receive_count; ++i) {
        if (i == 0) {
            text_string(text, *separator);
            text_string(text, "recv");
            *separator = " | ";
        }
        text_character(text, ' ');
        text_number(text, schedule->receives[phase->first_receive + i].peer);
    }
    for (uint32_t i = 0; i < phase->send_count; ++i) {
        const schedule_send_t *send = &schedule->sends[phase->first_send + i];
        uint64_t blocks = schedule_region_blocks(&send->region);
        text_string(text, i == 0 ? *separator : ", ");
        text_string(text, i == 0 ? "send " : "");
        *separator = " | ";
        text_number(text, send->peer);
        text_string(text, ": ");
        text_number(text, blocks);
        text_string(text, blocks == 1 ? " block" : " blocks");
    }
}

void schedule_print(const schedule_t *schedule, text_t *text)
{
    for (uint32_t i = 0; i < schedule->phase_count; ++i) {
        const schedule_phase_t *phase = &schedule->phases[i];
        text_string(text, "phase ");
        text_number(text, i);
        text_character(text, ' ');
        text_string(text, schedule_label_name(phase->label));
        if (phase->label == SCHEDULE_ROUND) {
            text_character(text, ' ');
            text_number(text, phase->round);
        }
        text_string(text, " [");
        text_number(text, phase->group_left);
        text_character(text, ',');
        text_number(text, phase->group_right);
        text_string(text, ") slot ");
        text_number(text, phase->slot + 1U);
        const char *separator = ": ";
        if (phase->drain) {
            text_string(text, ": drain");
            separator = " | ";
        }
        schedule_print_steps(schedule, phase, text, &separator);
        schedule_print_messages(schedule, phase, text, &separator);
        if (phase->decides) {
            text_string(text, separator);
            text_string(text, "decides");
        }
        text_character(text, '\n');
    }
}
