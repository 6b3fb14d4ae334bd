/* The fuzz target without a fuzzer: once for each file named. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 21 };

int main(int argc, char **argv)
{
    uint8_t *data = malloc(MOST);
    for (int i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        if (!f || !data) {
            perror(argv[i]);
            return 1;
        }
        size_t size = fread(data, 1, MOST, f);
        fclose(f);
        LLVMFuzzerTestOneInput(data, size);
    }
    free(data);
    return argc < 2;
}
