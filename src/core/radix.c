#include "core/radix.h"

#include "core/assertion.h"

const char *radix_fault_text(radix_fault_t fault)
{
    static const char *const texts[] = {
#define X(name, text) [RADIX_FAULT_##name] = text,
        RADIX_FAULT_LIST(X)
#undef X
    };
    return (size_t)fault < RADIX_FAULT_COUNT ? texts[fault] : "a fault that is not known";
}

void radix_error_print(const radix_error_t *error, text_t *text)
{
    text_string(text, "column ");
    text_number(text, (uint64_t)error->position + 1);
    text_string(text, ": ");
    text_string(text, radix_fault_text(error->fault));
}

static muster_status_t radix_refuse(size_t position, radix_fault_t fault, radix_error_t *error)
{
    if (error != NULL)
        *error = (radix_error_t){.position = position, .fault = fault};
    return MUSTER_INVALID_ARGUMENT;
}

muster_status_t radix_sequence_check(const uint32_t *factors, size_t count, bool far,
                                     radix_sequence_t *sequence, radix_error_t *error)
{
    if (count == 0)
        return radix_refuse(0, RADIX_FAULT_NO_FACTORS, error);
    if (factors == NULL)
        return radix_refuse(0, RADIX_FAULT_STORAGE, error);
    if (count > RADIX_FACTORS_MAX)
        return radix_refuse(RADIX_FACTORS_MAX, RADIX_FAULT_TOO_MANY_FACTORS, error);
    radix_sequence_t sound = {.count = (uint8_t)count, .far = far};
    uint64_t product = 1;
    for (size_t i = 0; i < count; i++) {
        if (factors[i] < RADIX_MIN || factors[i] > RADIX_MAX)
            return radix_refuse(i, RADIX_FAULT_OUT_OF_RANGE, error);
        product *= factors[i]; /* at most 48 bits */
        if (product > UINT32_MAX)
            return radix_refuse(i, RADIX_FAULT_PRODUCT, error);
        sound.factors[i] = (uint16_t)factors[i];
    }
    if (sequence != NULL)
        *sequence = sound;
    return MUSTER_OK;
}

muster_status_t radix_sequence_sound(const radix_sequence_t *sequence, radix_error_t *error)
{
    if (sequence == NULL)
        return radix_refuse(0, RADIX_FAULT_STORAGE, error);
    uint32_t factors[RADIX_FACTORS_MAX];
    for (size_t i = 0; i < RADIX_FACTORS_MAX; i++)
        factors[i] = sequence->factors[i];
    return radix_sequence_check(factors, sequence->count, sequence->far, NULL, error);
}

uint32_t radix_sequence_product(const radix_sequence_t *sequence)
{
    if (radix_sequence_sound(sequence, NULL) != MUSTER_OK)
        return 0;
    uint32_t product = 1;
    for (size_t i = 0; i < sequence->count; i++)
        product *= sequence->factors[i];
    return product;
}

static size_t radix_factor_count(const radix_sequence_t *sequence)
{
    return sequence->count < RADIX_FACTORS_MAX ? sequence->count : RADIX_FACTORS_MAX;
}

bool radix_sequence_equal(const radix_sequence_t *one, const radix_sequence_t *other)
{
    if (one->count != other->count || one->far != other->far)
        return false;
    for (size_t i = 0; i < radix_factor_count(one); i++)
        if (one->factors[i] != other->factors[i])
            return false;
    return true;
}

static void radix_factors_print(const radix_sequence_t *sequence, size_t node, text_t *text)
{
    size_t count = radix_factor_count(sequence);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            text_character(text, 'x');
        if (i == node)
            text_string(text, "node");
        else
            text_number(text, sequence->factors[i]);
    }
    if (count == 0)
        text_string(text, "none");
    else if (sequence->far)
        text_string(text, "@far");
}

void radix_sequence_print(const radix_sequence_t *sequence, text_t *text)
{
    radix_factors_print(sequence, RADIX_NO_NODE, text);
}

uint32_t radix_sequence_stride(const radix_sequence_t *sequence, uint32_t phase)
{
    MUSTER_ASSERT(radix_sequence_sound(sequence, NULL) == MUSTER_OK);
    MUSTER_ASSERT(phase < sequence->count);
    uint32_t first = sequence->far ? phase + 1 : 0;
    uint32_t end = sequence->far ? sequence->count : phase;
    uint32_t stride = 1; /* divides the product, which fits */
    for (uint32_t i = first; i < end; i++)
        stride *= sequence->factors[i];
    return stride;
}

bool radix_value_equal(const radix_value_t *one, const radix_value_t *other)
{
    return one->kind == other->kind && one->node == other->node &&
           radix_sequence_equal(&one->sequence, &other->sequence);
}

void radix_value_print(const radix_value_t *value, text_t *text)
{
    if (value->kind == RADIX_KIND_AUTO) {
        text_string(text, "auto");
        return;
    }
    if (value->kind == RADIX_KIND_STRICT)
        text_character(text, '=');
    if (value->kind == RADIX_KIND_ALLOWED)
        text_character(text, '~');
    radix_factors_print(&value->sequence, value->node, text);
}
