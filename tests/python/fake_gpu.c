/* A GPU for tests on machines without one: the CUDA driver's functions, and arrays on it, in one library.

   As JITFUSE_CUDA_PATH it is a driver that computes nothing and writes down what it is asked: launches, waits, allocations, with
   their streams. As a Python module it has Array (memory of the host that says it is a GPU's, with DLPack's C exchange table),
   capsule(array) (what __dlpack__ gives), set_stream (of the table), and take_log() -> [(call, stream, bytes)]. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

#include "dlpack.h"

/* ---- what was asked ---- */

enum { kMaxLog = 1 << 16 };
static struct {
  const char* call;
  uint64_t stream;
  size_t bytes;
} log_lines[kMaxLog];
static int log_size = 0, logging = 1;

static void Note(const char* call, const void* stream, size_t bytes) {
  if (!logging || log_size == kMaxLog) return;
  log_lines[log_size].call = call;
  log_lines[log_size].stream = (uint64_t)(uintptr_t)stream;
  log_lines[log_size++].bytes = bytes;
}

/* ---- the driver ---- */

#define API __attribute__((visibility("default"))) int
static void* const current = (void*)16; /* the primary context, of every thread */

API cuInit(unsigned flags) { return (void)flags, 0; }
API cuDriverGetVersion(int* version) { return *version = 13000, 0; }
API cuDeviceGet(int* device, int ordinal) { return *device = ordinal, 0; }
API cuDeviceGetCount(int* count) { return *count = 1, 0; }
API cuDeviceGetName(char* name, int size, int device) { return (void)device, strncpy(name, "Fake GPU", (size_t)size), 0; }
API cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  switch (attribute) {
    case 16: *value = 132; return 0;
    case 36: *value = 2619000; return 0;
    case 37: *value = 5120; return 0;
    case 38: *value = 50 << 20; return 0;
    case 75: *value = 9; return 0;
    case 76: *value = 0; return 0;
    case 115: *value = 1; return 0;
    default: return 1;
  }
}
API cuDevicePrimaryCtxRetain(void** context, int device) { return (void)device, *context = current, 0; }
API cuCtxGetCurrent(void** context) { return *context = current, 0; }
API cuCtxGetDevice(int* device) { return *device = 0, 0; }
API cuCtxGetId(void* context, unsigned long long* id) { return (void)context, *id = 1, 0; }
API cuCtxPushCurrent_v2(void* context) { return (void)context, 0; }
API cuCtxPopCurrent_v2(void** context) { return *context = current, 0; }
API cuModuleLoadData(void** module, const void* image) { return (void)image, *module = (void*)32, 0; }
API cuModuleUnload(void* module) { return (void)module, 0; }
API cuModuleGetFunction(void** function, void* module, const char* name) { return (void)module, (void)name, *function = (void*)64, 0; }
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads, size_t shared)
{
    return (void)function, (void)threads, (void)shared, *blocks = 1, 0;
}
API cuFuncGetAttribute(int* value, int attribute, void* function) { return (void)attribute, (void)function, *value = 0, 0; }
API cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void* stream,
                   void** params, void** extra) {
  (void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)params, (void)extra;
  Note("launch", stream, 0);
  return 0;
}
static void* Memory(size_t bytes) { return aligned_alloc(256, (bytes + 511) / 256 * 256); }
API cuMemAlloc_v2(unsigned long long* ptr, size_t bytes) {
  Note("driver alloc", NULL, bytes);
  return *ptr = (uintptr_t)Memory(bytes), 0;
}
API cuMemFree_v2(unsigned long long ptr) { return free((void*)(uintptr_t)ptr), 0; }
API cuMemPoolCreate(void** pool, const void* props) { return (void)props, *pool = (void*)48, 0; }
API cuMemPoolSetAttribute(void* pool, int attribute, void* value) { return (void)pool, (void)attribute, (void)value, 0; }
API cuMemAllocFromPoolAsync(unsigned long long* ptr, size_t bytes, void* pool, void* stream) {
  (void)pool;
  Note("driver alloc", stream, bytes);
  return *ptr = (uintptr_t)Memory(bytes), 0;
}
API cuMemFreeAsync(unsigned long long ptr, void* stream) {
  Note("driver free", stream, 0);
  return free((void*)(uintptr_t)ptr), 0;
}
API cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t n, void* stream) {
  return (void)stream, memcpy((void*)(uintptr_t)to, from, n), 0;
}
API cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t n, void* stream) {
  return (void)stream, memcpy(to, (void*)(uintptr_t)from, n), 0;
}
API cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t n, void* stream) {
  return (void)stream, memcpy((void*)(uintptr_t)to, (void*)(uintptr_t)from, n), 0;
}
API cuMemsetD8Async(unsigned long long to, unsigned char value, size_t n, void* stream) {
  return (void)stream, memset((void*)(uintptr_t)to, value, n), 0;
}
API cuStreamSynchronize(void* stream) { return Note("wait", stream, 0), 0; }
API cuStreamCreate(void** stream, unsigned flags) { return (void)flags, *stream = (void*)16, 0; }
API cuStreamDestroy_v2(void* stream) { return (void)stream, 0; }
API cuEventCreate(void** event, unsigned flags) { return (void)flags, *event = (void*)32, 0; }
API cuEventDestroy_v2(void* event) { return (void)event, 0; }
API cuEventRecord(void* event, void* stream) { return (void)event, (void)stream, 0; }
API cuEventSynchronize(void* event) { return (void)event, 0; }
API cuEventQuery(void* a) { return (void)a, 0; }
API cuEventElapsedTime(float* ms, void* a, void* b) { return (void)a, (void)b, *ms = 1, 0; }
API cuThreadExchangeStreamCaptureMode(int* mode) { return *mode = 0, 0; }
API cuStreamIsCapturing(void* stream, int* status) { return (void)stream, *status = 0, 0; }
API cuGetErrorName(int error, const char** text) { return (void)error, *text = "CUDA_ERROR_FAKE", 0; }
API cuGetErrorString(int error, const char** text) { return (void)error, *text = "fake", 0; }

