#include "runtime/launch.h"

kn_status kn_launch_make(kn_arena *a, kn_device *dev, const kn_kernel *kernel, kn_code *code,
                         kn_launch *out)
{
    *out = (kn_launch){.kernel = kernel, .code = code};
    if (dev->ops->bind)
        KN_TRY(dev->ops->bind(dev, a, out));
    if (!dev->ops->runs_source)
        return KN_OK;
    dev->ops->grid(dev, code, kernel, &out->grid);
    return kn_params_make(a, kernel, &out->params);
}
