/* Identifies the process. fork() copies memory, but neither threads nor what the kernel or a GPU's driver keeps, so an
 * object must know whether it was made in this process. */
#ifndef KN_BASE_PROCESS_H
#define KN_BASE_PROCESS_H

/* A number that is another one in the child of a fork(), and stays the same as long as the process lives. Cheap. */
unsigned kn_process(void);

#endif