/* ---- arrays ---- */

typedef struct {
  PyObject_HEAD
  void* data;
  int64_t dims[4], strides[4];
  int ndim;
  DLDataType type;
  DLManagedTensorVersioned* managed; /* what it was made from, or null */
  PyObject* dtype;
} Array;

static PyTypeObject* array_type; /* results of the exchange table are of this type */
static void* table_stream = NULL;
static long alive = 0;

static void Dense(Array* a) {
  int64_t step = 1;
  for (int d = a->ndim - 1; d >= 0; --d) {
    a->strides[d] = step;
    step *= a->dims[d];
  }
}

static size_t Bytes(int ndim, const int64_t* dims, DLDataType type) {
  size_t n = type.bits / 8;
  for (int d = 0; d < ndim; ++d) n *= (size_t)dims[d];
  return n;
}

static PyObject* ArrayNew(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  PyObject *shape, *dtype;
  int code, bits;
  (void)keywords;
  if (!PyArg_ParseTuple(args, "O!Oii", &PyTuple_Type, &shape, &dtype, &code, &bits)) return NULL;
  Array* a = (Array*)type->tp_alloc(type, 0);
  if (a == NULL) return NULL;
  a->ndim = (int)PyTuple_GET_SIZE(shape);
  for (int d = 0; d < a->ndim; ++d) a->dims[d] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, d));
  a->type = (DLDataType){(uint8_t)code, (uint8_t)bits, 1};
  a->dtype = Py_NewRef(dtype);
  a->data = Memory(Bytes(a->ndim, a->dims, a->type));
  Dense(a);
  ++alive;
  Note("array", NULL, Bytes(a->ndim, a->dims, a->type));
  return (PyObject*)a;
}

