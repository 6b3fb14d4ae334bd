/* Outputs in pieces: rectangles of an array, each of which is stored by itself.
 *
 *     y[:, :V] = softmax(x)       where(index < V, softmax(x)[index], y)     one value over all of y
 *                            or   softmax(x), to y[:, :V]                    a piece; the rest of y stays as it is
 *
 * As one value what the softmax reduces over is another space than what is stored, so that x is read twice, with a grid barrier
 * between. A piece shares the loop nest of what it is computed from. Neither is always better: the planner has both graphs. */
#ifndef KN_IR_PIECES_H
#define KN_IR_PIECES_H

#include "ir/graph.h"

/* `g`, as it was built, with its outputs in pieces: the first piece of each output, or all of it, has the output's number; more
 * pieces follow behind all of these. Rectangles do not overlap, and with what an output updates they are all of its array.
 * NULL without a message where no output is made of pieces. */
kn_graph *kn_graph_in_pieces(kn_arena *a, const kn_graph *g);

/* As a slice: "[:, 1:V + 1]". */
void kn_place_print(kn_text *t, kn_symbols *s, const kn_place *place);

#endif
