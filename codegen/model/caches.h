/* What a kernel reads once and what it reads again, in which order, and what that is to the caches. */
#ifndef KN_CODEGEN_CACHES_H
#define KN_CODEGEN_CACHES_H

#include "codegen/kir/kir.h"
#include "codegen/kir/target.h"

/* Bytes of the distinct elements that a value reads. */
int64_t kn_bytes_read(kn_arena *a, const kn_phase *ph, int value, const kn_buf *bufs);
/* Bytes that a phase loads; INT64_MAX if they are more. */
int64_t kn_phase_bytes_read(kn_arena *a, const kn_phase *phase, const kn_buf *bufs);
/* For each buffer, its loads in the whole kernel, a sweep that loads it again being another. */
const int *kn_times_read(const kn_kernel *k);
/* Is it a load of elements each of which one step of one worker reads? Does the kernel read such elements of an array
 * more than once? */
bool kn_varies_everywhere(const kn_phase *ph, const kn_value *v);
bool kn_reads_again(const kn_kernel *k);
/* Is all that is read of the buffer persistent on chip, where later phases find it? */
bool kn_stays_on_chip(const kn_kernel *k, int buf);
bool kn_kernel_stores_elements(const kn_kernel *k);

/* ---- order ---- */

/* Are all sweeps over a group done before the next group's, so that the phase goes through its arrays once? */
bool kn_goes_by_group(const kn_phase *ph);
/* Per phase: does its first sweep walk backwards, from where an earlier phase has read the same array last? */
const bool *kn_walks_backwards(const kn_kernel *k);

/* ---- policies ---- */

/* The eviction policy by which a launch reads elements; 0: its kernel reads none by a policy. */
int64_t kn_cache_policy(const kn_kernel *k, const kn_target *target);
/* Does a kernel whose policy is known stream through L2, at the rate kn_machine.stream? It reads all once, and either
 * evicts it last, or writes nothing and reads so much that writing back what others left in L2 does not count. */
bool kn_streams_through(const kn_kernel *k);

#endif
