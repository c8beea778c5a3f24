/* One direction of a pair of simulated ranks: its queue, what is under way, and buffers on loan. */
#include "transport/sim_state.h"

#include "core/assertion.h"

#include <stdlib.h>
#include <string.h>

#define SIM_SCRIBBLE 0xdb

/* ---- Loans ----------------------------------------------------------------------------------- */

static size_t spans_length(const transport_span_t *spans, size_t count)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        length += spans[i].length;
    }
    return length;
}

static uint64_t loan_digest(const sim_loan_t *loan)
{
    uint64_t digest = 1;
    for (size_t i = 0; i < loan->count; i++) {
        const uint8_t *bytes = loan->spans[i].bytes;
        size_t length = loan->spans[i].length;
        size_t at = 0;
        for (; at + 8 <= length; at += 8) {
            uint64_t word;
            memcpy(&word, bytes + at, 8);
            digest = sim_mix(digest, word);
        }
        for (; at < length; at++) {
            digest = sim_mix(digest, bytes[at]);
        }
    }
    return digest;
}

static void loan_open(sim_loan_t *loan, const transport_span_t *spans, size_t count, void *token)
{
    memset(loan, 0, sizeof *loan);
    if (count != 0) {
        memcpy(loan->spans, spans, count * sizeof *spans);
    }
    loan->count = count;
    loan->token = token;
    loan->active = true;
    loan->digest = loan_digest(loan);
}

static bool loan_is_intact(const sim_loan_t *loan)
{
    return loan_digest(loan) == loan->digest;
}

static void loan_scribble(sim_loan_t *loan)
{
    for (size_t i = 0; i < loan->count; i++) {
        if (loan->spans[i].length != 0) {
            memset(loan->spans[i].bytes, SIM_SCRIBBLE, loan->spans[i].length);
        }
    }
    loan->digest = loan_digest(loan);
}

static void loan_gather(const sim_loan_t *loan, uint8_t *bytes)
{
    for (size_t i = 0; i < loan->count; i++) {
        if (loan->spans[i].length != 0) {
            memcpy(bytes, loan->spans[i].bytes, loan->spans[i].length);
            bytes += loan->spans[i].length;
        }
    }
}

static void loan_scatter(const sim_loan_t *loan, const uint8_t *bytes)
{
    for (size_t i = 0; i < loan->count; i++) {
        if (loan->spans[i].length != 0) {
            memcpy(loan->spans[i].bytes, bytes, loan->spans[i].length);
            bytes += loan->spans[i].length;
        }
    }
}

/* ---- Messages and links ---------------------------------------------------------------------- */

void sim_message_destroy(sim_message_t *message)
{
    if (message == NULL) {
        return;
    }
    if (message->receipt != NULL) {
        message->receipt->message = NULL;
    }
    /* Who reads a message that was borrowed until the last poll reads this. */
    if (message->length != 0) {
        memset(message->payload, SIM_SCRIBBLE, message->length);
    }
    memset(message->header, SIM_SCRIBBLE, sizeof message->header);
    free(message->payload);
    free(message);
}

static sim_message_t *message_create(const uint8_t *header, size_t length)
{
    sim_message_t *message = calloc(1, sizeof *message);
    uint8_t *payload = length == 0 ? NULL : malloc(length);
    if (message == NULL || (payload == NULL && length != 0)) {
        free(message);
        free(payload);
        return NULL;
    }
    memcpy(message->header, header, WIRE_HEADER_SIZE);
    message->payload = payload;
    message->length = length;
    return message;
}

static void messages_destroy(sim_message_t **list, sim_message_t ***end)
{
    while (*list != NULL) {
        sim_message_t *message = *list;
        *list = message->next;
        sim_message_destroy(message);
    }
    *end = list;
}

static sim_message_t *messages_take(sim_message_t **list, sim_message_t ***end)
{
    sim_message_t *message = *list;
    *list = message->next;
    if (*list == NULL) {
        *end = list;
    }
    message->next = NULL;
    return message;
}

static void messages_append(sim_message_t ***end, sim_message_t *message)
{
    **end = message;
    *end = &message->next;
}

