/* What a kernel reads once and what it reads again, in which order, and what that is to the caches. */
#ifndef KN_CODEGEN_CACHES_H
#define KN_CODEGEN_CACHES_H

#include "codegen/kir/kir.h"

/* Bytes that a phase loads; INT64_MAX if they are as many or more. */
int64_t kn_phase_bytes_read(kn_arena *a, const kn_phase *phase, const kn_buf *bufs);
/* Loads of buffer `buf` in the whole kernel, a sweep that loads it again being another. */
int kn_times_read(const kn_kernel *k, int buf);
/* Is it a load of which each element is read by one step of one worker? Does the kernel read such elements of some array more
 * than once? */
bool kn_varies_everywhere(const kn_phase *ph, const kn_value *v);
bool kn_reads_again(const kn_kernel *k);
/* Is the buffer only read into places on chip, where later phases find it? */
bool kn_stays_on_chip(const kn_kernel *k, int buf);
bool kn_kernel_stores_elements(const kn_kernel *k);

/* ---- order ---- */

/* Are all sweeps over a group done before the next group's, so that the phase goes through its arrays once? */
bool kn_goes_by_group(const kn_phase *ph);
/* Times that it goes through them, each the other way round. */
int kn_times_through(const kn_phase *ph);
/* The earlier phase that was the last to read elements of an array which phase p reads too; -1: none. */
int kn_read_before(const kn_kernel *k, int p);
/* Does the first sweep of phase p walk backwards, from where an earlier phase has read the same array last? */
bool kn_walks_backwards(const kn_kernel *k, int p);

/* ---- policies ---- */

/* By which policy a launch reads the elements that are loaded, or copied, by policy; 0: its kernel has none of them. */
int64_t kn_cache_policy(const kn_kernel *k);
/* Does a kernel whose policy is known read all once, and the L2 cache let it pass: what it reads leaves that last, or is so
 * much, and nothing written, that what others left there to be written back does not count? */
bool kn_streams_through(const kn_kernel *k);

#endif
