/* A call: arguments by position and by name, outputs of the kind that the first array is, on the caller's stream. */
#include "frontend/python/ext/ext.h"

#include <string.h>

typedef enum purpose { TO_RUN, TO_PREPARE, TO_MEASURE } purpose;

typedef struct call {
    kn_py_program *program;
    kn_py_instance *in;
    PyObject *given[KN_PY_MOST_IO]; /* by input, borrowed; NULL: its default */
    PyObject *out;                  /* out=, borrowed, or NULL */
    PyObject *like;                 /* the first array, borrowed */
    const kn_exchange *api;         /* of its type, or NULL */
    bool has_stream;
    void *stream;
    bool waits; /* for the results, as their framework knows no stream of ours */
    struct DLManagedTensorVersioned tensors[KN_PY_MOST_IO]; /* inputs, then outputs */
    _Alignas(16) char numbers[KN_PY_MOST_IO][16];
    kiln_arg args[KN_PY_MOST_IO];
    int nargs;
    PyObject *held[KN_PY_MOST_IO + 1]; /* what the tensors need */
    int nheld;
    /* outputs that are made here, by output: one of them */
    struct DLManagedTensorVersioned *made[KN_PY_MOST_IO];
    PyObject *objects[KN_PY_MOST_IO];
    int nmade;
    kn_py_output outputs[KN_PY_MOST_IO]; /* types and shapes of those that are not given */
    union {
        kiln_prepared prepared;
        kiln_measurement measured;
    } found;
} call;

/* ---- arguments ---- */

static int find_name(const kn_py_instance *in, PyObject *name)
{
    for (int i = 0; i < in->nin; i++)
        if (in->names[i] == name)
            return i;
    for (int i = 0; i < in->nin; i++) /* names are mostly interned */
        if (PyUnicode_Compare(in->names[i], name) == 0)
            return i;
    return -1;
}

static bool take_keyword(call *c, PyObject *name, PyObject *value)
{
    int i = find_name(c->in, name);
    if (i >= 0) {
        if (!c->given[i]) {
            c->given[i] = value;
            return true;
        }
        PyErr_Format(PyExc_TypeError, "%s: argument '%U' is given twice",
                     kiln_prog_name(c->in->prog), name);
        return false;
    }
    if (PyUnicode_CompareWithASCIIString(name, "out") == 0) {
        c->out = value == Py_None ? NULL : value;
        return true;
    }
    if (PyUnicode_CompareWithASCIIString(name, "stream") == 0) {
        c->has_stream = value != Py_None;
        c->stream = c->has_stream ? PyLong_AsVoidPtr(value) : NULL;
        return !PyErr_Occurred();
    }
    PyErr_Format(PyExc_TypeError, "%s has no parameter '%U'", kiln_prog_name(c->in->prog), name);
    return false;
}

static bool take_arguments(call *c, PyObject *args, PyObject *kwargs)
{
    const kn_py_instance *in = c->in;
    Py_ssize_t n = PyTuple_Size(args);
    if (n > in->nin) {
        PyErr_Format(PyExc_TypeError, "%s takes %d arguments, %d were given",
                     kiln_prog_name(in->prog), in->nin, (int)n);
        return false;
    }
    for (int i = 0; i < in->nin; i++)
        c->given[i] = i < n ? PyTuple_GetItem(args, i) : NULL;
    PyObject *name, *value;
    for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &name, &value);)
        if (!take_keyword(c, name, value))
            return false;
    for (int i = 0; i < in->nin; i++)
        if (!c->given[i] && !in->io[i].has_default) {
            PyErr_Format(PyExc_TypeError, "%s: argument '%s' is missing", kiln_prog_name(in->prog),
                         in->io[i].name);
            return false;
        }
    return true;
}

/* The memory of an object, kept as long as the call. */
static bool take_tensor(call *c, PyObject *object, struct DLManagedTensorVersioned *t)
{
    PyObject *held;
    if (!kn_py_tensor(object, c->has_stream ? &c->stream : NULL, t, &held))
        return false;
    if (held)
        c->held[c->nheld++] = held;
    return true;
}

