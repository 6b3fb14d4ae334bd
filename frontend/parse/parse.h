/* The text form: a Python function with NumPy's meaning, parsed straight into a graph.
 *
 *     def softmax(x: f32[N, C]):
 *         e = exp(x - max(x, axis=1, keepdims=True))
 *         return e / sum(e, axis=1, keepdims=True)
 *
 * Everything that is accepted is a valid Python function; what Python or NumPy would refuse, or
 * what would not mean the same there, is an error. Every error's message is
 *
 *     file:line:col: what was expected and what was found
 *         the line
 *            ^
 *
 * These functions run inside kn_protect() of the graph's arena. After a failure the graph is half
 * built and good for nothing. */
#ifndef KN_FRONTEND_PARSE_PARSE_H
#define KN_FRONTEND_PARSE_PARSE_H

#include "ir/build.h"

enum { KN_PARSE_MAX_TEXT = 1 << 20, KN_PARSE_MAX_DEPTH = 200, KN_PARSE_MAX_PARAMS = 256 };

/* `g` is empty. Fills in its name, inputs, outputs, facts, source and file. `file` may be NULL. Of several functions it
 * is the one of that name, with NULL the text must have one only. SYNTAX for the grammar and names; TYPE and SHAPE as
 * the operations say; ARGUMENT where it is not said which function is meant. */
kn_status kn_parse_named(kn_graph *g, const char *text, const char *file, const char *name);
/* The same of a text with one function. */
kn_status kn_parse(kn_graph *g, const char *text, const char *file);

/* One expression over the inputs and dimensions that `g` has; line breaks count as blanks. It
 * adds the output out0; a comma at the top level gives out0, out1, ... */
kn_status kn_parse_expr(kn_graph *g, const char *text);

/* One expression in which names[i] means values[i], beside the dimensions of `g`: a single value. */
kn_status kn_parse_value(kn_graph *g, const char *text, const char *const *names,
                         kn_node *const *values, int n, kn_node **out);

/* x[index], and what x is after x[index] = v: of an index made of numbers and sizes, "1:-1, ..., N - 1", and of an
 * array x.
 */
kn_status kn_parse_slice(kn_graph *g, const char *index, kn_node *x, kn_node **out);
kn_status kn_parse_put(kn_graph *g, const char *index, kn_node *x, kn_node *v, kn_node **out);

/* Dimensions with commas between them, "N, 2*C"; "" is none. New names become symbols. shape has room for
 * KN_MAX_RANK. With `holes` a dimension may be -1, which gives NULL. */
kn_status kn_parse_dims(kn_graph *g, const char *text, bool holes, kn_dim *shape, int *rank);

/* "C % 4 == 0" or "N == 2*M": becomes a fact of `g`. */
kn_status kn_parse_constraint(kn_graph *g, const char *text);

/* A note for explain where the builder made an f64 or a c128 of operands that are none. */
void kn_note_wider_node(kn_graph *g, kn_node *const *in, int n, const kn_node *made);

#endif
