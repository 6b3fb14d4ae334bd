/* Contexts and programs. */
#include "frontend/python/ext/ext.h"

#include <stdlib.h>
#include <string.h>

static void release(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* ---- contexts ---- */

typedef struct opening {
    kiln_config config;
    kiln_ctx **ctx;
} opening;

static kiln_status open_it(void *user)
{
    opening *o = user;
    return kiln_ctx_create(&o->config, o->ctx);
}

static PyObject *new_context(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    const char *device;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "s", &device))
        return NULL;
    kn_py_context *c = (kn_py_context *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!c)
        return NULL;
    opening o = {.ctx = &c->ctx};
    kiln_config_init(&o.config);
    o.config.device = device;
    if (!kn_py_unlocked(open_it, &o))
        Py_CLEAR(c);
    return (PyObject *)c;
}

static void drop_context(PyObject *self)
{
    kiln_ctx_destroy(((kn_py_context *)self)->ctx);
    release(self);
}

static PyObject *context_device(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(kiln_ctx_device(((kn_py_context *)self)->ctx));
}

PyObject *kn_py_context_type(void)
{
    static PyGetSetDef fields[] = {
        {"device", context_device, NULL, "\"cpu\", \"cuda:0\", ...", NULL},
        {NULL, NULL, NULL, NULL, NULL}};
    static PyType_Slot slots[] = {{Py_tp_new, (void *)new_context},
                                  {Py_tp_dealloc, (void *)drop_context},
                                  {Py_tp_getset, fields},
                                  {0, NULL}};
    static PyType_Spec spec = {"kiln._kiln.Context", sizeof(kn_py_context), 0, Py_TPFLAGS_DEFAULT,
                               slots};
    return PyType_FromSpec(&spec);
}

/* ---- instances ---- */

static void drop_instance(kn_py_instance *in)
{
    if (!in)
        return;
    for (int i = 0; i < in->nin; i++)
        Py_XDECREF(in->names[i]);
    kiln_prog_destroy(in->prog);
    Py_XDECREF(in->context);
    free(in->key);
    free(in->outputs);
    free(in);
}

static bool read_bool(PyObject *value, bool *to)
{
    int truth = PyObject_IsTrue(value);
    *to = truth > 0;
    return truth >= 0;
}

static bool read_int(PyObject *value, int *to)
{
    long number = PyLong_AsLong(value);
    *to = (int)number;
    if (number == -1 && PyErr_Occurred())
        return false;
    if (number == *to)
        return true;
    PyErr_SetString(PyExc_OverflowError, "an option is out of range");
    return false;
}

static bool read_text(PyObject *value, const char **to)
{
    *to = value == Py_None ? NULL : PyUnicode_AsUTF8AndSize(value, NULL);
    return *to || value == Py_None;
}

/* kiln_options by name; texts are the dict's. */
static bool read_options(PyObject *dict, kiln_options *o)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    kiln_options_init(o);
    while (PyDict_Next(dict, &at, &key, &value)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        bool good = name != NULL;
        if (!name)
            return false;
        if (strcmp(name, "fusion") == 0)
            good = read_bool(value, &o->fusion);
        else if (strcmp(name, "fast_math") == 0)
            good = read_bool(value, &o->fast_math);
        else if (strcmp(name, "batch_invariant") == 0)
            good = read_bool(value, &o->batch_invariant);
        else if (strcmp(name, "schedule") == 0)
            good = read_text(value, &o->schedule);
        else if (strcmp(name, "reuse") == 0)
            good = read_text(value, &o->reuse);
        else if (strcmp(name, "max_threads") == 0)
            good = read_int(value, &o->max_threads);
        else if (strcmp(name, "max_kinds") == 0)
            good = read_int(value, &o->max_kinds);
        else if (strcmp(name, "autotune") == 0)
            good = read_int(value, &o->autotune);
        else
            good = (PyErr_Format(PyExc_TypeError, "there is no option '%s'", name), false);
        if (!good)
            return false;
    }
    return true;
}

typedef struct compiling {
    kiln_ctx *ctx;
    const char *text, *file, *name;
    kiln_options options;
    kiln_graph *graph;
    kiln_prog **prog;
} compiling;

static kiln_status parse_it(void *user)
{
    compiling *c = user;
    return kiln_parse_named(c->ctx, c->text, c->file, c->name, &c->graph);
}

static kiln_status compile_it(void *user)
{
    compiling *c = user;
    return kiln_compile(c->graph, &c->options, c->prog);
}

static bool compile(const kn_py_program *p, kiln_ctx *ctx, kiln_prog **prog)
{
    compiling c = {.ctx = ctx, .text = PyUnicode_AsUTF8AndSize(p->text, NULL), .prog = prog};
    if (!c.text || !read_text(p->file, &c.file) || !read_text(p->name, &c.name) ||
        !read_options(p->options, &c.options))
        return false;
    bool good = kn_py_unlocked(parse_it, &c);
    for (Py_ssize_t i = 0; good && i < PyTuple_Size(p->halves); i++)
        good = kn_py_halve(PyTuple_GetItem(p->halves, i), &c.graph);
    good = good && kn_py_unlocked(compile_it, &c);
    kiln_graph_destroy(c.graph);
    return good;
}

