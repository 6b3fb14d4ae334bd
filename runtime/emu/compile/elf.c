/* Reads the thread-local symbols of an object file. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/emu/compile/compile.h"

typedef ElfW(Ehdr) header;
typedef ElfW(Shdr) section;
typedef ElfW(Sym) symbol;

/* The compiler made the file: it is only looked at so far as not to run out of it. */
static kn_status walk(const char *data, size_t size,
                      kn_status (*fn)(void *user, const kn_emu_symbol *symbol), void *user)
{
    const header *h = (const void *)data;
    if (size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
        h->e_shoff + (size_t)h->e_shnum * sizeof(section) > size)
        return kn_fail(KN_COMPILE, "the host compiler's output is no ELF file");
    const section *sections = (const void *)(data + h->e_shoff);
    for (int i = 0; i < h->e_shnum; i++) {
        const section *s = &sections[i];
        if (s->sh_type != SHT_SYMTAB || s->sh_link >= h->e_shnum ||
            s->sh_offset + s->sh_size > size)
            continue;
        const section *strings = &sections[s->sh_link];
        if (strings->sh_offset + strings->sh_size > size)
            continue;
        const symbol *symbols = (const void *)(data + s->sh_offset);
        for (size_t j = 0; j < s->sh_size / sizeof *symbols; j++) {
            const symbol *y = &symbols[j];
            if ((y->st_info & 0xf) != STT_TLS || y->st_name >= strings->sh_size)
                continue;
            kn_emu_symbol found = {.name = data + strings->sh_offset + y->st_name,
                                   .offset = (size_t)y->st_value,
                                   .bytes = (size_t)y->st_size,
                                   .defined = y->st_shndx != SHN_UNDEF};
            KN_TRY(fn(user, &found));
        }
    }
    return KN_OK;
}

kn_status kn_emu_tls_symbols(const char *path,
                             kn_status (*fn)(void *user, const kn_emu_symbol *symbol), void *user)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        if (fd >= 0)
            close(fd);
        return kn_fail(KN_COMPILE, "the host compiler wrote no '%s'", path);
    }
    size_t size = (size_t)st.st_size;
    void *data = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (data == MAP_FAILED)
        return kn_fail(KN_IO, "cannot read '%s'", path);
    kn_status status = walk(data, size, fn, user);
    munmap(data, size);
    return status;
}
