/* One line about an array: type, minimum, mean, maximum, and its elements where they are few. */
#ifndef KN_CLI_SUMMARY_H
#define KN_CLI_SUMMARY_H

#include <stdio.h>

#include "cli/array.h"

/*     y  f32[8, 64, 56, 56]  min=-4.5 mean=0.01 max=4.7
 *     m  f32[3]  min=1 mean=2 max=3  [1, 2, 3]
 * A NaN among the elements makes all three nan. `a` is compact. */
void kn_summary(FILE *f, const char *name, const kn_cli_array *a);

#endif
