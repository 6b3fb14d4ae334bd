/* The functions that a module calls, on the fibre of the thread whose code it is: kn_emu_here says which. */
#ifndef KN_RUNTIME_EMU_EXEC_CALLS_H
#define KN_RUNTIME_EMU_EXEC_CALLS_H

#include "runtime/emu/state.h"

/* All of them. */
extern const kn_emu_calls_table kn_emu_calls_of_runtime;
kn_emu_word kn_emu_call_warp(int op, unsigned mask, kn_emu_word value, kn_emu_shuffle lanes,
                             kn_emu_site site);
int kn_emu_call_barrier(int kind, int predicate, kn_emu_site site);
void kn_emu_call_cluster_arrive(int relaxed, kn_emu_site site);
kn_emu_word kn_emu_call_atomic(int op, int type, void *p, kn_emu_word value, kn_emu_word compare,
                               kn_emu_site site);
void kn_emu_call_copy_async(kn_emu_transfer what, unsigned alignment, kn_emu_site site);
void kn_emu_call_copy_commit(int kind);
void kn_emu_call_copy_wait(int kind, unsigned newest, kn_emu_site site);
void kn_emu_call_bulk(int kind, kn_emu_transfer what, void *barrier, unsigned mask,
                      kn_emu_site site);
kn_emu_word kn_emu_call_mbarrier(int op, void *p, kn_emu_word a, unsigned bytes, kn_emu_site site);
void kn_emu_call_proxy_fence(void);

#endif
