/* Which C++ compiler the emulator uses. */
#include "base/env.h"
#include "runtime/emu/emu.h"

static bool answers(kn_emu *dev, const char *program)
{
    return kn_host_answers(&dev->base, &dev->compiler.host, program, NULL);
}

kn_status kn_emu_find_compiler(kn_emu *dev)
{
    const char *given = kn_env("KILN_CXX");
    if (dev->compiler.host.program[0])
        return KN_OK;
    if (given)
        return answers(dev, given)
                   ? KN_OK
                   : kn_fail(KN_DEVICE,
                             "the device \"emu\" needs a C++ compiler, and KILN_CXX is "
                             "'%.300s', which cannot be run",
                             given);
    if (answers(dev, kn_env("CXX")) || answers(dev, "g++") || answers(dev, "clang++") ||
        answers(dev, "c++"))
        return KN_OK;
    return kn_fail(
        KN_DEVICE,
        "the device \"emu\" needs a C++ compiler, and there is no g++ or clang++; install "
        "one (apt install g++) or name one in KILN_CXX");
}