static bool list_io(kn_py_instance *in)
{
    int n = kiln_prog_io_count(in->prog);
    if (n > KN_PY_MOST_IO) {
        PyErr_Format(PyExc_ValueError,
                     "%s has %d parameters and outputs; from Python there can be %d",
                     kiln_prog_name(in->prog), n, KN_PY_MOST_IO);
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (!kn_py_good(kiln_prog_io(in->prog, i, &in->io[i])))
            return false;
        if (in->io[i].kind == KILN_ARRAY_OUT) {
            in->nout++;
            continue;
        }
        in->names[in->nin++] = PyUnicode_InternFromString(in->io[i].name);
        if (!in->names[i])
            return false;
    }
    in->key = malloc(sizeof *in->key * (size_t)(in->nin * (1 + KILN_MAX_RANK) + 1));
    in->outputs = malloc(sizeof *in->outputs * (size_t)(in->nout + 1));
    if (!in->key || !in->outputs)
        PyErr_NoMemory();
    return in->key && in->outputs;
}

static kn_py_instance *make_instance(kn_py_program *p, int32_t device_type, int32_t device)
{
    kn_py_instance *in = calloc(1, sizeof *in);
    if (!in)
        return (kn_py_instance *)PyErr_NoMemory();
    in->device_type = device_type;
    in->device = device;
    in->context =
        PyObject_CallMethod((PyObject *)p, "_context", "ii", (int)device_type, (int)device);
    if (!in->context || !compile(p, ((kn_py_context *)in->context)->ctx, &in->prog) ||
        !list_io(in)) {
        drop_instance(in);
        return NULL;
    }
    kn_py_instance **end = &p->instances;
    while (*end)
        end = &(*end)->next;
    return *end = in;
}

kn_py_instance *kn_py_instance_for(kn_py_program *p, int32_t device_type, int32_t device)
{
    kn_py_instance *in = p->instances;
    if (p->one_device)
        return in;
    while (in && (in->device_type != device_type || in->device != device))
        in = in->next;
    return in ? in : make_instance(p, device_type, device);
}

/* ---- programs ---- */

/* Program(text, file, name, options, one_device, halves): compiled for the CPU, or the one device. */
static int init_program(PyObject *self, PyObject *args, PyObject *kwargs)
{
    kn_py_program *p = (kn_py_program *)self;
    PyObject *text, *file, *name, *options, *halves;
    int one_device;
    (void)kwargs;
    if (p->text) {
        PyErr_SetString(PyExc_TypeError, "a program is made once");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "UOOO!pO!", &text, &file, &name, &PyDict_Type, &options,
                          &one_device, &PyTuple_Type, &halves))
        return -1;
    Py_INCREF(text);
    Py_INCREF(file);
    Py_INCREF(name);
    Py_INCREF(options);
    Py_INCREF(halves);
    p->text = text;
    p->file = file;
    p->name = name;
    p->options = options;
    p->halves = halves;
    p->one_device = one_device;
    return make_instance(p, KN_DL_CPU, 0) ? 0 : -1;
}

static void drop_program(PyObject *self)
{
    kn_py_program *p = (kn_py_program *)self;
    while (p->instances) {
        kn_py_instance *in = p->instances;
        p->instances = in->next;
        drop_instance(in);
    }
    Py_XDECREF(p->text);
    Py_XDECREF(p->file);
    Py_XDECREF(p->name);
    Py_XDECREF(p->options);
    Py_XDECREF(p->halves);
    release(self);
}

PyObject *kn_py_program_type(void)
{
    static PyMethodDef methods[] = {
        {"prepare", (PyCFunction)(void (*)(void))kn_py_prepare, METH_VARARGS | METH_KEYWORDS,
         "prepare(*arguments): compiles what a call with such arguments will need. Returns its workspace in bytes and "
         "its kernel launches."},
        {"_measure", (PyCFunction)(void (*)(void))kn_py_measure, METH_VARARGS | METH_KEYWORDS,
         NULL},
        {"_explain", kn_py_explain, METH_VARARGS, NULL},
        {"_io", kn_py_io, METH_NOARGS, NULL},
        {NULL, NULL, 0, NULL}};
    static PyGetSetDef fields[] = {{"name", kn_py_name, NULL, "The function's name.", NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};
    static PyType_Slot slots[] = {{Py_tp_new, (void *)PyType_GenericNew},
                                  {Py_tp_init, (void *)init_program},
                                  {Py_tp_dealloc, (void *)drop_program},
                                  {Py_tp_call, (void *)kn_py_call},
                                  {Py_tp_methods, methods},
                                  {Py_tp_getset, fields},
                                  {0, NULL}};
    static PyType_Spec spec = {"kiln._kiln.Program", sizeof(kn_py_program), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    return PyType_FromSpec(&spec);
}