/* The instance for the device of the first array; numbers alone are the CPU's. */
static bool choose_instance(call *c)
{
    const kn_py_instance *first = c->in;
    for (int i = 0; i < first->nin; i++)
        if (first->io[i].kind != KILN_SCALAR_IN && !take_tensor(c, c->given[i], &c->tensors[i]))
            return false;
    int a = 0;
    while (a < first->nin && first->io[a].kind == KILN_SCALAR_IN)
        a++;
    if (a == first->nin)
        return true;
    c->like = c->given[a];
    c->api = kn_py_exchange(c->like);
    c->in = kn_py_instance_for(c->program, c->tensors[a].tensor.device.type,
                               c->tensors[a].tensor.device.id);
    return c->in != NULL;
}

static bool bind_inputs(call *c)
{
    const kn_py_instance *in = c->in;
    for (int i = 0; i < in->nin; i++) {
        const kiln_io *io = &in->io[i];
        kiln_arg *arg = &c->args[c->nargs];
        if (!c->given[i])
            continue;
        c->nargs++;
        if (io->kind != KILN_SCALAR_IN) {
            if (!kn_py_good(
                    kiln_arg_from_dlpack_versioned(in->prog, io->name, &c->tensors[i], arg)))
                return false;
            continue;
        }
        if (!kn_py_number(c->given[i], io, c->numbers[i]))
            return false;
        *arg = (kiln_arg){io->name, c->numbers[i], io->dtype, 0, NULL, NULL};
    }
    return true;
}

/* ---- outputs ---- */

/* What inputs the shapes of outputs follow from, as numbers; how many. */
static int put_key(const call *c, int64_t *key)
{
    int n = 0;
    for (int i = 0; i < c->nargs; i++) {
        key[n++] = c->args[i].rank;
        for (int j = 0; j < c->args[i].rank; j++)
            key[n++] = c->args[i].shape[j];
    }
    return n;
}

/* Leaves the shapes for these inputs in the instance, where those of the last call are found again. */
static bool update_shapes(call *c)
{
    kn_py_instance *in = c->in;
    int64_t key[KN_PY_MOST_IO * (1 + KILN_MAX_RANK)];
    int n = put_key(c, key);
    if (n == in->nkey && memcmp(key, in->key, sizeof *key * (size_t)n) == 0)
        return true;
    in->nkey = -1;
    for (int o = 0; o < in->nout; o++) {
        kn_py_output *out = &in->outputs[o];
        if (!kn_py_good(kiln_output_shape(in->prog, in->io[in->nin + o].name, c->args, c->nargs,
                                          &out->dtype, &out->rank, out->shape)))
            return false;
    }
    in->nkey = n;
    memcpy(in->key, key, sizeof *key * (size_t)n);
    return true;
}

/* Fills in c->outputs: making an output runs Python, and with it calls that change the shapes of the instance. */
static bool find_shapes(call *c)
{
    if (!update_shapes(c))
        return false;
    memcpy(c->outputs, c->in->outputs, sizeof *c->outputs * (size_t)c->in->nout);
    return true;
}

static void raise(void *user, const char *kind, const char *message)
{
    (void)user;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_RuntimeError, "%s: %s", kind, message);
}

/* By the functions of the first array's type. */
static bool make_by_api(call *c, kn_py_output *out, struct DLManagedTensorVersioned **made)
{
    kn_dl_tensor like = {.device = {c->in->device_type, c->in->device},
                         .rank = out->rank,
                         .type = kn_dl_type_of(out->dtype),
                         .shape = out->shape};
    return c->api->make(&like, made, NULL, raise) == 0;
}

static PyObject *shape_tuple(const kn_py_output *out)
{
    PyObject *shape = PyTuple_New(out->rank);
    for (int j = 0; shape && j < out->rank; j++) {
        PyObject *size = PyLong_FromLongLong(out->shape[j]);
        if (!size || PyTuple_SetItem(shape, j, size) < 0)
            Py_CLEAR(shape);
    }
    return shape;
}

