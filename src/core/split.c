#include "core/split.h"

#include "core/assertion.h"

uint32_t split_count(uint32_t n, uint32_t arity)
{
    MUSTER_ASSERT(n >= 1 && arity >= 2);
    return n < arity ? n : arity;
}

split_part_t split_part(uint32_t n, uint32_t arity, uint32_t part)
{
    uint32_t count = split_count(n, arity);
    MUSTER_ASSERT(part < count);
    uint32_t quotient = n / count;
    uint32_t remainder = n % count;
    return (split_part_t){
        .left = part * quotient + (part < remainder ? part : remainder),
        .size = quotient + (part < remainder ? 1 : 0),
    };
}

uint32_t split_classify(uint32_t n, uint32_t arity, uint32_t rank)
{
    uint32_t count = split_count(n, arity);
    if (rank >= n)
        return SPLIT_NONE;
    uint32_t quotient = n / count;
    uint32_t remainder = n % count;
    /* The first `remainder` parts are one wider; behind them all are as wide as the quotient. */
    if (rank < remainder * (quotient + 1))
        return rank / (quotient + 1);
    return (rank - remainder) / quotient;
}

split_part_t split_member(const split_group_t *group, uint32_t arity, uint32_t index)
{
    MUSTER_ASSERT(group->left < group->right);
    split_part_t part = split_part(group->right - group->left, arity, index);
    part.left += group->left;
    return part;
}

uint32_t split_path(uint32_t n, uint32_t arity, uint32_t rank, split_group_t *groups)
{
    MUSTER_ASSERT(n >= 1 && arity >= 2 && rank < n);
    uint32_t path_length = 0;
    split_part_t range = {.left = 0, .size = n};
    while (range.size > 1) {
        uint32_t index = split_classify(range.size, arity, rank - range.left);
        split_part_t part = split_part(range.size, arity, index);
        part.left += range.left;
        if (part.left == rank) { /* a leader: it meets the others of this range */
            MUSTER_ASSERT(path_length < SPLIT_PATH_MAX);
            MUSTER_ASSERT(path_length == 0 || index == 0);
            groups[path_length++] = (split_group_t){
                .left = range.left,
                .right = range.left + range.size,
                .members = split_count(range.size, arity),
                .index = index,
            };
        }
        MUSTER_ASSERT(part.size < range.size);
        range = part;
    }
    return path_length;
}

uint64_t split_block(uint64_t total, uint64_t parts, uint64_t k)
{
    MUSTER_ASSERT(parts >= 1 && k <= parts);
    uint64_t remainder = total % parts;
    return k * (total / parts) + (k < remainder ? k : remainder);
}
