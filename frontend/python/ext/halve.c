/* One of two programs that another is divided into. */
#include "frontend/python/ext/ext.h"

typedef struct halving {
    kiln_graph *whole, *half[2];
    const char *late;
    kiln_split_options options;
    kiln_arg given[KN_PY_MOST_IO];
    int64_t shapes[KN_PY_MOST_IO][KILN_MAX_RANK];
} halving;

static kiln_status halve_it(void *user)
{
    halving *h = user;
    return kiln_split(h->whole, h->late, &h->options, &h->half[0], &h->half[1]);
}

/* (name, dtype, shape): sizes for which it is chosen what is saved. */
static bool take_shape(PyObject *item, kiln_arg *arg, int64_t *shape)
{
    const char *name, *dtype;
    PyObject *sizes;
    if (!PyArg_ParseTuple(item, "ssO!", &name, &dtype, &PyTuple_Type, &sizes))
        return false;
    int rank = (int)PyTuple_Size(sizes);
    if (rank > KILN_MAX_RANK) {
        PyErr_Format(PyExc_TypeError, "'%s' has too many axes", name);
        return false;
    }
    for (int j = 0; j < rank; j++)
        shape[j] = PyLong_AsLongLong(PyTuple_GetItem(sizes, j));
    *arg = (kiln_arg){name, NULL, kiln_dtype_find(dtype), rank, shape, NULL};
    return !PyErr_Occurred();
}

bool kn_py_halve(PyObject *half, kiln_graph **graph)
{
    halving h = {.whole = *graph};
    int which;
    PyObject *list;
    kiln_split_options_init(&h.options);
    if (!PyArg_ParseTuple(half, "iszzO!", &which, &h.late, &h.options.save, &h.options.arch,
                          &PyList_Type, &list))
        return false;
    h.options.args = h.given;
    Py_ssize_t n = PyList_Size(list);
    for (; h.options.nargs < n && h.options.nargs < KN_PY_MOST_IO; h.options.nargs++)
        if (!take_shape(PyList_GetItem(list, h.options.nargs), &h.given[h.options.nargs],
                        h.shapes[h.options.nargs]))
            return false;
    if (!kn_py_unlocked(halve_it, &h))
        return false;
    kiln_graph_destroy(*graph);
    kiln_graph_destroy(h.half[!which]);
    *graph = h.half[!!which];
    return true;
}
