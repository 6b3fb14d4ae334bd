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

/* ---- what is known of a type ---- */

enum { KNOWN = 8 };

typedef struct known {
    PyObject *type; /* kept */
    const kn_exchange *api;
    bool plain; /* a call of __dlpack__() will do: memory of the host, and no older version */
} known;

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

static bool is_plain(PyObject *type)
{
    PyObject *ask_python = kn_py_framework("plain");
    PyObject *said = ask_python ? PyObject_CallFunctionObjArgs(ask_python, type, NULL) : NULL;
    bool plain = said == Py_True;
    PyErr_Clear();
    Py_XDECREF(said);
    Py_XDECREF(ask_python);
    return plain;
}

static known type_of(PyObject *object)
{
    static known types[KNOWN];
    static int next;
    PyObject *type = (PyObject *)Py_TYPE(object);
    for (int i = 0; i < KNOWN; i++)
        if (types[i].type == type)
            return types[i];
    known found = {type, ask(type), is_plain(type)};
    Py_INCREF(type);
    Py_XDECREF(types[next].type);
    types[next] = found;
    next = (next + 1) % KNOWN;
    return found;
}

const kn_exchange *kn_py_exchange(PyObject *object) { return type_of(object).api; }

/* ---- tensors ---- */

/* Of a capsule, which has the tensor until it is itself dropped. */
static bool open_capsule(PyObject *capsule, struct DLManagedTensorVersioned *out)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        const struct DLManagedTensorVersioned *t =
            PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (t->major == KN_DL_MAJOR) {
            *out = *t;
            return true;
        }
        /* what lies behind its version is unknown */
        PyErr_Format(PyExc_BufferError, "a tensor of DLPack %u; kiln knows version %d",
                     (unsigned)t->major, KN_DL_MAJOR);
        return false;
    }
    const struct DLManagedTensor *old = PyCapsule_GetPointer(capsule, "dltensor");
    if (!old)
        return false;
    *out = (struct DLManagedTensorVersioned){.major = KN_DL_MAJOR, .tensor = old->tensor};
    return true;
}

/* CuPy divides strides in bytes by the size of an element as if both were unsigned (cupy/_core/dlpack.pyx, 2025): a
 * negative one arrives 2^64 / size too large, beyond every address. */
static void mend_strides(const kn_dl_tensor *t)
{
    const int64_t bytes = t->type.bits * t->type.lanes / 8;
    for (int i = 0; i < t->rank && t->strides && bytes > 1; i++)
        if (t->strides[i] > INT64_MAX / bytes)
            t->strides[i] = (int64_t)((uint64_t)t->strides[i] - (UINT64_MAX / (uint64_t)bytes + 1));
}

/* object.__dlpack__(max_version=(1, 0)) */
static PyObject *plain_capsule(PyObject *object)
{
    static PyObject *nothing, *version;
    if (!version) {
        nothing = PyTuple_New(0);
        version = Py_BuildValue("{s(ii)}", "max_version", KN_DL_MAJOR, KN_DL_MINOR);
    }
    PyObject *method = nothing && version ? PyObject_GetAttrString(object, "__dlpack__") : NULL;
    PyObject *capsule = method ? PyObject_Call(method, nothing, version) : NULL;
    Py_XDECREF(method);
    return capsule;
}

/* As the object's library wants to be asked. */
static PyObject *asked_capsule(PyObject *object, void *const *stream)
{
    PyObject *capsule_of = kn_py_framework("capsule");
    PyObject *given = stream ? PyLong_FromVoidPtr(*stream) : Py_BuildValue("");
    PyObject *capsule =
        capsule_of && given ? PyObject_CallFunctionObjArgs(capsule_of, object, given, NULL) : NULL;
    Py_XDECREF(given);
    Py_XDECREF(capsule_of);
    return capsule;
}

bool kn_py_tensor(PyObject *object, void *const *stream, struct DLManagedTensorVersioned *out,
                  PyObject **held)
{
    const known type = type_of(object);
    *held = NULL;
    if (type.api) {
        out->major = KN_DL_MAJOR;
        out->minor = KN_DL_MINOR;
        out->flags = 0;
        return type.api->look(object, &out->tensor) == 0;
    }
    *held = type.plain ? plain_capsule(object) : asked_capsule(object, stream);
    if (*held && open_capsule(*held, out)) {
        mend_strides(&out->tensor);
        return true;
    }
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

/* Whatever complex() takes, NumPy's numbers too. */
static bool store_complex(PyObject *object, const kiln_io *io, void *to)
{
    PyObject *number = PyObject_CallFunctionObjArgs((PyObject *)&PyComplex_Type, object, NULL);
    if (number)
        kiln_store_complex(io->dtype, to, PyComplex_RealAsDouble(number),
                           PyComplex_ImagAsDouble(number));
    Py_XDECREF(number);
    return number != NULL;
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
    case KILN_C128: return store_complex(object, io, to);
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
