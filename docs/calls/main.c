/* Runs every example. usage: calls [NAME] */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "docs/calls/calls.h"

/* For an application that a signal ends: what the emulator has in the temporary folder goes. */
static void ended(int signal)
{
    kiln_remove_temporary_files();
    _exit(128 + signal);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(kiln_ctx *ctx);
    } all[] = {
#define EXAMPLE(name) {#name, name},
#include "docs/calls/calls.def"
#undef EXAMPLE
    };
    kiln_config config;
    kiln_ctx *ctx;
    signal(SIGTERM, ended);
    kiln_config_init(&config);
    config.device = "cpu";
    config.threads = 1;
    config.cache_dir = "";
    check(kiln_ctx_create(&config, &ctx));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (argc < 2 || strcmp(argv[1], all[i].name) == 0) {
            printf("== %s\n", all[i].name);
            all[i].run(ctx);
        }
    kiln_ctx_destroy(ctx);
    return 0;
}
