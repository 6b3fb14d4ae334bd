/* What things take on a GPU, for the model of time: as fitted to it, or measured the first time that somebody opens it. */
#ifndef KN_RUNTIME_CUDA_MEASURE_H
#define KN_RUNTIME_CUDA_MEASURE_H

#include "codegen/model/probes.h"
#include "runtime/cuda/cuda_device.h"

/* Sets target.machine of a device that is open: to the coefficients of a GPU of its name (kn_machine_named()), to those
 * that the disk cache has from an earlier process, or measures it, which takes some 0.2 s and 256 MB of its memory, and
 * keeps that. Leaves it NULL where there is no disk cache, or where measuring fails. */
void kn_cuda_learn(kn_cuda *d);
/* What was measured of a GPU of this name, whatever it is: kept in the disk cache, or now, and then kept. DEVICE where
 * there is no disk cache that can be written. */
kn_status kn_cuda_probe_once(const kn_cuda *d, const char *name, kn_probes *probes);
/* Measures it, and keeps nothing. */
kn_status kn_cuda_probe(const kn_cuda *d, kn_probes *probes);

#endif
