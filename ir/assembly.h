/* What arrays are put together from, noted where a graph is built: a rewriting leaves it out. */
#ifndef KN_IR_ASSEMBLY_H
#define KN_IR_ASSEMBLY_H

#include "ir/graph.h"

/* Notes what `made` is made of. `rest`: NULL where pieces are all of it. Anything may be NULL, and nodes -1, after a
 * failure. */
void kn_note_assembly(kn_graph *g, const kn_node *made, const kn_piece *pieces, int n,
                      const kn_node *rest);
/* Copies those of which `to` has all nodes; map: per node of `from` the one in `to`, or NULL. */
void kn_copy_assemblies(kn_graph *to, const kn_graph *from, kn_node *const *map);

#endif