/* By the framework's own call, which gives None where it has none; then by kiln. */
static bool make_by_framework(call *c, int o, PyObject **object)
{
    const kn_py_output *out = &c->outputs[o];
    PyObject *empty = kn_py_framework("empty"), *shape = shape_tuple(out);
    *object = empty && shape ? PyObject_CallFunction(empty, "OOs", c->like ? c->like : Py_None,
                                                     shape, kiln_dtype_text(out->dtype))
                             : NULL;
    Py_XDECREF(empty);
    Py_XDECREF(shape);
    if (*object != Py_None)
        return *object != NULL;
    Py_CLEAR(*object);
    struct DLManagedTensorVersioned *t;
    if (!kn_py_good(kiln_output_to_dlpack_versioned(c->in->prog, c->in->io[c->in->nin + o].name,
                                                    c->args, c->nargs, &t)))
        return false;
    c->tensors[c->in->nin + o] = *t;
    *object = kn_py_owned(t);
    if (!*object)
        t->deleter(t);
    return *object != NULL;
}

static bool make_output(call *c, int o)
{
    struct DLManagedTensorVersioned *t = &c->tensors[c->in->nin + o];
    c->made[o] = NULL;
    c->objects[o] = NULL;
    c->nmade = o + 1;
    if (c->api) {
        if (!make_by_api(c, &c->outputs[o], &c->made[o]))
            return false;
        *t = *c->made[o];
        return true;
    }
    return make_by_framework(c, o, &c->objects[o]) &&
           (kn_py_is_owned(c->objects[o]) || take_tensor(c, c->objects[o], t));
}

/* Those of out=: one, or a tuple of as many as there are. */
static bool given_output(call *c, int o)
{
    int n = c->in->nout;
    PyObject *object = c->out;
    if (PyTuple_Check(object)) {
        if (PyTuple_Size(object) != n) {
            PyErr_Format(PyExc_ValueError, "%s has %d outputs, out= %d",
                         kiln_prog_name(c->in->prog), n, (int)PyTuple_Size(object));
            return false;
        }
        object = PyTuple_GetItem(object, o);
    } else if (n != 1) {
        PyErr_Format(PyExc_TypeError, "out= is a tuple of %d arrays", n);
        return false;
    }
    c->made[o] = NULL;
    c->objects[o] = object;
    Py_INCREF(object);
    c->nmade = o + 1;
    return take_tensor(c, object, &c->tensors[c->in->nin + o]);
}

static bool bind_outputs(call *c)
{
    const kn_py_instance *in = c->in;
    if (!c->out && in->nout && !find_shapes(c))
        return false;
    int ninputs = c->nargs;
    for (int o = 0; o < in->nout; o++) {
        if (!(c->out ? given_output(c, o) : make_output(c, o)))
            return false;
        /* Making an output wants the inputs alone: those of before are counted behind them. */
        c->nargs = ninputs;
        if (!kn_py_good(kiln_arg_from_dlpack_versioned(in->prog, in->io[in->nin + o].name,
                                                       &c->tensors[in->nin + o],
                                                       &c->args[ninputs + o])))
            return false;
    }
    c->nargs = ninputs + in->nout;
    return true;
}

/* Prepares the program for outputs that are not allocated yet. */
static bool promise_outputs(call *c)
{
    const kn_py_instance *in = c->in;
    if (!find_shapes(c))
        return false;
    for (int o = 0; o < in->nout; o++) {
        const kn_py_output *out = &c->outputs[o];
        c->args[c->nargs++] =
            (kiln_arg){in->io[in->nin + o].name, NULL, out->dtype, out->rank, out->shape, NULL};
    }
    return true;
}

/* ---- the run ---- */

/* The stream that the framework of the first array is in, unless one is given. Outputs of a framework that knows no
 * stream but its own are waited for in any. */
static bool find_stream(call *c)
{
    if (c->in->device_type != KN_DL_CUDA || !c->like)
        return true;
    if (c->api)
        return c->has_stream || c->api->stream(c->in->device_type, c->in->device, &c->stream) == 0;
    PyObject *stream_of = kn_py_framework("stream");
    PyObject *stream = stream_of ? PyObject_CallFunctionObjArgs(stream_of, c->like, NULL) : NULL;
    Py_XDECREF(stream_of);
    if (!stream)
        return false;
    c->waits = stream == Py_None;
    if (!c->has_stream)
        c->stream = c->waits ? NULL : PyLong_AsVoidPtr(stream);
    Py_DECREF(stream);
    return !PyErr_Occurred();
}

