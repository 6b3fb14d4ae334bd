/* The memory that a device's kernels may use, as far as it is not a launch's own. */
#include <stdlib.h>

#include "runtime/emu/emu.h"

bool kn_emu_remember(kn_emu *dev, kn_emu_allocation what)
{
    pthread_mutex_lock(&dev->lock);
    if (dev->nallocations == dev->cap_allocations) {
        int cap = dev->cap_allocations ? 2 * dev->cap_allocations : 16;
        kn_emu_allocation *grown = realloc(dev->allocations, sizeof *grown * (size_t)cap);
        if (grown) {
            dev->allocations = grown;
            dev->cap_allocations = cap;
        }
    }
    bool room = dev->nallocations < dev->cap_allocations;
    if (room)
        dev->allocations[dev->nallocations++] = what;
    pthread_mutex_unlock(&dev->lock);
    return room;
}

void kn_emu_forget(kn_emu *dev, const void *low)
{
    pthread_mutex_lock(&dev->lock);
    for (int i = 0; i < dev->nallocations; i++)
        if (dev->allocations[i].low == low) {
            dev->allocations[i] = dev->allocations[--dev->nallocations];
            break;
        }
    pthread_mutex_unlock(&dev->lock);
}