static void receipt_destroy(sim_receipt_t *receipt)
{
    if (receipt->message != NULL) {
        receipt->message->receipt = NULL;
    }
    free(receipt);
}

static void receipts_destroy(sim_link_t *link)
{
    while (link->receipts != NULL) {
        sim_receipt_t *receipt = link->receipts;
        link->receipts = receipt->next;
        receipt_destroy(receipt);
    }
    link->receipts_end = &link->receipts;
}

sim_link_t *sim_link(sim_cluster_t *cluster, uint32_t from, uint32_t to)
{
    MUSTER_ASSERT(from < cluster->options.size && to < cluster->options.size && from != to);
    sim_link_t **place = &cluster->links[(size_t)from * cluster->options.size + to];
    if (*place != NULL) {
        return *place;
    }
    sim_link_t *link = calloc(1, sizeof *link);
    if (link == NULL) {
        return NULL;
    }
    link->from = from;
    link->to = to;
    link->queued_end = &link->queued;
    link->flying_end = &link->flying;
    link->receipts_end = &link->receipts;
    link->lost_at = SIM_NEVER;
    link->delay = sim_draw_delay(cluster);
    *place = link;
    return link;
}

void sim_link_destroy(sim_link_t *link)
{
    if (link == NULL) {
        return;
    }
    messages_destroy(&link->queued, &link->queued_end);
    messages_destroy(&link->flying, &link->flying_end);
    receipts_destroy(link);
    free(link);
}

/* ---- The sender's side ----------------------------------------------------------------------- */

/* When a message that leaves now arrives: never before an earlier one of the pair has ended. */
static void message_time(sim_cluster_t *cluster, sim_link_t *link, sim_message_t *message)
{
    int64_t delay = sim_chance(cluster, 1, 2) ? link->delay : sim_draw_delay(cluster);
    int64_t start = cluster->now + delay;
    if (start < link->quiet) {
        start = link->quiet;
    }
    message->ends = start + (int64_t)message->length * cluster->options.byte_time;
    message->arrives = message->length > TRANSPORT_INLINE_MAX ? start : message->ends;
    link->quiet = message->ends;
    sim_schedule(cluster, message->arrives, link, false);
    if (message->ends != message->arrives) {
        sim_schedule(cluster, message->ends, link, false);
    }
}

static void link_depart(sim_cluster_t *cluster, sim_link_t *link, sim_message_t *message)
{
    sim_record(cluster, "leaves", link->from, link->to, message->header, message->length);
    link->unread += message->length;
    link->traffic.messages++;
    link->traffic.bytes += message->length;
    if (message->header[0] == WIRE_DATA) {
        link->traffic.data_messages++;
        link->traffic.data_bytes += message->length;
    }
    if (link->held) {
        message->arrives = SIM_NEVER;
        message->ends = SIM_NEVER;
    } else {
        message_time(cluster, link, message);
    }
    messages_append(&link->flying_end, message);
}

static bool link_has_room(const sim_cluster_t *cluster, const sim_link_t *link, size_t length)
{
    size_t window = cluster->options.window;
    return window == 0 || link->unread == 0 ||
           (link->unread < window && length <= window - link->unread);
}

/* After the pair is closed, until LOST: bytes go nowhere, as into a socket without another end. */
static muster_status_t link_swallow(sim_cluster_t *cluster, sim_link_t *link, bool known,
                                    bool *done)
{
    if (known || sim_chance(cluster, 1, 2)) {
        return MUSTER_PEER_LOST;
    }
    *done = sim_chance(cluster, 1, 2);
    sim_record(cluster, "swallows", link->from, link->to, NULL, *done);
    return MUSTER_OK;
}

