/* kiln for Python, in C: what its files share. Each uses those above it.
 *
 *     errors.c     statuses of kiln's as exceptions
 *     tensor.c     an object's memory; a number
 *     owned.c      tensors whose memory is kiln's
 *     halve.c      one of two programs that another is divided into
 *     program.c    a program, compiled for each device that it is called on
 *     call.c       a call: arguments, outputs, the run
 *     look.c       what a program says of itself
 *     module.c     the module
 *
 * Everything is Python's limited API of 3.10, so one build serves all later versions. Functions that return a pointer or
 * a bool have set a Python exception when that is NULL or false. */
#ifndef KN_PYTHON_EXT_H
#define KN_PYTHON_EXT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "frontend/kiln_dlpack.h"
#include "frontend/python/ext/exchange.h"

enum { KN_PY_MOST_IO = 64 }; /* parameters and outputs of a program */

/* ---- errors.c ---- */

/* Raises the exception of a status, with kiln's message. False where there is a failure. */
bool kn_py_good(kiln_status status);
/* Whether work(user) is done without one, while other threads of Python may run. */
bool kn_py_unlocked(kiln_status (*work)(void *user), void *user);

/* ---- tensor.c ---- */

/* The functions of the object's type, or NULL. */
const kn_exchange *kn_py_exchange(PyObject *object);
/* What the object is, in *out, for use in *stream (NULL: in its library's own). *held: what must be kept until the tensor
 * is used no more, or NULL. */
bool kn_py_tensor(PyObject *object, void *const *stream, struct DLManagedTensorVersioned *out,
                  PyObject **held);
/* The number, as the dtype has it, in the 16 bytes at `to`. */
bool kn_py_number(PyObject *object, const kiln_io *io, void *to);
/* A function of the module kiln._frameworks. */
PyObject *kn_py_framework(const char *function);

/* ---- owned.c ---- */

/* The type of tensors that kiln has made; new references. */
PyObject *kn_py_owned_type(void);
PyObject *kn_py_owned(struct DLManagedTensorVersioned *tensor);
bool kn_py_is_owned(PyObject *object);

/* ---- program.c ---- */

typedef struct kn_py_context {
    PyObject_HEAD kiln_ctx *ctx;
} kn_py_context;

typedef struct kn_py_output {
    kiln_dtype dtype;
    int rank;
    int64_t shape[KILN_MAX_RANK];
} kn_py_output;

/* A program on one device. */
typedef struct kn_py_instance {
    struct kn_py_instance *next;
    int32_t device_type, device; /* of the tensors that it takes */
    PyObject *context;
    kiln_prog *prog;
    int nin, nout;                  /* inputs, and outputs that are none */
    kiln_io io[KN_PY_MOST_IO];      /* inputs first */
    PyObject *names[KN_PY_MOST_IO]; /* of inputs */
    /* The shapes of the last inputs, and what outputs they gave. */
    int nkey;
    int64_t *key;
    kn_py_output *outputs;
} kn_py_instance;

typedef struct kn_py_program {
    PyObject_HEAD PyObject *text, *file, *name, *options;
    PyObject *halves; /* a tuple of what kn_py_halve() takes, one after the other */
    bool one_device;  /* whatever tensors are on */
    kn_py_instance *instances;
} kn_py_program;

PyObject *kn_py_context_type(void);
PyObject *kn_py_program_type(void);
/* The instance for tensors on a device, compiled if there is none yet. */
kn_py_instance *kn_py_instance_for(kn_py_program *p, int32_t device_type, int32_t device);

/* ---- halve.c ---- */

/* Puts one of two graphs in the place of *graph, which kiln_split() divides. half: (which, late, save, arch, [(name,
 * dtype, shape), ...]). */
bool kn_py_halve(PyObject *half, kiln_graph **graph);

/* ---- call.c ---- */

PyObject *kn_py_call(PyObject *self, PyObject *args, PyObject *kwargs);
/* prepare(*args, **kwargs), _measure(*args, **kwargs) */
PyObject *kn_py_prepare(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *kn_py_measure(PyObject *self, PyObject *args, PyObject *kwargs);

/* ---- look.c ---- */

/* The attribute `name`. */
PyObject *kn_py_name(PyObject *self, void *unused);
/* _explain([(name, shape), ...], stage, arch, verbose) */
PyObject *kn_py_explain(PyObject *self, PyObject *args);
/* [(kind, name, dtype, dims), ...] */
PyObject *kn_py_io(PyObject *self, PyObject *unused);

#endif