static void ArrayFree(Array* a) {
  PyTypeObject* type = Py_TYPE(a);
  if (a->managed != NULL)
    a->managed->deleter(a->managed);
  else
    free(a->data);
  --alive;
  Py_XDECREF(a->dtype);
  type->tp_free((PyObject*)a);
  Py_DECREF(type);
}

static PyObject* Shape(Array* a, void* unused) {
  (void)unused;
  PyObject* out = PyTuple_New(a->ndim);
  for (int d = 0; d < a->ndim; ++d) PyTuple_SET_ITEM(out, d, PyLong_FromLongLong(a->dims[d]));
  return out;
}

static PyObject* Pointer(Array* a, void* unused) { return (void)unused, PyLong_FromVoidPtr(a->data); }
static PyObject* Device(PyObject* self, PyObject* unused) { return (void)self, (void)unused, Py_BuildValue("(ii)", kDLCUDA, 0); }

static void Fill(Array* a, DLTensor* t) {
  *t = (DLTensor){a->data, {kDLCUDA, 0}, a->ndim, a->type, a->dims, a->strides, 0};
}

static int FromObject(void* object, DLTensor* out) { return Fill((Array*)object, out), 0; }

static int CurrentStream(DLDeviceType type, int32_t device, void** out) {
  (void)type, (void)device;
  *out = table_stream;
  return 0;
}

static void FreeManaged(DLManagedTensorVersioned* m) {
  Note("table free", NULL, 0);
  free(m->dl_tensor.data);
  free(m->dl_tensor.shape);
  free(m);
}

static int Allocate(DLTensor* like, DLManagedTensorVersioned** out, void* context, void (*error)(void*, const char*, const char*)) {
  (void)context, (void)error;
  DLManagedTensorVersioned* m = calloc(1, sizeof *m);
  const size_t bytes = Bytes(like->ndim, like->shape, like->dtype);
  m->version.major = DLPACK_MAJOR_VERSION;
  m->deleter = FreeManaged;
  m->dl_tensor = *like;
  m->dl_tensor.data = Memory(bytes);
  m->dl_tensor.shape = malloc(sizeof(int64_t) * (size_t)(like->ndim + 1));
  memcpy(m->dl_tensor.shape, like->shape, sizeof(int64_t) * (size_t)like->ndim);
  Note("table alloc", NULL, bytes);
  *out = m;
  return 0;
}

static int ToObject(DLManagedTensorVersioned* m, void** out) {
  Array* a = (Array*)array_type->tp_alloc(array_type, 0);
  if (a == NULL) return -1;
  a->data = m->dl_tensor.data;
  a->ndim = m->dl_tensor.ndim;
  memcpy(a->dims, m->dl_tensor.shape, sizeof(int64_t) * (size_t)a->ndim);
  a->type = m->dl_tensor.dtype;
  a->managed = m;
  Dense(a);
  ++alive;
  *out = a;
  return 0;
}

