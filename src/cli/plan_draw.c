/* muster plan: a schedule as a drawing. A line for each rank, columns for the steps of time. */
#include <stdlib.h>
#include <string.h>

#include "cli/plan.h"

#define COLUMN 90 /* points */
#define ROW 36

/* A colour for each column, so that a message shows when it is sent. */
static const char *const colours[] = {"#1f77b4", "#d62728", "#2ca02c", "#ff7f0e",
                                      "#9467bd", "#8c564b", "#e377c2", "#17becf"};

typedef struct drawing {
    FILE *out;
    const schedule_request_t *request;
    uint32_t size;
    schedule_t *schedules; /* by rank */
    void **memory;         /* their arrays */
    uint32_t **columns;    /* by rank and phase: when it begins */
    uint32_t last;         /* column */
} drawing_t;

/* ---- Time ---- */

/* Raises a phase's column; whether that changed anything. */
static bool raise_column(uint32_t *column, uint32_t least)
{
    if (*column >= least)
        return false;
    *column = least;
    return true;
}

static bool is_met(const schedule_phase_t *one, const schedule_phase_t *other)
{
    return one->label == other->label && one->round == other->round && one->slot == other->slot &&
           one->group_left == other->group_left && one->group_right == other->group_right;
}

/* When the message that the rank's receive awaits comes: a column after it is sent. */
static uint32_t arrival(const drawing_t *drawing, uint32_t rank, const schedule_phase_t *place,
                        uint32_t peer)
{
    const schedule_t *there = &drawing->schedules[peer];
    for (uint32_t phase = 0; phase < there->phase_count; phase++) {
        const schedule_phase_t *other = &there->phases[phase];
        for (uint32_t i = 0; is_met(place, other) && i < other->send_count; i++)
            if (there->sends[other->first_send + i].peer == rank)
                return drawing->columns[peer][phase] + 1;
    }
    return 0;
}

/* A phase begins when the one before it has everything. */
static bool place_rank(drawing_t *drawing, uint32_t rank)
{
    const schedule_t *schedule = &drawing->schedules[rank];
    uint32_t *columns = drawing->columns[rank];
    bool changed = false;
    for (uint32_t phase = 0; phase < schedule->phase_count; phase++) {
        const schedule_phase_t *place = &schedule->phases[phase];
        uint32_t least = columns[phase];
        for (uint32_t i = 0; i < place->receive_count; i++) {
            uint32_t peer = schedule->receives[place->first_receive + i].peer;
            uint32_t comes = arrival(drawing, rank, place, peer);
            least = comes > least ? comes : least;
        }
        changed = raise_column(&columns[phase + 1], least) || changed;
        if (least > drawing->last)
            drawing->last = least;
    }
    return changed;
}

static void place_all(drawing_t *drawing)
{
    bool changed = true;
    while (changed) { /* nobody waits in a circle: it ends */
        changed = false;
        for (uint32_t rank = 0; rank < drawing->size; rank++)
            changed = place_rank(drawing, rank) || changed;
    }
}

/* ---- Building ---- */

static bool build_rank(drawing_t *drawing, const select_plan_t *plan, uint32_t rank)
{
    schedule_request_t request = *drawing->request;
    schedule_t *schedule = &drawing->schedules[rank];
    schedule_builder_t builder = schedule_family_builder(plan->family);
    select_apply(plan, &request);
    request.rank = rank;
    if (builder(&request, schedule) != MUSTER_OK)
        return false;
    drawing->memory[rank] = malloc(schedule_memory(schedule) + 1);
    drawing->columns[rank] = calloc((size_t)schedule->phase_count + 1, sizeof **drawing->columns);
    if (drawing->memory[rank] == NULL || drawing->columns[rank] == NULL)
        return false;
    schedule_place(schedule, drawing->memory[rank]);
    return builder(&request, schedule) == MUSTER_OK;
}