muster_status_t sim_link_send(sim_cluster_t *cluster, sim_link_t *link, const uint8_t *header,
                              const transport_span_t *spans, size_t span_count, void *token,
                              bool *done)
{
    size_t length = spans_length(spans, span_count);
    sim_link_t *back = sim_link(cluster, link->to, link->from);
    if (wire_payload_length(header) != length) {
        sim_violate(cluster, link->from, link->to, "payload_length is not the spans' length");
    }
    if (link->closed || (back != NULL && back->lost_told)) {
        return link_swallow(cluster, link, back == NULL || back->lost_told, done);
    }
    sim_message_t *message = message_create(header, length);
    if (message == NULL || back == NULL ||
        sim_chance(cluster, cluster->options.no_memory_chance, 1000000)) {
        sim_record(cluster, "refused", link->from, link->to, header, length);
        sim_message_destroy(message);
        return MUSTER_NO_MEMORY;
    }
    bool late = sim_chance(cluster, cluster->options.late_chance, 1000);
    bool queued = late || link->queued != NULL || !link_has_room(cluster, link, length);
    loan_open(&message->lent, spans, span_count, token);
    *done = !queued || sim_chance(cluster, 1, 4);
    sim_record(cluster, *done ? "sends" : "lends", link->from, link->to, header, length);
    if (*done) {
        loan_gather(&message->lent, message->payload);
        message->lent.active = false;
    }
    if (!queued) {
        link_depart(cluster, link, message);
        return MUSTER_OK;
    }
    message->leaves = cluster->now + (late ? sim_draw_delay(cluster) : 0);
    messages_append(&link->queued_end, message);
    sim_schedule(cluster, message->leaves, link, true);
    return MUSTER_OK;
}

/* Takes a lent message's bytes; the loan lasts on as a receipt, told now or a little later. */
static void link_collect(sim_cluster_t *cluster, sim_link_t *link, sim_message_t *message)
{
    if (!message->lent.active) {
        return;
    }
    if (!loan_is_intact(&message->lent)) {
        sim_violate(cluster, link->from, link->to, "the buffer of a send was written before SENT");
    }
    loan_gather(&message->lent, message->payload);
    sim_receipt_t *receipt = calloc(1, sizeof *receipt);
    MUSTER_ASSERT(receipt != NULL);
    receipt->lent = message->lent;
    receipt->message = message;
    message->receipt = receipt;
    receipt->time = cluster->now + (sim_chance(cluster, 1, 2) ? 0 : 3 * sim_draw_delay(cluster));
    message->lent.active = false;
    *link->receipts_end = receipt;
    link->receipts_end = &receipt->next;
    sim_schedule(cluster, receipt->time, link, true);
}

/* While the message is under way its buffer must not change. */
static void receipt_check(sim_cluster_t *cluster, sim_link_t *link, const sim_receipt_t *receipt)
{
    if (receipt->message != NULL && !loan_is_intact(&receipt->lent)) {
        sim_violate(cluster, link->from, link->to,
                    "the buffer of a send was written before it was received and before SENT");
    }
}

bool sim_link_poll_out(sim_cluster_t *cluster, sim_link_t *link, transport_event_t *event)
{
    while (link->queued != NULL && link->queued->leaves <= cluster->now &&
           link_has_room(cluster, link, link->queued->length)) {
        sim_message_t *message = messages_take(&link->queued, &link->queued_end);
        link_collect(cluster, link, message);
        link_depart(cluster, link, message);
    }
    sim_receipt_t *receipt = link->receipts;
    if (receipt == NULL || receipt->time > cluster->now) {
        return false;
    }
    receipt_check(cluster, link, receipt);
    *event =
        (transport_event_t){.kind = TRANSPORT_SENT, .peer = link->to, .token = receipt->lent.token};
    link->receipts = receipt->next;
    if (link->receipts == NULL) {
        link->receipts_end = &link->receipts;
    }
    receipt_destroy(receipt);
    sim_record(cluster, "SENT", link->from, link->to, NULL, 0);
    return true;
}

/* ---- The receiver's side --------------------------------------------------------------------- */

/* The payload has been read: there is room again, which the sender hears of a little later. */
static void link_consume(sim_cluster_t *cluster, sim_link_t *link, sim_message_t *message)
{
    MUSTER_ASSERT(link->unread >= message->length);
    link->unread -= message->length;
    if (message->receipt != NULL) {
        receipt_check(cluster, link, message->receipt);
        message->receipt->message = NULL;
        message->receipt = NULL;
    }
    if (link->queued != NULL) {
        sim_schedule(cluster, cluster->now + cluster->options.delay_minimum, link, true);
    }
}