static const DLPackExchangeAPI table = {
    .header = {{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, NULL},
    .managed_tensor_allocator = Allocate,
    .managed_tensor_to_py_object_no_sync = ToObject,
    .dltensor_from_py_object_no_sync = FromObject,
    .current_work_stream = CurrentStream,
};

static void Forget(DLManagedTensorVersioned* m) {
  PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF((PyObject*)m->manager_ctx);
  PyGILState_Release(state);
  free(m);
}

static PyObject* CapsuleOf(PyObject* self, PyObject* object) {
  (void)self;
  DLManagedTensorVersioned* m = calloc(1, sizeof *m);
  m->version.major = DLPACK_MAJOR_VERSION;
  m->manager_ctx = Py_NewRef(object);
  m->deleter = Forget;
  Fill((Array*)object, &m->dl_tensor);
  return PyCapsule_New(m, "dltensor_versioned", NULL);
}

/* ---- the module ---- */

static PyObject* TakeLog(PyObject* self, PyObject* unused) {
  (void)self, (void)unused;
  PyObject* out = PyList_New(log_size);
  for (int i = 0; i < log_size; ++i)
    PyList_SET_ITEM(out, i, Py_BuildValue("(sKn)", log_lines[i].call, (unsigned long long)log_lines[i].stream, (Py_ssize_t)log_lines[i].bytes));
  log_size = 0;
  return out;
}
static PyObject* SetLogging(PyObject* self, PyObject* on) { return (void)self, logging = PyObject_IsTrue(on), Py_NewRef(Py_None); }
static PyObject* SetStream(PyObject* self, PyObject* stream) { return (void)self, table_stream = PyLong_AsVoidPtr(stream), Py_NewRef(Py_None); }
static PyObject* SetType(PyObject* self, PyObject* type) { return (void)self, array_type = (PyTypeObject*)Py_NewRef(type), Py_NewRef(Py_None); }
static PyObject* Alive(PyObject* self, PyObject* unused) { return (void)self, (void)unused, PyLong_FromLong(alive); }

/* empty_strided(size, stride, dtype), as torch's compiler calls its own: of f32 alone, of the type of set_type. */
static PyObject* Empty(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  (void)self;
  if (n != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments"), NULL;
  Array* a = (Array*)array_type->tp_alloc(array_type, 0);
  if (a == NULL) return NULL;
  a->ndim = (int)PyTuple_GET_SIZE(args[0]);
  for (int d = 0; d < a->ndim; ++d) a->dims[d] = PyLong_AsLongLong(PyTuple_GET_ITEM(args[0], d));
  a->type = (DLDataType){kDLFloat, 32, 1};
  a->dtype = Py_NewRef(args[2]);
  a->data = Memory(Bytes(a->ndim, a->dims, a->type));
  Dense(a);
  ++alive;
  Note("torch alloc", table_stream, Bytes(a->ndim, a->dims, a->type));
  return (PyObject*)a;
}

static PyGetSetDef array_properties[] = {{"shape", (getter)Shape, NULL, NULL, NULL}, {"pointer", (getter)Pointer, NULL, NULL, NULL}, {NULL}};
static PyMemberDef array_members[] = {{"dtype", T_OBJECT_EX, offsetof(Array, dtype), 0, NULL}, {NULL}};
static PyMethodDef array_methods[] = {{"__dlpack_device__", Device, METH_NOARGS, NULL}, {NULL}};
static PyType_Slot array_slots[] = {{Py_tp_new, ArrayNew}, {Py_tp_dealloc, ArrayFree}, {Py_tp_getset, array_properties},
                                    {Py_tp_members, array_members}, {Py_tp_methods, array_methods}, {0, NULL}};
static PyType_Spec array_spec = {"fake_gpu.Array", sizeof(Array), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, array_slots};

static PyMethodDef functions[] = {{"take_log", TakeLog, METH_NOARGS, NULL},
                                  {"set_logging", SetLogging, METH_O, NULL},
                                  {"set_stream", SetStream, METH_O, NULL},
                                  {"set_type", SetType, METH_O, NULL},
                                  {"alive", Alive, METH_NOARGS, NULL},
                                  {"capsule", CapsuleOf, METH_O, NULL},
                                  {"empty_strided", (PyCFunction)(void (*)(void))Empty, METH_FASTCALL, NULL},
                                  {NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "fake_gpu", NULL, -1, functions};

PyMODINIT_FUNC PyInit_fake_gpu(void) {
  PyObject* module = PyModule_Create(&definition);
  array_type = (PyTypeObject*)PyType_FromSpec(&array_spec);
  PyModule_AddObject(module, "Array", Py_NewRef((PyObject*)array_type));
  PyModule_AddObject(module, "exchange_table", PyCapsule_New((void*)&table, "dlpack_exchange_api", NULL));
  return module;
}
