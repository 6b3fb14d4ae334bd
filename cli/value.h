/* VALUE, what the command line gives for a parameter:
 *
 *     path.npy                    a NumPy file
 *     3  -2.5  1e-5  inf  True    a number, as Python writes it
 *     2j  1-0.5j                  a complex one
 *     f32[32, 256]                random data: normal for floats, 0..9 for integers, a coin for bool
 *     f32[8]@uniform(-1,1)        with a distribution: normal, uniform(a,b), ones, zeros, randint(a,b)
 *     f32[()]  f32                0-d
 *
 * randint and uniform are half-open, as NumPy's. */
#ifndef KN_CLI_VALUE_H
#define KN_CLI_VALUE_H

#include "cli/array.h"
#include "cli/random.h"

typedef enum kn_cli_value_kind {
    KN_VALUE_FILE,
    KN_VALUE_INT,
    KN_VALUE_FLOAT,
    KN_VALUE_COMPLEX,
    KN_VALUE_BOOL,
    KN_VALUE_RANDOM
} kn_cli_value_kind;

typedef struct kn_cli_value {
    kn_cli_value_kind kind;
    const char *name;   /* the parameter's */
    const char *text;   /* as given; the path of a file */
    int64_t i;          /* INT, BOOL */
    double f;           /* FLOAT, INT, COMPLEX: real part */
    double im;          /* COMPLEX */
    kn_dist dist;       /* RANDOM */
    kn_cli_array array; /* RANDOM: its shape from the start; FILE: once loaded */
    kiln_dtype typed;   /* of a kernel's argument: the type written before a number */
    bool out;           /* of a kernel's argument: written by the kernel */
} kn_cli_value;

/* A number by value, of any type. */
typedef union kn_cli_number {
    uint8_t b;
    int32_t i;
    int64_t l;
    float f;
    double d;
    _Alignas(16) double z[2];
} kn_cli_number;

static inline bool kn_cli_value_is_number(const kn_cli_value *v)
{
    return v->kind == KN_VALUE_INT || v->kind == KN_VALUE_FLOAT || v->kind == KN_VALUE_COMPLEX ||
           v->kind == KN_VALUE_BOOL;
}

/* Reads the text, opens no file. `name` and `text` must outlive *v. */
int kn_cli_value_parse(const char *name, const char *text, kn_cli_value *v, kn_err *e);
/* The same for an argument of a kernel: a number may be written with its type, "i64:5" or "bool:True". */
int kn_cli_value_parse_raw(const char *name, const char *text, kn_cli_value *v, kn_err *e);
/* Makes v->array: reads the file or draws the data (only its shape if shape_only). Once is enough;
 * does nothing for numbers. */
int kn_cli_value_load(kn_cli_value *v, uint64_t seed, bool shape_only, kn_err *e);
/* Writes the number at `out`, which has room for 16 bytes, as `dtype`. What would not keep the number's kind is
 * refused: a complex number for a float, a float for an integer, a number for a bool, an integer that does not fit. */
int kn_cli_value_number(const kn_cli_value *v, kiln_dtype dtype, void *out, kn_err *e);
void kn_cli_value_finish(kn_cli_value *v);

#endif