static void link_tell_header(sim_cluster_t *cluster, sim_link_t *link, transport_event_t *event)
{
    sim_rank_t *rank = &cluster->ranks[link->to];
    sim_message_t *message = link->flying;
    *event = (transport_event_t){.kind = TRANSPORT_HEADER,
                                 .peer = link->from,
                                 .header = message->header,
                                 .payload_length = message->length};
    if (message->length > TRANSPORT_INLINE_MAX) {
        message->told = true;
        rank->unanswered = link;
        sim_record(cluster, "HEADER", link->to, link->from, message->header, message->length);
        return;
    }
    event->kind = TRANSPORT_MESSAGE;
    event->payload = message->payload;
    rank->current = messages_take(&link->flying, &link->flying_end);
    link_consume(cluster, link, message);
    sim_record(cluster, "MESSAGE", link->to, link->from, message->header, message->length);
}

/* The end of a longer message; true when there is something to tell. */
static bool link_finish(sim_cluster_t *cluster, sim_link_t *link, transport_event_t *event)
{
    sim_message_t *message = messages_take(&link->flying, &link->flying_end);
    bool tell = message->placed.active;
    if (tell) {
        if (!loan_is_intact(&message->placed)) {
            sim_violate(cluster, link->to, link->from,
                        "a placed buffer was written before RECEIVED");
        }
        loan_scatter(&message->placed, message->payload);
        *event = (transport_event_t){
            .kind = TRANSPORT_RECEIVED, .peer = link->from, .token = message->placed.token};
    }
    sim_record(cluster, tell ? "RECEIVED" : "drops", link->to, link->from, message->header,
               message->length);
    link_consume(cluster, link, message);
    sim_message_destroy(message);
    return tell;
}

static void link_tell_lost(sim_cluster_t *cluster, sim_link_t *link, transport_event_t *event)
{
    sim_link_t *out = sim_link(cluster, link->to, link->from);
    MUSTER_ASSERT(out != NULL && out->queued == NULL);
    receipts_destroy(out);
    messages_destroy(&link->flying, &link->flying_end);
    link->unread = 0;
    link->lost_told = true;
    *event = (transport_event_t){.kind = TRANSPORT_LOST, .peer = link->from, .status = link->why};
    sim_record(cluster, "LOST", link->to, link->from, NULL, (uint64_t)link->why);
}

bool sim_link_poll_in(sim_cluster_t *cluster, sim_link_t *link, transport_event_t *event)
{
    while (link->flying != NULL) {
        sim_message_t *message = link->flying;
        if (!message->told) {
            if (message->arrives > cluster->now) {
                return false;
            }
            link_tell_header(cluster, link, event);
            return true;
        }
        MUSTER_ASSERT(message->answered);
        if (message->cut) {
            break;
        }
        if (message->ends > cluster->now) {
            return false;
        }
        if (link_finish(cluster, link, event)) {
            return true;
        }
    }
    if (link->lost_told || link->lost_at > cluster->now) {
        return false;
    }
    link_tell_lost(cluster, link, event);
    return true;
}

void sim_link_place(sim_cluster_t *cluster, sim_link_t *link, const transport_span_t *spans,
                    size_t span_count, void *token)
{
    sim_message_t *message = link->flying;
    MUSTER_ASSERT(message != NULL && message->told && !message->answered);
    message->answered = true;
    sim_record(cluster, span_count == 0 ? "declines" : "places", link->to, link->from,
               message->header, message->length);
    if (span_count == 0) {
        return;
    }
    if (spans_length(spans, span_count) != message->length) {
        sim_violate(cluster, link->to, link->from, "placed spans do not add up to the payload");
        return;
    }
    loan_open(&message->placed, spans, span_count, token);
    loan_scribble(&message->placed);
}

