/* An array in host memory, with its type and shape. */
#ifndef KN_CLI_ARRAY_H
#define KN_CLI_ARRAY_H

#include "cli/error.h"

typedef struct kn_cli_array {
    kiln_dtype dtype;
    int rank;
    int64_t shape[KILN_MAX_RANK];
    int64_t strides[KILN_MAX_RANK]; /* in elements */
    bool compact;                   /* the strides are those of compact row-major order */
    int64_t count;                  /* elements */
    size_t bytes;
    void *data; /* malloc'ed; NULL where only the shape is known */
} kn_cli_array;

static inline bool kn_cli_is_complex(kiln_dtype t) { return t >= KILN_C64; }
/* Or complex. */
static inline bool kn_cli_is_float(kiln_dtype t) { return t >= KILN_F16; }
/* Does an integer type have the number i? */
bool kn_cli_holds(kiln_dtype t, int64_t i);

enum { KN_TYPE_TEXT = 32 + 24 * KILN_MAX_RANK };

/* From dtype, rank and shape: strides, count and bytes. Column-major strides if `fortran`. Refuses
 * a size that does not fit 63 bits; `what` is the array's name in the message. */
int kn_cli_array_layout(kn_cli_array *a, bool fortran, const char *what, kn_err *e);
/* Allocates a->data: a->bytes, but never nothing. */
int kn_cli_array_alloc(kn_cli_array *a, const char *what, kn_err *e);
/* "f32[3, 4]" into text, which has room for KN_TYPE_TEXT; returns it. */
char *kn_cli_array_type(const kn_cli_array *a, char *text);
/* Makes its elements compact in row-major order, if they are not. */
int kn_cli_array_compact(kn_cli_array *a, const char *what, kn_err *e);
void kn_cli_array_finish(kn_cli_array *a);

#endif
