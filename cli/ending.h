/* Signals that end the command leave no half-written file behind. */
#ifndef KN_CLI_ENDING_H
#define KN_CLI_ENDING_H

/* From now on; signals that the caller ignores stay ignored. */
void kn_ending_watch(void);
/* What is to be done first, in the handler; NULL: nothing. */
void kn_ending_first(void (*clean)(void));

#endif