static bool build_all(drawing_t *drawing, const select_plan_t *plan)
{
    drawing->schedules = calloc(drawing->size, sizeof *drawing->schedules);
    drawing->memory = calloc(drawing->size, sizeof *drawing->memory);
    drawing->columns = calloc(drawing->size, sizeof *drawing->columns);
    if (drawing->schedules == NULL || drawing->memory == NULL || drawing->columns == NULL)
        return false;
    for (uint32_t rank = 0; rank < drawing->size; rank++)
        if (!build_rank(drawing, plan, rank))
            return false;
    return true;
}

static void free_all(drawing_t *drawing)
{
    for (uint32_t rank = 0; rank < drawing->size; rank++) {
        if (drawing->memory != NULL)
            free(drawing->memory[rank]);
        if (drawing->columns != NULL)
            free(drawing->columns[rank]);
    }
    free(drawing->columns);
    free(drawing->memory);
    free(drawing->schedules);
}

/* ---- Drawing ---- */

static long row_of(const drawing_t *drawing, uint32_t rank)
{
    uint32_t host = schedule_host_of(drawing->request, rank);
    return -(long)(rank * ROW + host * ROW / 2); /* hosts stand apart */
}

static void draw_lines(const drawing_t *drawing)
{
    for (uint32_t rank = 0; rank < drawing->size; rank++) {
        long y = row_of(drawing, rank);
        fprintf(drawing->out, "  n%u [shape=plaintext, label=\"rank %u\", pos=\"-45,%ld!\"];\n",
                rank, rank, y);
        for (uint32_t column = 0; column <= drawing->last; column++)
            fprintf(drawing->out, "  r%u_%u [pos=\"%u,%ld!\"];\n", rank, column, column * COLUMN,
                    y);
        if (drawing->last > 0)
            fprintf(drawing->out, "  r%u_0 -> r%u_%u [color=\"#cccccc\", arrowhead=none];\n", rank,
                    rank, drawing->last);
    }
}

static void draw_messages(const drawing_t *drawing, uint32_t rank)
{
    const schedule_t *schedule = &drawing->schedules[rank];
    for (uint32_t i = 0, phase = 0; phase < schedule->phase_count; phase++) {
        const schedule_phase_t *place = &schedule->phases[phase];
        uint32_t column = drawing->columns[rank][phase];
        const char *colour = colours[column % (sizeof colours / sizeof *colours)];
        for (i = 0; i < place->send_count; i++) {
            const schedule_send_t *send = &schedule->sends[place->first_send + i];
            uint32_t peer = send->peer;
            bool between = schedule_host_of(drawing->request, rank) !=
                           schedule_host_of(drawing->request, peer);
            fprintf(drawing->out,
                    "  r%u_%u -> r%u_%u [color=\"%s\", fontcolor=\"%s\", taillabel=\"%llu\"%s];\n",
                    rank, column, peer, column + 1, colour, colour,
                    (unsigned long long)schedule_region_blocks(&send->region),
                    between ? ", style=dashed" : "");
        }
    }
}

bool plan_draw(FILE *out, const plan_question_t *question, const select_plan_t *plan)
{
    drawing_t drawing = {.out = out, .request = &question->request, .size = question->request.size};
    bool built = build_all(&drawing, plan);
    if (built) {
        char name[128];
        text_t text = text_over(name, sizeof name);
        select_print(plan, &text);
        place_all(&drawing);
        fprintf(out, "digraph schedule {\n  layout=neato; inputscale=72; splines=line;\n");
        fprintf(out, "  node [shape=point, width=0.05]; edge [fontsize=8, arrowsize=0.5];\n");
        fprintf(out,
                "  label=\"%s of %u ranks, %s\\ntime runs to the right; numbers are blocks%s\";\n",
                operation_name((uint8_t)question->request.operation), drawing.size, name,
                question->request.hosts != NULL ? "; dashed: to another host" : "");
        draw_lines(&drawing);
        for (uint32_t rank = 0; rank < drawing.size; rank++)
            draw_messages(&drawing, rank);
        fprintf(out, "}\n");
    }
    free_all(&drawing);
    return built;
}
