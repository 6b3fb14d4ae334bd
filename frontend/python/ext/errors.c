#include "frontend/python/ext/ext.h"

bool kn_py_good(kiln_status status)
{
    if (status == KILN_OK)
        return true;
    PyObject *module = PyImport_ImportModule("kiln._errors");
    PyObject *made =
        module ? PyObject_CallMethod(module, "made", "is", (int)status, kiln_last_error()) : NULL;
    if (made)
        PyErr_SetObject((PyObject *)Py_TYPE(made), made);
    Py_XDECREF(made);
    Py_XDECREF(module);
    return false;
}
