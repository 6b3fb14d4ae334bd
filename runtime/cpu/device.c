/* The CPU as a device: host memory, and kernels run by the interpreter in exec.c or, once they are compiled, as machine
 * code (native.h). A launch is done when it returns, so there are no streams and nothing to wait for. */
#include "runtime/device/device.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/aligned.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/thread.h"
#include "runtime/cpu/cc.h"
#include "runtime/cpu/exec.h"
#include "runtime/device/hosted.h"

typedef struct cpu_device {
    kn_device base;
    kn_allocator from;
    kn_target target;
    kn_cpu_machine machine;
    const kn_loops *loops;
} cpu_device;

static cpu_device *of(kn_device *dev) { return (cpu_device *)dev; }

void kn_cpu_doctor(kn_text *t)
{
    const kn_loops *loops = kn_loops_choose();
    kn_putf(t, "cpu       %d threads, %s loops, functions of floats by %s\n", kn_cores(),
            loops->isa, loops->maths ? loops->maths->name : "the C library, one at a time");
    kn_cc cc;
    kn_cc_init(&cc, NULL, &kn_malloc_allocator);
    kn_status status = kn_cc_find(&cc);
    kn_putf(t, "          %s%.*s\n", status == KN_OK ? "compiles with " : "interprets: ",
            status == KN_OK ? (int)strcspn(cc.host.version, "\n") : 200,
            status == KN_OK ? cc.host.version : kn_last_error());
    kn_cc_finish(&cc);
}

static kn_status cpu_open(const kn_device_config *config, kn_device **out)
{
    kn_allocator from = config->from.alloc ? config->from : kn_malloc_allocator;
    int threads = config->threads > 0 ? config->threads : kn_cores();
    kn_native_when when;
    KN_TRY(kn_native_read(config->compile ? config->compile : kn_env("KILN_CPU_COMPILE"), &when));
    cpu_device *dev = from.alloc(from.user, sizeof *dev);
    if (!dev)
        return kn_fail(KN_MEMORY, "out of memory: CPU device");
    *dev = (cpu_device){.base = {.ops = &kn_cpu_device, .disk = config->disk},
                        .from = from,
                        .loops = kn_loops_choose(),
                        .target = {.kind = "cpu",
                                   .units = threads,
                                   .max_block = 1024,
                                   .max_threads_unit = 1,
                                   .cooperative = true}};
    dev->machine.stream = config->stream > 0 ? config->stream : KN_STREAM_BYTES;
    kn_status status = kn_pool_open(&dev->from, threads, &dev->machine.pool);
    if (status == KN_OK)
        status = kn_native_open(&dev->base, when, dev->loops, &dev->from, &dev->machine.native);
    if (status != KN_OK) {
        kn_pool_close(dev->machine.pool);
        from.release(from.user, dev);
        return status;
    }
    *out = &dev->base;
    return KN_OK;
}

static void cpu_close(kn_device *dev)
{
    if (!dev)
        return;
    kn_allocator from = of(dev)->from;
    kn_native_close(of(dev)->machine.native);
    kn_pool_close(of(dev)->machine.pool);
    from.release(from.user, dev);
}

static const kn_target *cpu_target(const kn_device *dev)
{
    return &((const cpu_device *)dev)->target;
}

static kn_status cpu_alloc(kn_device *dev, size_t bytes, void **ptr)
{
    *ptr = kn_aligned_alloc(&of(dev)->from, bytes);
    return *ptr ? KN_OK : kn_fail(KN_MEMORY, "out of memory: %zu bytes", bytes);
}

static void cpu_release(kn_device *dev, void *ptr) { kn_aligned_free(&of(dev)->from, ptr); }

/* For what the numbers that phases have now say. */
static kn_status prepare_native(cpu_device *dev, const kn_kernel *kernel, kn_cpu_code *code)
{
    const size_t size = sizeof(kn_c_case) * ((size_t)kernel->phases.len + 1);
    kn_c_case *cases = dev->from.alloc(dev->from.user, size);
    if (!cases)
        return kn_fail(KN_MEMORY, "out of memory: kernel %s", kernel->name);
    for (int i = 0; i < kernel->phases.len; i++)
        cases[i] = kn_cpu_case(&dev->machine, &code->plan->phases[i], &kernel->phases.data[i]);
    kn_status status = kn_native_prepare(dev->machine.native, kernel, cases, &code->native);
    dev->from.release(dev->from.user, cases);
    return status;
}

static kn_status cpu_prepare(kn_device *base, const kn_kernel *kernel, kn_code **out)
{
    uint64_t start = kn_clock_ns();
    cpu_device *dev = of(base);
    kn_cpu_code *code = dev->from.alloc(dev->from.user, sizeof *code);
    if (!code)
        return kn_fail(KN_MEMORY, "out of memory: kernel %s", kernel->name);
    *code = (kn_cpu_code){0};
    kn_status status = kn_cpu_plan_make(kernel, dev->loops, &dev->from, &code->plan);
    if (status == KN_OK)
        status = prepare_native(dev, kernel, code);
    if (status != KN_OK) {
        kn_cpu_plan_free(code->plan);
        dev->from.release(dev->from.user, code);
        return status;
    }
    *out = (kn_code *)code;
    __atomic_fetch_add(&base->compiles, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&base->compile_ns, kn_clock_ns() - start, __ATOMIC_RELAXED);
    return KN_OK;
}

static void cpu_discard(kn_device *base, kn_code *made)
{
    cpu_device *dev = of(base);
    kn_cpu_code *code = (kn_cpu_code *)made;
    kn_native_discard(dev->machine.native, code->native);
    kn_cpu_plan_free(code->plan);
    dev->from.release(dev->from.user, code);
}

static kn_status cpu_bind(kn_device *dev, kn_arena *a, kn_launch *launch)
{
    const kn_cpu_bound *bound;
    KN_TRY(kn_cpu_bind(a, &of(dev)->machine, (const kn_cpu_code *)launch->code, launch->kernel,
                       &bound));
    launch->bound = bound;
    return KN_OK;
}

static kn_status cpu_launch(kn_device *dev, const kn_launch *launch, const kn_call *call,
                            void *stream)
{
    (void)stream;
    __atomic_fetch_add(&dev->launches, 1, __ATOMIC_RELAXED);
    return kn_cpu_run(&of(dev)->machine, (const kn_cpu_code *)launch->code, launch->kernel,
                      launch->bound, call);
}

/* The first line of /proc/cpuinfo that names the processor, or "". */
static void read_model(char *text, size_t size)
{
    text[0] = '\0';
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(text, (int)size, f) && strncmp(text, "model name", 10) != 0)
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (f)
        fclose(f);
}

static kn_status cpu_identify(kn_device *dev, kn_text *t)
{
    const cpu_device *d = of(dev);
    char model[256];
    struct utsname system;
    read_model(model, sizeof model);
    if (uname(&system) != 0)
        system.machine[0] = '\0';
    kn_putf(t, "%s, %s, %d threads, %s loops, %s\n", system.machine, model, d->target.units,
            d->loops->isa, d->loops->maths ? d->loops->maths->name : "no vector functions");
    return KN_OK;
}

const kn_device_ops kn_cpu_device = {
    .kind = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .target = cpu_target,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .upload = kn_hosted_move,
    .download = kn_hosted_move,
    .copy = kn_hosted_copy,
    .zero = kn_hosted_zero,
    .sync = kn_hosted_sync,
    .prepare = cpu_prepare,
    .discard = cpu_discard,
    .bind = cpu_bind,
    .launch = cpu_launch,
    .time = kn_hosted_time,
    .identify = cpu_identify,
};
