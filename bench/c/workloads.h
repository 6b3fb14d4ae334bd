/* Programs beside which plain C is measured, and the sizes that they have. */
#ifndef KN_BENCH_C_WORKLOADS_H
#define KN_BENCH_C_WORKLOADS_H

#include "bench/c/peers.h"
#include "frontend/kiln.h"

enum { MOST_ARGS = 8, MOST_RANK = 4, MOST_LETTERS = 26 };

/* An argument's extents are one letter each. */
typedef struct argument {
    const char *name;
    kiln_dtype dtype; /* KILN_I32: indices along V */
    const char *letters;
} argument;

typedef struct function {
    const char *name, *text;
    peer_function *plain;
    argument args[MOST_ARGS];
    int inputs;
    const char *most; /* extents of the largest argument: their product is what is drawn */
    char shared;      /* the axis whose groups the threads of plain C share */
} function;

typedef struct workload {
    char name[96];
    const function *f;
    int64_t extents[MOST_LETTERS];
} workload;

/* The workload of an index in the list; false behind its end. */
bool listed_workload(workload *to, int index);

/* A function at sizes that nobody chose, 64 KB to 256 MB in all: log-uniform extents, odd ones as likely as those of two
 * binary digits or three. Of a seed and an index the same one. */
void drawn_workload(workload *to, uint64_t seed, int index);

int64_t extent_of(const workload *w, char letter);

#endif
