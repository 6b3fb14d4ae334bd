/* Any text: the parser takes it or refuses it with a message and a place; what it takes is well formed, and stays so
 * through the graph passes. libFuzzer's entry point; replay.c calls it for files. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/parse/parse.h"
#include "ir/pass/pass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", what, kn_last_error());
    abort();
}

typedef struct input {
    kn_arena *arena;
    const char *text;
} input;

static kn_status parse(void *user)
{
    const input *in = user;
    kn_graph *g = kn_graph_new(in->arena, "fuzz");
    kn_clear_error();
    if (kn_parse(g, in->text, "fuzz") != KN_OK) {
        must(kn_last_status() != KN_INTERNAL, "an internal error");
        must(*kn_last_error(), "no message");
        return KN_OK;
    }
    must(kn_graph_verify(g) == KN_OK, "not well formed");
    must(kn_graph_optimise(in->arena, g, false, NULL) || kn_last_status() != KN_INTERNAL,
         "broken by a pass");
    return KN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kn_arena arena;
    kn_arena_init(&arena, NULL);
    char *text = malloc(size + 1); /* of its own, so that reading past its end is seen */
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    input in = {&arena, text};
    kn_protect(&arena, parse, &in);
    free(text);
    kn_arena_finish(&arena);
    return 0;
}
