/* Mail of emulated devices: ranks are threads of one process, so it is memory that all of them reach. */
#include <string.h>

#include "base/aligned.h"
#include "runtime/device/shared.h"
#include "runtime/emu/emu.h"

struct kn_mail_box {
    kn_shared shared; /* first */
    size_t bytes;
    void *memory;
};

static void release(kn_mail_box *box)
{
    if (!kn_shared_leave(&box->shared))
        return;
    kn_aligned_free(&kn_malloc_allocator, box->memory);
    kn_malloc_allocator.release(NULL, box);
}

static kn_status enter(kn_device *dev, kn_mail_box *box, kn_mail *mail)
{
    if (!kn_emu_remember(kn_emu_of(dev), (kn_emu_allocation){box->memory, box->bytes, true})) {
        release(box);
        return kn_fail(KN_MEMORY, "out of memory: mail of %zu bytes", box->bytes);
    }
    *mail = (kn_mail){box->memory, box->memory, box};
    return KN_OK;
}

static kn_status mail_open(kn_device *dev, size_t bytes, bool on_host, kn_mail *mail)
{
    (void)on_host;
    kn_mail_box *box = kn_malloc_allocator.alloc(NULL, sizeof *box);
    void *memory = kn_aligned_alloc(&kn_malloc_allocator, bytes);
    if (!box || !memory) {
        kn_aligned_free(&kn_malloc_allocator, memory);
        kn_malloc_allocator.release(NULL, box);
        return kn_fail(KN_MEMORY, "out of memory: mail of %zu bytes", bytes);
    }
    memset(memory, 0, bytes);
    *box = (kn_mail_box){.bytes = bytes, .memory = memory};
    kn_shared_begin(&box->shared);
    return enter(dev, box, mail);
}

static kn_status mail_address(kn_device *dev, const kn_mail *mail, kn_mail_address *address)
{
    memcpy(address->device, &dev, sizeof dev);
    address->number = mail->box->shared.number;
    return KN_OK;
}

static kn_status mail_reach(kn_device *dev, const kn_mail_address *address, bool here,
                            kn_mail *mail)
{
    if (!here)
        return kn_fail(KN_DEVICE, "emulated devices of several processes share no memory");
    kn_mail_box *box = (kn_mail_box *)(void *)kn_shared_find(address->number);
    return box ? enter(dev, box, mail) : kn_fail(KN_RUN, "its communicator is closed");
}

static void mail_close(kn_device *dev, kn_mail *mail)
{
    if (!mail->box)
        return;
    kn_emu_forget(kn_emu_of(dev), mail->at);
    release(mail->box);
    *mail = (kn_mail){0};
}

const kn_mail_ops kn_emu_mail = {mail_open, mail_address, mail_reach, mail_close};
