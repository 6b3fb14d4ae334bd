/* What `kiln bench` measured, as a drawing. */
#ifndef KN_CLI_CHART_H
#define KN_CLI_CHART_H

#include "cli/error.h"

/* Writes an SVG to `path`: device time, host time and bytes of both, a bar each. The names are the program's and the
 * device's. */
typedef struct kn_chart {
    const char *program, *device;
    const kiln_measurement *unfused, *fused;
} kn_chart;
int kn_chart_write(const char *path, const kn_chart *chart, kn_err *e);

#endif
