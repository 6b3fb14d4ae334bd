#include "runtime/cuda/doctor.h"

#include "codegen/model/machine.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/nvrtc.h"

static void put_gpu(kn_text *t, const kn_driver *d, int ordinal, bool have_compiler)
{
    int device, major, minor, units;
    size_t bytes;
    char name[128] = "";
    kn_putf(t, "GPU %-6d", ordinal);
    if (d->cuDeviceGet(&device, ordinal) != KN_CU_SUCCESS ||
        d->cuDeviceGetName(name, sizeof name, device) != KN_CU_SUCCESS ||
        d->cuDeviceGetAttribute(&major, KN_CU_DEV_SM_MAJOR, device) != KN_CU_SUCCESS ||
        d->cuDeviceGetAttribute(&minor, KN_CU_DEV_SM_MINOR, device) != KN_CU_SUCCESS ||
        d->cuDeviceGetAttribute(&units, KN_CU_DEV_MULTIPROCESSORS, device) != KN_CU_SUCCESS ||
        d->cuDeviceTotalMem_v2(&bytes, device) != KN_CU_SUCCESS) {
        kn_put(t, "the driver does not say what it is\n");
        return;
    }
    kn_putf(t, "%s: sm_%d, %d multiprocessors, %.1f GiB of memory\n", name, major * 10 + minor,
            units, (double)bytes / (1024.0 * 1024.0 * 1024.0));
    kn_machine fitted;
    if (!kn_machine_named(name, &fitted))
        kn_put(
            t,
            "          times are predicted from measurements, made when it is first used with a disk cache\n");
    if (have_compiler && !kn_nvrtc_supports(major * 10 + minor))
        kn_putf(t,
                "          this NVRTC cannot compile for sm_%d: install a version that can and set "
                "KILN_NVRTC to its path\n",
                major * 10 + minor);
}

void kn_cuda_doctor(kn_text *t)
{
    const kn_driver *d = NULL;
    int count = 0;
    bool have_driver = kn_driver_find(&d) == KN_OK;
    if (have_driver && d->version)
        kn_putf(t, "driver    %s, for CUDA up to %d.%d\n", d->path, d->version / 1000,
                d->version % 1000 / 10);
    else if (have_driver)
        kn_putf(t, "driver    %s, which does not tell its version\n", d->path);
    else
        kn_putf(t, "driver    %s\n", kn_last_error());

    bool have_compiler = kn_nvrtc_find() == KN_OK;
    if (have_compiler)
        kn_putf(t, "NVRTC     %s (%s)\n", kn_nvrtc_build(), kn_nvrtc_path());
    else
        kn_putf(t, "NVRTC     %s\n", kn_last_error());

    if (!have_driver)
        kn_put(t, "GPU       none can be seen without a driver\n");
    else if (kn_driver_init(&d, &count) != KN_OK)
        kn_putf(t, "GPU       %s\n", kn_last_error());
    for (int i = 0; i < count; i++)
        put_gpu(t, d, i, have_compiler);
}
