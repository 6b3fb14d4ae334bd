/* Gradients against central differences, both by the reference interpreter in f64. */
#ifndef KN_TESTS_DIFFERENTIAL_GRADIENTS_H
#define KN_TESTS_DIFFERENTIAL_GRADIENTS_H

#include "tests/differential/program.h"

enum { MAX_VALUES = 64 };

/* A graph whose values y depend on its inputs, and the gradients of sum(real(seed * y)) by `wrt`. Seeds are inputs. */
typedef struct slopes {
    kn_graph *g;
    int ny, nwrt;
    kn_node *y[MAX_VALUES], *seed[MAX_VALUES], *wrt[MAX_VALUES], *grad[MAX_VALUES];
    int64_t sizes[MAX_SYMBOLS];
    double *data
        [MAX_VALUES]; /* per input: numbers, complex ones in pairs; integers as they are stored */
    int64_t count[MAX_VALUES];
} slopes;

/* The gradients of g's outputs, which it loses, by its f64 and c128 inputs; `order` times one of the other. NULL with a
 * message. */
slopes *slopes_of(kn_graph *g, int order);

/* Data for sizes such as "N=3": floats in [low, high), integers 0 and 1. */
bool slopes_fill(slopes *s, const char *sizes, rng *r, double low, double high);

/* How far the gradients are from differences, relative to the largest of one input: the largest of all; infinite with a
 * message where one has no value. `smooth`: NULL, or becomes how far differences by two distances are from each other
 * in the same way: where that is not small, the program jumps or bends near its operands. */
double slopes_error(slopes *s, double *smooth);

/* smooth_programs.c: a function f of i, i64[3], and of f64 arrays v0, v1, ... whose two results are not all zero. */
const char *smooth_program(kn_arena *a, rng *r);

#endif
