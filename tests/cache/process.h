/* For tests of what a process of its own does: it tells its parent by memory that they share.
 *
 *     pid_t pid = begin_process();
 *     if (pid == 0) {
 *         ...
 *         _exit(0);
 *     }
 *     end_process(pid); */
#ifndef KN_TESTS_CACHE_PROCESS_H
#define KN_TESTS_CACHE_PROCESS_H

#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/cache/cache.h"

static inline void *shared_memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

static inline pid_t begin_process(void)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    return pid;
}

/* Its exit status must be 0. */
static inline void end_process(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Is a file whose name has this part mapped in this process? */
static inline bool is_mapped(const char *part)
{
    char line[1000];
    bool found = false;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && !found && fgets(line, sizeof line, f))
        found = strstr(line, part) != NULL;
    if (f)
        fclose(f);
    return found;
}

/* The entry of the largest file in the directory, in `bytes`. */
static inline kn_entry largest_entry(const char *dir, char *bytes, size_t size)
{
    char command[300], path[300];
    kn_entry entry;
    snprintf(command, sizeof command, "ls -S '%s'/*.kiln1", dir);
    FILE *list = popen(command, "r");
    assert_non_null(list);
    assert_int_equal(fscanf(list, "%299s", path), 1);
    pclose(list);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, size, f);
    fclose(f);
    assert_true(kn_entry_read(bytes, n, &entry));
    return entry;
}

#endif