static kiln_status run_it(void *user)
{
    call *c = user;
    kiln_status status = kiln_run(c->in->prog, c->stream, c->args, c->nargs);
    return status == KILN_OK && c->waits
               ? kiln_sync(((kn_py_context *)c->in->context)->ctx, c->stream)
               : status;
}

static kiln_status prepare_it(void *user)
{
    call *c = user;
    kiln_prepared_init(&c->found.prepared);
    return kiln_prepare(c->in->prog, c->args, c->nargs, &c->found.prepared);
}

static kiln_status measure_it(void *user)
{
    call *c = user;
    kiln_measurement_init(&c->found.measured);
    return kiln_measure(c->in->prog, c->args, c->nargs, &c->found.measured);
}

/* Output o as an object, which is the caller's. */
static PyObject *result_of(call *c, int o)
{
    PyObject *object = c->objects[o];
    c->objects[o] = NULL;
    if (c->made[o]) {
        struct DLManagedTensorVersioned *t = c->made[o];
        void *made = NULL;
        c->made[o] = NULL;
        return c->api->to_object(t, &made) == 0 ? made : NULL;
    }
    if (!kn_py_is_owned(object))
        return object;
    PyObject *adopt = kn_py_framework("adopt");
    PyObject *made =
        adopt ? PyObject_CallFunctionObjArgs(adopt, c->like ? c->like : Py_None, object, NULL)
              : NULL;
    Py_XDECREF(adopt);
    Py_DECREF(object);
    return made;
}

static PyObject *results(call *c)
{
    int n = c->in->nout;
    if (n == 0)
        Py_RETURN_NONE;
    if (n == 1)
        return result_of(c, 0);
    PyObject *all = PyTuple_New(n);
    for (int o = 0; all && o < n; o++) {
        PyObject *one = result_of(c, o);
        if (!one || PyTuple_SetItem(all, o, one) < 0)
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *prepared(call *c)
{
    const kiln_prepared *p = &c->found.prepared;
    return kn_py_unlocked(prepare_it, c)
               ? Py_BuildValue("{sKsK}", "workspace", (unsigned long long)p->workspace, "launches",
                               (unsigned long long)p->launches)
               : NULL;
}

static PyObject *measured(call *c)
{
    const kiln_measurement *m = &c->found.measured;
    return kn_py_unlocked(measure_it, c)
               ? Py_BuildValue("{sKsdsdsdsKsd}", "launches", (unsigned long long)m->launches,
                               "device_us", m->device_us, "host_us", m->host_us, "compile_ms",
                               m->compile_ms, "bytes", (unsigned long long)m->bytes, "copy_gbps",
                               m->copy_gbps)
               : NULL;
}

static void finish(call *c)
{
    for (int o = 0; o < c->nmade; o++) {
        if (c->made[o] && c->made[o]->deleter)
            c->made[o]->deleter(c->made[o]);
        Py_XDECREF(c->objects[o]);
    }
    for (int i = 0; i < c->nheld; i++)
        Py_DECREF(c->held[i]);
}

static PyObject *serve(PyObject *self, PyObject *args, PyObject *kwargs, purpose why)
{
    call c; /* large: only what is used is set */
    PyObject *result = NULL;
    c.program = (kn_py_program *)self;
    c.in = c.program->instances;
    c.out = c.like = NULL;
    c.api = NULL;
    c.has_stream = c.waits = false;
    c.stream = NULL;
    c.nargs = c.nheld = c.nmade = 0;
    if (!c.in) {
        PyErr_SetString(PyExc_TypeError, "this program was not initialised");
        return NULL;
    }
    if (take_arguments(&c, args, kwargs) && choose_instance(&c) && bind_inputs(&c) &&
        (why == TO_PREPARE ? promise_outputs(&c) : bind_outputs(&c)))
        result = why == TO_PREPARE                               ? prepared(&c)
                 : why == TO_MEASURE                             ? measured(&c)
                 : find_stream(&c) && kn_py_unlocked(run_it, &c) ? results(&c)
                                                                 : NULL;
    finish(&c);
    return result;
}

PyObject *kn_py_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return serve(self, args, kwargs, TO_RUN);
}

PyObject *kn_py_prepare(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return serve(self, args, kwargs, TO_PREPARE);
}

PyObject *kn_py_measure(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return serve(self, args, kwargs, TO_MEASURE);
}
