/* What a program says of itself. */
#include "frontend/python/ext/ext.h"

#include <string.h>

static kn_py_instance *first_of(PyObject *self)
{
    kn_py_instance *in = ((kn_py_program *)self)->instances;
    if (!in)
        PyErr_SetString(PyExc_TypeError, "this program was not initialised");
    return in;
}

PyObject *kn_py_name(PyObject *self, void *unused)
{
    const kn_py_instance *in = first_of(self);
    (void)unused;
    return in ? PyUnicode_FromString(kiln_prog_name(in->prog)) : NULL;
}

PyObject *kn_py_io(PyObject *self, PyObject *unused)
{
    static const char *const kinds[] = {[KILN_ARRAY_IN] = "array",
                                        [KILN_SCALAR_IN] = "number",
                                        [KILN_ARRAY_OUT] = "output",
                                        [KILN_ARRAY_UPDATE] = "updated"};
    const kn_py_instance *in = first_of(self);
    (void)unused;
    PyObject *list = in ? PyList_New(0) : NULL;
    for (int i = 0; list && i < in->nin + in->nout; i++) {
        const kiln_io *io = &in->io[i];
        PyObject *one = Py_BuildValue("ssss", kinds[io->kind], io->name, kiln_dtype_text(io->dtype),
                                      io->kind == KILN_SCALAR_IN ? "" : io->dims);
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* (name, shape): an argument without data. */
static bool take_shape(const kn_py_instance *in, PyObject *item, kiln_arg *arg, int64_t *shape)
{
    const char *name;
    PyObject *sizes;
    if (!PyArg_ParseTuple(item, "sO!", &name, &PyTuple_Type, &sizes))
        return false;
    int i = 0, n = in->nin + in->nout, rank = (int)PyTuple_Size(sizes);
    while (i < n && strcmp(in->io[i].name, name) != 0)
        i++;
    if (i == n || rank > KILN_MAX_RANK) {
        PyErr_Format(PyExc_TypeError,
                     i == n ? "%s has no parameter '%s'" : "%s: '%s' has too many axes",
                     kiln_prog_name(in->prog), name);
        return false;
    }
    for (int j = 0; j < rank; j++)
        shape[j] = PyLong_AsLongLong(PyTuple_GetItem(sizes, j));
    *arg = (kiln_arg){in->io[i].name, NULL, in->io[i].dtype, rank, shape, NULL};
    return !PyErr_Occurred();
}

typedef struct explaining {
    kiln_prog *prog;
    kiln_arg given[KN_PY_MOST_IO];
    int n;
    kiln_explain_options options;
    char *text;
} explaining;

static kiln_status explain_it(void *user)
{
    explaining *e = user;
    return kiln_explain(e->prog, e->given, e->n, &e->options, &e->text);
}

PyObject *kn_py_explain(PyObject *self, PyObject *args)
{
    PyObject *list;
    int64_t shapes[KN_PY_MOST_IO][KILN_MAX_RANK];
    int verbose;
    explaining e = {.text = NULL};
    const kn_py_instance *in = first_of(self);
    kiln_explain_options_init(&e.options);
    if (!in || !PyArg_ParseTuple(args, "O!zzp", &PyList_Type, &list, &e.options.stage,
                                 &e.options.arch, &verbose))
        return NULL;
    e.prog = in->prog;
    e.options.verbose = verbose;
    Py_ssize_t n = PyList_Size(list);
    for (e.n = 0; e.n < n && e.n < KN_PY_MOST_IO; e.n++)
        if (!take_shape(in, PyList_GetItem(list, e.n), &e.given[e.n], shapes[e.n]))
            return NULL;
    if (!kn_py_unlocked(explain_it, &e))
        return NULL;
    PyObject *result = PyUnicode_FromString(e.text);
    kiln_text_free(((kn_py_context *)in->context)->ctx, e.text);
    return result;
}
