/* muster plan: a schedule as a drawing. */
#include <stdlib.h>
#include <string.h>

#include "cli/plan.h"

/* A colour for each phase, so that a message shows when it is sent. */
static const char *const colours[] = {"#1f77b4", "#d62728", "#2ca02c", "#ff7f0e",
                                      "#9467bd", "#8c564b", "#e377c2", "#17becf"};

static void draw_rank(FILE *out, uint32_t rank, uint32_t phases, const schedule_request_t *request)
{
    fprintf(out, "  subgraph rank%u { rank=same;\n", rank);
    fprintf(out, "    r%u_0 [shape=plaintext, label=\"rank %u\"];\n", rank, rank);
    for (uint32_t phase = 1; phase <= phases; phase++)
        fprintf(out, "    r%u_%u [shape=point, width=0.06];\n", rank, phase);
    for (uint32_t phase = 0; phase < phases; phase++)
        fprintf(out, "    r%u_%u -> r%u_%u [color=\"#dddddd\", arrowhead=none, weight=100];\n",
                rank, phase, rank, phase + 1);
    fprintf(out, "  }\n");
    if (rank > 0)
        fprintf(out, "  r%u_0 -> r%u_0 [style=%s, color=\"#999999\", arrowhead=none];\n", rank - 1,
                rank,
                schedule_host_of(request, rank) == schedule_host_of(request, rank - 1) ? "invis"
                                                                                       : "dashed");
}

static void draw_messages(FILE *out, const schedule_t *schedule, uint32_t rank,
                          const schedule_request_t *request)
{
    for (uint32_t phase = 0; phase < schedule->phase_count; phase++) {
        const schedule_phase_t *place = &schedule->phases[phase];
        const char *colour = colours[phase % (sizeof colours / sizeof *colours)];
        for (uint32_t i = 0; i < place->send_count; i++) {
            const schedule_send_t *send = &schedule->sends[place->first_send + i];
            bool between = schedule_host_of(request, rank) != schedule_host_of(request, send->peer);
            fprintf(out,
                    "  r%u_%u -> r%u_%u [color=\"%s\", fontcolor=\"%s\", label=\"%llu\", "
                    "constraint=false%s];\n",
                    rank, phase, send->peer, phase + 1, colour, colour,
                    (unsigned long long)schedule_region_blocks(&send->region),
                    between ? ", penwidth=2, style=bold" : "");
        }
    }
}

bool plan_draw(FILE *out, const plan_question_t *question, const select_plan_t *plan)
{
    uint32_t size = question->request.size, phases = 0;
    schedule_t *schedules = calloc(size, sizeof *schedules);
    void **memory = calloc(size, sizeof *memory);
    bool built = schedules != NULL && memory != NULL;
    for (uint32_t rank = 0; built && rank < size; rank++) {
        schedule_request_t request = question->request;
        select_apply(plan, &request);
        request.rank = rank;
        schedule_builder_t builder = schedule_family_builder(plan->family);
        built = builder(&request, &schedules[rank]) == MUSTER_OK;
        memory[rank] = built ? malloc(schedule_memory(&schedules[rank]) + 1) : NULL;
        built = memory[rank] != NULL;
        if (!built)
            break;
        schedule_place(&schedules[rank], memory[rank]);
        builder(&request, &schedules[rank]);
        if (schedules[rank].phase_count > phases)
            phases = schedules[rank].phase_count;
    }
    if (built) {
        char name[128];
        text_t text = text_over(name, sizeof name);
        select_print(plan, &text);
        fprintf(out, "digraph schedule {\n  rankdir=TB; nodesep=0.9; ranksep=0.35;\n");
        fprintf(out, "  edge [fontsize=9, arrowsize=0.5];\n");
        fprintf(out,
                "  label=\"%s of %u ranks: %s; time runs to the right, numbers are blocks\";\n",
                operation_name((uint8_t)question->request.operation), size, name);
        for (uint32_t rank = 0; rank < size; rank++)
            draw_rank(out, rank, phases, &question->request);
        for (uint32_t rank = 0; rank < size; rank++)
            draw_messages(out, &schedules[rank], rank, &question->request);
        fprintf(out, "}\n");
    }
    for (uint32_t rank = 0; memory != NULL && rank < size; rank++)
        free(memory[rank]);
    free(memory);
    free(schedules);
    return built;
}