void sim_link_forget(sim_cluster_t *cluster, sim_link_t *link, bool outward, void *token)
{
    if (!outward) {
        for (sim_message_t *message = link->flying; message != NULL; message = message->next) {
            if (message->placed.active && message->placed.token == token) {
                message->placed.active = false;
            }
        }
        return;
    }
    for (sim_message_t *message = link->queued; message != NULL; message = message->next) {
        if (message->lent.active && message->lent.token == token) {
            if (!loan_is_intact(&message->lent)) {
                sim_violate(cluster, link->from, link->to,
                            "the buffer of a send was written before forget");
            }
            loan_gather(&message->lent, message->payload);
            message->lent.active = false;
        }
    }
    sim_receipt_t **place = &link->receipts;
    while (*place != NULL) {
        sim_receipt_t *receipt = *place;
        if (receipt->lent.token == token) {
            *place = receipt->next;
            receipt_destroy(receipt);
        } else {
            place = &receipt->next;
        }
    }
    link->receipts_end = place;
}

/* ---- Faults ---------------------------------------------------------------------------------- */

void sim_link_hold(sim_cluster_t *cluster, sim_link_t *link)
{
    link->held = true;
    for (sim_message_t *message = link->flying; message != NULL; message = message->next) {
        if (message->arrives > cluster->now) {
            message->arrives = SIM_NEVER;
        }
        if (message->ends > cluster->now) {
            message->ends = SIM_NEVER;
        }
    }
    if (link->closed && link->lost_at > cluster->now) {
        link->lost_at = SIM_NEVER;
    }
}

void sim_link_release(sim_cluster_t *cluster, sim_link_t *link)
{
    link->held = false;
    link->quiet = cluster->now;
    for (sim_message_t *message = link->flying; message != NULL; message = message->next) {
        if (message->arrives == SIM_NEVER) {
            message_time(cluster, link, message);
        } else if (message->ends == SIM_NEVER && !message->cut) {
            message->ends = cluster->now + sim_draw_delay(cluster);
            link->quiet = message->ends;
            sim_schedule(cluster, message->ends, link, false);
        }
    }
    if (link->closed && link->lost_at == SIM_NEVER) {
        link->lost_at = link->quiet + sim_draw_delay(cluster);
        sim_schedule(cluster, link->lost_at, link, false);
    }
}

/* Whether a message that has left and has not wholly arrived still comes; it may come in part. */
static bool message_survives(sim_cluster_t *cluster, sim_message_t *message, sim_fate_t fate)
{
    if (message->ends <= cluster->now || fate == SIM_KEEP_ALL) {
        return true;
    }
    bool header_arrived = message->arrives <= cluster->now;
    bool wanted = fate == SIM_KEEP_SOME && message->arrives != SIM_NEVER;
    if (wanted && message->ends != SIM_NEVER && sim_chance(cluster, 1, 2)) {
        return true;
    }
    if (header_arrived ||
        (wanted && message->length > TRANSPORT_INLINE_MAX && sim_chance(cluster, 1, 2))) {
        message->cut = true;
    }
    return message->cut;
}

void sim_link_close(sim_cluster_t *cluster, sim_link_t *link, sim_fate_t fate, muster_status_t why)
{
    if (link->closed) {
        return;
    }
    link->closed = true;
    link->why = why;
    messages_destroy(&link->queued, &link->queued_end);
    int64_t last = cluster->now;
    sim_message_t **place = &link->flying;
    while (*place != NULL && message_survives(cluster, *place, fate)) {
        sim_message_t *message = *place;
        last = message->cut ? message->arrives : message->ends;
        place = &message->next;
        if (message->cut) {
            break;
        }
    }
    while (*place != NULL) {
        sim_message_t *message = *place;
        *place = message->next;
        sim_message_destroy(message);
    }
    link->flying_end = place;
    if (link->held && fate == SIM_KEEP_ALL) {
        return; /* release brings the rest, and then the loss */
    }
    link->lost_at = cluster->now + (fate == SIM_KEEP_ARRIVED ? 0 : sim_draw_delay(cluster));
    if (link->lost_at < last) {
        link->lost_at = last;
    }
    sim_schedule(cluster, link->lost_at, link, false);
}
