/* What is being done, where somebody watches: from the third second on, a line on a terminal's standard error says what
 * and for how long. It is gone when that ends. Nothing is written where standard error is no terminal. */
#ifndef KN_CLI_PROGRESS_H
#define KN_CLI_PROGRESS_H

/* From now on `what`, of which the text is kept; NULL: nothing, as before anything else is printed. */
void kn_progress(const char *what);

#endif
