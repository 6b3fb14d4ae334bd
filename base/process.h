/* Which process this is. fork() copies memory, but neither threads nor what the kernel or a GPU's driver keeps: what
 * was made in one process can be told apart from what was made in this one. */
#ifndef KN_BASE_PROCESS_H
#define KN_BASE_PROCESS_H

/* A number that is another one in the child of a fork(), and stays the same as long as the process lives. Cheap. */
unsigned kn_process(void);

#endif
