/* A bar chart as an SVG file. */
#ifndef EXAMPLES_REDUCTION_LADDER_CHART_H
#define EXAMPLES_REDUCTION_LADDER_CHART_H

#include <stdbool.h>

typedef struct bar {
    const char *name, *what;
    double ms;        /* the bar's length; 0: none was measured */
    const char *note; /* behind the bar instead of the time; NULL: the time */
} bar;

/* Writes `bars`, from above to below, the last one in another colour. False, with errno, when the file
 * could not be written. */
bool chart_write(const char *path, const char *title, const bar *bars, int nbars);

#endif
