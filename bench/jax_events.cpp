// Device events within a program of JAX's: XLA calls record() when it comes to that place, with the stream on which the
// program runs. jax_events.py compiles this file with the headers that jaxlib brings.
#include "xla/ffi/api/ffi.h"

#include <cmath>
#include <cstdint>

extern "C" { // the CUDA driver's, which has no header where there is no toolkit
int cuCtxGetCurrent(void **context);
int cuCtxSetCurrent(void *context);
int cuCtxGetDevice(int *device);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventSynchronize(void *event);
int cuEventElapsedTime(float *milliseconds, void *start, void *end);
}

namespace ffi = xla::ffi;

enum { MOST_DEVICES = 16 };

// A program of several devices runs on each in a thread of its own.
static struct {
    void *context, *events[2];
} devices[MOST_DEVICES];

// The values are there only so that the event is behind what computes them, and what hangs on the result behind it.
static ffi::Error record(void *stream, int64_t place, ffi::RemainingArgs, ffi::RemainingRets)
{
    int number = 0;
    if (cuCtxGetDevice(&number) || number >= MOST_DEVICES)
        return ffi::Error::Internal("no device");
    auto &on = devices[number];
    if (!on.events[place] && (cuCtxGetCurrent(&on.context) || cuEventCreate(&on.events[place], 0)))
        return ffi::Error::Internal("no event");
    return cuEventRecord(on.events[place], stream) ? ffi::Error::Internal("no event recorded")
                                                   : ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(record_event, record,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<void *>>()
                                  .Attr<int64_t>("place")
                                  .RemainingArgs()
                                  .RemainingRets());

// Milliseconds from place 0 to place 1 on a device, NaN if the driver cannot say.
extern "C" float elapsed(int number)
{
    float milliseconds;
    if (number < 0 || number >= MOST_DEVICES)
        return NAN;
    auto &on = devices[number];
    bool failed = cuCtxSetCurrent(on.context) || cuEventSynchronize(on.events[1]) ||
                  cuEventElapsedTime(&milliseconds, on.events[0], on.events[1]);
    return failed ? NAN : milliseconds;
}
