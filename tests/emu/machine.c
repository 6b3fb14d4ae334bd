#include "tests/emu/machine.h"

#include <string.h>

#include "tests/files.h"

const kn_device_ops *const emu = &kn_emu_device;

machine open_machine(const char *options, const char *file)
{
    char path[100];
    snprintf(path, sizeof path, "tests/emu/%s", file);
    machine m = {.text = read_file(path, NULL)};
    kn_device_config config = {.emulator = options};
    if (emu->open(&config, &m.dev) != KN_OK)
        fail_msg("%s", kn_last_error());
    return m;
}

void close_machine(machine *m)
{
    emu->close(m->dev);
    free(m->text);
}

kn_code *load(machine *m, const char *entry)
{
    kn_code *code = NULL;
    if (emu->load(m->dev, entry, m->text, &code) != KN_OK)
        fail_msg("%s", kn_last_error());
    return code;
}

kn_grid shape(unsigned blocks, unsigned threads)
{
    return (kn_grid){.grid = {blocks, 1, 1}, .block = {threads, 1, 1}};
}

void *take(machine *m, size_t bytes, int fill)
{
    void *p;
    assert_int_equal(emu->alloc(m->dev, bytes, &p), KN_OK);
    memset(p, fill, bytes);
    return p;
}

kn_status run(machine *m, kn_code *code, kn_grid g, int n, void *const *params)
{
    return emu->start(m->dev, code, &g, params, n, NULL);
}

void good(kn_status status)
{
    if (status != KN_OK)
        fail_msg("%s", kn_last_error());
}

int line_of(const char *text, const char *mark)
{
    char wanted[100];
    snprintf(wanted, sizeof wanted, "// %s\n", mark);
    const char *at = strstr(text, wanted);
    if (!at)
        fail_msg("no line is marked '%s'", mark);
    int line = 1;
    for (const char *s = text; s < at; s++)
        line += *s == '\n';
    return line;
}

void says(const machine *m, kn_status status, const char *mark, const char *words)
{
    char line[40], quoted[40];
    const char *message = kn_last_error();
    if (status != KN_RUN)
        fail_msg("no error at '%s' (status %d: %s)", mark, (int)status, message);
    snprintf(line, sizeof line, "line %d", line_of(m->text, mark));
    snprintf(quoted, sizeof quoted, " %d | ", line_of(m->text, mark));
    if (!strstr(message, line) && !strstr(message, quoted))
        fail_msg("'%s' does not name %s", message, line);
    if (!strstr(message, words))
        fail_msg("'%s' does not say '%s'", message, words);
}
