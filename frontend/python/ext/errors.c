#include "frontend/python/ext/ext.h"

#include <string.h>

bool kn_py_good(kiln_status status)
{
    if (status == KILN_OK)
        return true;
    const char *said = kiln_last_error();
    /* What it quotes may be cut within a character. */
    PyObject *text = PyUnicode_DecodeUTF8(said, (Py_ssize_t)strlen(said), "replace");
    PyObject *module = text ? PyImport_ImportModule("kiln._errors") : NULL;
    PyObject *made = module ? PyObject_CallMethod(module, "made", "iO", (int)status, text) : NULL;
    if (made)
        PyErr_SetObject((PyObject *)Py_TYPE(made), made);
    Py_XDECREF(made);
    Py_XDECREF(module);
    Py_XDECREF(text);
    return false;
}

bool kn_py_unlocked(kiln_status (*work)(void *user), void *user)
{
    PyThreadState *thread = PyEval_SaveThread();
    kiln_status status = work(user);
    PyEval_RestoreThread(thread);
    return kn_py_good(status);
}
