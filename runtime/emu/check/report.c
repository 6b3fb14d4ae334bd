/* A launch's fault as a message: which kernel, block and thread, which line, and what the line says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/emu/check/check.h"

enum { MAX_FRAMES = 6 };

/* Lines of the kernel's text that led to `pc`, innermost first: functions are inlined into one another. */
static int find_lines(const kn_code *code, void *pc, int *lines)
{
    char out[4096], address[32];
    if (!pc)
        return 0;
    snprintf(address, sizeof address, "0x%lx",
             (unsigned long)((uintptr_t)pc - (uintptr_t)code->base - 1));
    char *argv[] = {"addr2line", "-i", "-e", (char *)code->path, address, NULL};
    if (kn_host_run(argv, out, sizeof out, NULL) != 0)
        return 0;
    int n = 0;
    char *save;
    for (char *s = strtok_r(out, "\n", &save); s && n < MAX_FRAMES;
         s = strtok_r(NULL, "\n", &save)) {
        /* a text may say with #line that it is another file */
        const char *colon = strrchr(s, ':');
        bool ours = strncmp(s, KN_EMU_FOLDER "/", strlen(KN_EMU_FOLDER "/")) == 0;
        if (colon && atoi(colon + 1) > 0 && (!ours || strstr(s, "/kernel.cu:")))
            lines[n++] = atoi(colon + 1);
    }
    return n;
}

/* "   12 | text of the line\n" */
static size_t quote(const kn_code *code, int line, char *text, size_t size)
{
    const char *s = code->source;
    int first = 1;
    if (strncmp(s, "#line ", 6) == 0) {
        first = atoi(s + 6);
        s = strchr(s, '\n');
        s = s ? s + 1 : NULL;
    }
    for (int i = first; i < line && s; i++) {
        s = strchr(s, '\n');
        s = s ? s + 1 : NULL;
    }
    if (!s || line < first)
        return 0;
    int length = (int)strcspn(s, "\r\n");
    int n = snprintf(text, size, "\n  %5d | %.*s", line, length > 160 ? 160 : length, s);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

kn_status kn_emu_report(const kn_emu_launch *l)
{
    const kn_emu_fault *f = &l->fault;
    const kn_code *code = l->code;
    int lines[MAX_FRAMES + 1], n = find_lines(code, f->site.pc, lines);
    if (!n && f->site.line)
        lines[n++] = f->site.line;
    char who[160] = "", place[40] = "", quoted[1000] = "";
    if (f->has_thread)
        snprintf(who, sizeof who, ", block (%u,%u,%u), thread (%u,%u,%u)", f->block[0], f->block[1],
                 f->block[2], f->thread[0], f->thread[1], f->thread[2]);
    if (n)
        snprintf(place, sizeof place, ", line %d", lines[0]);
    size_t len = 0;
    for (int i = 0; i < n; i++) {
        if (i && lines[i] == lines[i - 1])
            continue;
        len += quote(code, lines[i], quoted + len, sizeof quoted - len);
    }
    return kn_fail(KN_RUN, "kernel '%s'%s%s: %s%s", code->name, place, who, f->text, quoted);
}
