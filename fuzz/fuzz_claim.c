/* A claim: the name and every rank lie within the bytes, and encoding gives them back. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/assertion.h"
#include "core/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wire_claim_t claim;
    if (!wire_decode_claim(data, size, &claim))
        return 0;
    MUSTER_ASSERT(claim.rank < claim.size && claim.name_length <= MUSTER_NAME_MAX);
    MUSTER_ASSERT(wire_claim_size(&claim) == size);
    uint32_t *ranks = malloc(claim.size * sizeof *ranks); /* no more bytes than the input has */
    uint8_t *again = malloc(size);
    if (ranks != NULL && again != NULL) {
        for (uint32_t i = 0; i < claim.size; i++)
            ranks[i] = wire_claim_rank(&claim, i);
        wire_encode_claim(&claim, ranks, again);
        MUSTER_ASSERT(memcmp(data, again, size) == 0);
    }
    free(ranks);
    free(again);
    return 0;
}
