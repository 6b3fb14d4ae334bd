/* Objects as tensors: through the functions of their type where it has them, which takes some tens of nanoseconds, else
 * through __dlpack__(). */
#include "frontend/python/ext/ext.h"

PyObject *kn_py_framework(const char *function)
{
    static PyObject *module;
    if (!module)
        module = PyImport_ImportModule("kiln._frameworks");
    return module ? PyObject_GetAttrString(module, function) : NULL;
}

/* ---- the functions of a type ---- */

enum { KNOWN = 8 };

static const kn_exchange *ask(PyObject *type)
{
    PyObject *capsule = PyObject_GetAttrString(type, KN_EXCHANGE_ATTRIBUTE);
    const kn_exchange *api = capsule ? PyCapsule_GetPointer(capsule, KN_EXCHANGE_CAPSULE)
                                     : NULL; /* static, as it must be */
    PyErr_Clear();
    Py_XDECREF(capsule);
    while (api && api->major != KN_DL_MAJOR)
        api = api->older;
    return api && api->look ? api : NULL;
}

const kn_exchange *kn_py_exchange(PyObject *object)
{
    static struct {
        PyObject *type; /* kept */
        const kn_exchange *api;
    } known[KNOWN];
    static int next;
    PyObject *type = (PyObject *)Py_TYPE(object);
    for (int i = 0; i < KNOWN; i++)
        if (known[i].type == type)
            return known[i].api;
    const kn_exchange *api = ask(type);
    Py_XDECREF(known[next].type);
    Py_INCREF(type);
    known[next].type = type;
    known[next].api = api;
    next = (next + 1) % KNOWN;
    return api;
}

/* ---- tensors ---- */

/* Of a capsule, which has the tensor until it is itself dropped. */
static bool open_capsule(PyObject *capsule, struct DLManagedTensorVersioned *out)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        *out =
            *(struct DLManagedTensorVersioned *)PyCapsule_GetPointer(capsule, "dltensor_versioned");
        return true;
    }
    const struct DLManagedTensor *old = PyCapsule_GetPointer(capsule, "dltensor");
    if (!old)
        return false;
    *out = (struct DLManagedTensorVersioned){.major = KN_DL_MAJOR, .tensor = old->tensor};
    return true;
}

bool kn_py_tensor(PyObject *object, struct DLManagedTensorVersioned *out, PyObject **held)
{
    const kn_exchange *api = kn_py_exchange(object);
    *held = NULL;
    if (api) {
        out->major = KN_DL_MAJOR;
        out->minor = KN_DL_MINOR;
        out->flags = 0;
        return api->look(object, &out->tensor) == 0;
    }
    PyObject *capsule_of = kn_py_framework("capsule");
    *held = capsule_of ? PyObject_CallFunctionObjArgs(capsule_of, object, NULL) : NULL;
    Py_XDECREF(capsule_of);
    if (*held && open_capsule(*held, out))
        return true;
    Py_CLEAR(*held);
    return false;
}

/* ---- numbers ---- */

static bool store_int(PyObject *object, const kiln_io *io, void *to)
{
    PyObject *number = PyNumber_Index(object);
    if (!number)
        return false;
    /* The bits of a u64 are those of an i64. */
    int64_t value = io->dtype == KILN_U64 ? (int64_t)PyLong_AsUnsignedLongLong(number)
                                          : (int64_t)PyLong_AsLongLong(number);
    Py_DECREF(number);
    if (PyErr_Occurred())
        return false;
    kiln_store_int(io->dtype, to, value);
    if (kiln_load_int(io->dtype, to) == value)
        return true;
    PyErr_Format(PyExc_OverflowError, "%s: %S is out of bounds for %s", io->name, object,
                 kiln_dtype_text(io->dtype));
    return false;
}

bool kn_py_number(PyObject *object, const kiln_io *io, void *to)
{
    switch (io->dtype) {
    case KILN_BOOL: {
        int truth = PyObject_IsTrue(object);
        kiln_store_int(io->dtype, to, truth);
        return truth >= 0;
    }
    case KILN_C64:
    case KILN_C128: {
        double re = PyComplex_RealAsDouble(object), im = PyComplex_ImagAsDouble(object);
        kiln_store_complex(io->dtype, to, re, im);
        return !PyErr_Occurred();
    }
    case KILN_F16:
    case KILN_BF16:
    case KILN_F32:
    case KILN_F64: {
        double value = PyFloat_AsDouble(object);
        kiln_store_float(io->dtype, to, value);
        return value != -1 || !PyErr_Occurred();
    }
    default: return store_int(object, io, to);
    }
}
