/* Sizes and names of datatypes (muster.h). */
#include "muster.h"

#define DATATYPE_USER_SIZE_MAX ((uint64_t)1 << 40)

typedef struct datatype_traits {
    uint8_t size;
    const char *name;
} datatype_traits_t;

static const datatype_traits_t datatype_traits[MUSTER_DATATYPE_KIND_COUNT] = {
#define X(name, size, text) [MUSTER_DATATYPE_##name] = {size, text},
    MUSTER_DATATYPE_LIST(X)
#undef X
        [MUSTER_DATATYPE_USER] = {0, "user"},
};

size_t muster_datatype_size(muster_datatype_t datatype)
{
    uint64_t kind = datatype & 0xff;
    uint64_t size = datatype >> 8;
    if (kind >= MUSTER_DATATYPE_KIND_COUNT || size == 0)
        return 0;
    if (kind == MUSTER_DATATYPE_USER)
        return size <= DATATYPE_USER_SIZE_MAX ? (size_t)size : 0;
    return size == datatype_traits[kind].size ? (size_t)size : 0;
}

const char *muster_datatype_name(muster_datatype_t datatype)
{
    return muster_datatype_size(datatype) > 0 ? datatype_traits[datatype & 0xff].name : "?";
}
