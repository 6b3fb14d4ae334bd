/* Tensors whose memory is kiln's: what a framework that cannot be asked for memory takes over through __dlpack__(). */
#include "frontend/python/ext/ext.h"

#include <stdlib.h>

typedef struct owned {
    PyObject_HEAD struct DLManagedTensorVersioned *tensor; /* NULL: given away */
} owned;

static PyObject *type;

static void drop(PyObject *self)
{
    struct DLManagedTensorVersioned *t = ((owned *)self)->tensor;
    PyTypeObject *of = Py_TYPE(self);
    if (t)
        t->deleter(t);
    ((freefunc)PyType_GetSlot(of, Py_tp_free))(self);
    Py_DECREF(of);
}

/* ---- capsules ---- */

static void drop_versioned(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, "dltensor_versioned")) /* it was taken, and renamed */
        return;
    struct DLManagedTensorVersioned *t = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    t->deleter(t);
}

static void drop_old(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, "dltensor"))
        return;
    struct DLManagedTensor *t = PyCapsule_GetPointer(capsule, "dltensor");
    t->deleter(t);
}

static void delete_old(struct DLManagedTensor *self)
{
    struct DLManagedTensorVersioned *t = self->manager;
    t->deleter(t);
    free(self);
}

/* The same tensor in the struct of before version 1. */
static PyObject *old_capsule(struct DLManagedTensorVersioned *t)
{
    struct DLManagedTensor *old = malloc(sizeof *old);
    if (!old)
        return PyErr_NoMemory();
    *old = (struct DLManagedTensor){t->tensor, t, delete_old};
    PyObject *capsule = PyCapsule_New(old, "dltensor", drop_old);
    if (!capsule)
        free(old);
    return capsule;
}

/* Does the caller know of versions? max_version=(1, 0) */
static bool knows_versions(PyObject *kwargs)
{
    PyObject *version = kwargs ? PyDict_GetItemString(kwargs, "max_version") : NULL;
    PyObject *major = version && PyTuple_Check(version) ? PyTuple_GetItem(version, 0) : NULL;
    bool knows = major && PyLong_AsLong(major) >= KN_DL_MAJOR;
    PyErr_Clear();
    return knows;
}

/* __dlpack__(*, stream=None, max_version=None, ...): the run that wrote the tensor is done, so no stream waits. */
static PyObject *give(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)args;
    owned *o = (owned *)self;
    if (!o->tensor) {
        PyErr_SetString(PyExc_BufferError, "this tensor was given away");
        return NULL;
    }
    PyObject *capsule = knows_versions(kwargs)
                            ? PyCapsule_New(o->tensor, "dltensor_versioned", drop_versioned)
                            : old_capsule(o->tensor);
    if (capsule)
        o->tensor = NULL;
    return capsule;
}

static PyObject *device(PyObject *self, PyObject *unused)
{
    (void)unused;
    owned *o = (owned *)self;
    if (!o->tensor) {
        PyErr_SetString(PyExc_BufferError, "this tensor was given away");
        return NULL;
    }
    return Py_BuildValue("ii", (int)o->tensor->tensor.device.type,
                         (int)o->tensor->tensor.device.id);
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))give, METH_VARARGS | METH_KEYWORDS, NULL},
    {"__dlpack_device__", device, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void *)drop},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"kiln._kiln.Tensor", sizeof(owned), 0, Py_TPFLAGS_DEFAULT, slots};

PyObject *kn_py_owned_type(void)
{
    type = PyType_FromSpec(&spec);
    Py_XINCREF(type);
    return type;
}

PyObject *kn_py_owned(struct DLManagedTensorVersioned *tensor)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    owned *o = (owned *)alloc((PyTypeObject *)type, 0);
    if (o)
        o->tensor = tensor;
    return (PyObject *)o;
}

bool kn_py_is_owned(PyObject *object) { return (PyObject *)Py_TYPE(object) == type; }
