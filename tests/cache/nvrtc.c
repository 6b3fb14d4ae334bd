/* A library that stands for NVRTC in tests of what is remembered of one. BUILD is its build number. */
#include <stdlib.h>
#include <string.h>

#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define EXPORT __attribute__((visibility("default")))

static const char ptx[] = "//\n// Compiler Build ID: CL-" STRING(BUILD) "\n//\n";

EXPORT int nvrtcVersion(int *major, int *minor);
EXPORT const char *nvrtcGetErrorString(int result);
EXPORT int nvrtcCreateProgram(void **program);
EXPORT int nvrtcDestroyProgram(void **program);
EXPORT int nvrtcAddNameExpression(void);
EXPORT int nvrtcGetLoweredName(void *program, const char *expression, const char **symbol);
EXPORT int nvrtcCompileProgram(void);
EXPORT int nvrtcGetProgramLogSize(void *program, size_t *size);
EXPORT int nvrtcGetProgramLog(void *program, char *log);
EXPORT int nvrtcGetPTXSize(void *program, size_t *size);
EXPORT int nvrtcGetPTX(void *program, char *text);
EXPORT int nvrtcGetCUBINSize(void *program, size_t *size);
EXPORT int nvrtcGetCUBIN(void *program, char *data);
EXPORT int nvrtcGetNumSupportedArchs(int *count);
EXPORT int nvrtcGetSupportedArchs(int *archs);

int nvrtcVersion(int *major, int *minor) { return *major = 12, *minor = 3, 0; }
const char *nvrtcGetErrorString(int result) { return result ? "an error" : "no error"; }
int nvrtcCreateProgram(void **program) { return *program = malloc(1), 0; }
int nvrtcDestroyProgram(void **program) { return free(*program), 0; }
int nvrtcAddNameExpression(void) { return 0; }
int nvrtcGetLoweredName(void *program, const char *expression, const char **symbol)
{
    (void)program;
    return *symbol = expression, 0;
}
int nvrtcCompileProgram(void) { return 0; }
int nvrtcGetProgramLogSize(void *program, size_t *size) { return (void)program, *size = 0, 0; }
int nvrtcGetProgramLog(void *program, char *log) { return (void)program, *log = '\0', 0; }
int nvrtcGetPTXSize(void *program, size_t *size) { return (void)program, *size = sizeof ptx, 0; }
int nvrtcGetPTX(void *program, char *text)
{
    return (void)program, memcpy(text, ptx, sizeof ptx), 0;
}
int nvrtcGetCUBINSize(void *program, size_t *size) { return nvrtcGetPTXSize(program, size); }
int nvrtcGetCUBIN(void *program, char *data) { return nvrtcGetPTX(program, data); }
int nvrtcGetNumSupportedArchs(int *count) { return *count = 3, 0; }
int nvrtcGetSupportedArchs(int *archs) { return archs[0] = 80, archs[1] = 90, archs[2] = 120, 0; }
