#include "frontend/python/ext/ext.h"

static PyObject *version(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyUnicode_FromString(kiln_version());
}

static PyObject *doctor(PyObject *self, PyObject *unused)
{
    char *text;
    (void)self, (void)unused;
    if (!kn_py_good(kiln_doctor(&text)))
        return NULL;
    PyObject *result = PyUnicode_FromString(text);
    kiln_text_free(NULL, text);
    return result;
}

static bool add(PyObject *module, const char *name, PyObject *type)
{
    if (!type || PyModule_AddObject(module, name, type) < 0) {
        Py_XDECREF(type);
        return false;
    }
    return true;
}

PyMODINIT_FUNC PyInit__kiln(void);

PyMODINIT_FUNC PyInit__kiln(void)
{
    static PyMethodDef functions[] = {
        {"version", version, METH_NOARGS, "kiln's version."},
        {"doctor", doctor, METH_NOARGS,
         "What this machine has, and what to do about what is missing."},
        {NULL, NULL, 0, NULL}};
    static PyModuleDef definition = {
        PyModuleDef_HEAD_INIT, "_kiln", NULL, -1, functions, NULL, NULL, NULL, NULL};
    PyObject *module = PyModule_Create(&definition);
    if (module && add(module, "Context", kn_py_context_type()) &&
        add(module, "Program", kn_py_program_type()) && add(module, "Tensor", kn_py_owned_type()))
        return module;
    Py_XDECREF(module);
    return NULL;
}
