#include "python/bindings/call_key.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace jitfuse::python {
namespace {

constexpr int kMaxDepth = 32;

// The first 8 bits of a part of the key.
enum Tag : std::int64_t {
  kNone = 1,
  kTuple,
  kList,
  kDict,
  kNamedTuple,
  kDictClass,
  kDataclass,
  kArray,
  kBool,
  kInt,
  kFloat,
  kNumpyScalar,
  kOpaque,
  kStaticBool,
  kStaticInt,
  kStaticFloat,
  kStaticTuple,
  kStaticObject,
  kKeyword,
};

std::int64_t Part(Tag tag, std::int64_t rest = 0) { return tag | rest << 8; }

class Flattener {
 public:
  explicit Flattener(FlatCall* out) : out_(*out) {}

  bool Add(PyObject* object, int depth);
  bool AddStatic(PyObject* object, int depth = 0);
  // An address as a part of the key; strings of equal text are the same one.
  bool AddName(PyObject* object);

 private:
  bool AddLeaf(PyObject* object, int depth);
  void AddArray(PyObject* object, const TypeInfo& type);
  bool AddItems(PyObject* sequence, Tag tag, int depth);
  bool AddDict(PyObject* dict, int depth);
  bool AddNest(PyObject* object, const TypeInfo& type, int depth);
  bool AddDictClass(PyObject* dict, const TypeInfo& type, int depth);
  bool AddDataclass(PyObject* object, const std::vector<nb::object>& fields, int depth);
  bool AddKey(PyObject* key) { return PyUnicode_CheckExact(key) ? AddName(key) : AddStatic(key); }

  FlatCall& out_;
};

bool Flattener::AddName(PyObject* object) {
  if (PyUnicode_CheckExact(object)) {
    PyObject* interned = Py_NewRef(object);
    PyUnicode_InternInPlace(&interned);
    if (interned != object) out_.held.push_back(nb::borrow(interned));
    Py_DECREF(interned);
    object = interned;
  }
  out_.key.push_back(reinterpret_cast<std::int64_t>(object));
  out_.named.push_back(object);
  return true;
}

// Of a type that adds nothing to a tuple but names, as a namedtuple's: its items are its value. One
// with attributes, or an __eq__ or __hash__ of its own, has a value that only Python knows.
bool IsItsItems(PyObject* tuple) {
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(tuple));
  for (const char* name : {"__eq__", "__hash__"}) {
    const nb::handle plain(reinterpret_cast<PyObject*>(&PyTuple_Type));
    if (!nb::getattr(nb::handle(type), name).is(nb::getattr(plain, name))) return false;
  }
  const nb::object own = nb::getattr(nb::handle(tuple), "__dict__", nb::none());
  return own.is_none() || (PyDict_CheckExact(own.ptr()) && PyDict_Size(own.ptr()) == 0);
}

bool Flattener::AddStatic(PyObject* object, int depth) {
  if (PyBool_Check(object)) {
    out_.key.push_back(Part(kStaticBool, object == Py_True ? 1 : 0));
    return true;
  }
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) return false;
    out_.key.push_back(Part(kStaticInt));
    out_.key.push_back(value);
    return true;
  }
  if (PyFloat_CheckExact(object)) {
    const double value = PyFloat_AsDouble(object);
    std::int64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    out_.key.push_back(Part(kStaticFloat));
    out_.key.push_back(bits);
    return true;
  }
  // By its items: options such as sizes are made anew for each call.
  if (PyTuple_CheckExact(object) || (PyTuple_Check(object) && IsItsItems(object))) {
    const Py_ssize_t n = PyTuple_Size(object);
    if (depth >= kMaxDepth) return false;
    out_.key.push_back(Part(kStaticTuple, n));
    AddName(reinterpret_cast<PyObject*>(Py_TYPE(object)));
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (!AddStatic(PyTuple_GetItem(object, i), depth + 1)) return false;
    }
    return true;
  }
  out_.key.push_back(Part(kStaticObject));
  return AddName(object);
}

bool Flattener::AddItems(PyObject* sequence, Tag tag, int depth) {
  const bool is_list = tag == kList;
  const Py_ssize_t n = is_list ? PyList_Size(sequence) : PyTuple_Size(sequence);
  out_.key.push_back(Part(tag, n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = is_list ? PyList_GetItem(sequence, i) : PyTuple_GetItem(sequence, i);
    if (item == nullptr || !Add(item, depth + 1)) return false;  // null: it has shrunk meanwhile
  }
  return true;
}

bool Flattener::AddDict(PyObject* dict, int depth) {
  out_.key.push_back(Part(kDict, PyDict_Size(dict)));
  Py_ssize_t at = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (PyDict_Next(dict, &at, &key, &value) != 0) {
    if (!PyUnicode_CheckExact(key)) out_.held.push_back(nb::borrow(key));
    if (!AddKey(key) || !Add(value, depth + 1)) return false;
  }
  return true;
}

// In the order that the class gives its items.
bool Flattener::AddDictClass(PyObject* dict, const TypeInfo& type, int depth) {
  if (type.has_attributes) {  // with some beside the items it is refused: Python says why
    const nb::object own = nb::getattr(nb::handle(dict), "__dict__");
    if (!PyDict_CheckExact(own.ptr())) return false;
    Py_ssize_t at = 0;
    PyObject *name = nullptr, *value = nullptr;
    while (PyDict_Next(own.ptr(), &at, &name, &value) != 0) {
      if (PyDict_Contains(dict, name) != 1) return false;
    }
  }
  if (type.has_factory) {
    out_.held.push_back(nb::getattr(nb::handle(dict), "default_factory"));
    AddName(out_.held.back().ptr());
  }
  const nb::object items = nb::steal(CheckNew(PyMapping_Items(dict)));
  out_.held.push_back(items);
  const Py_ssize_t n = PyList_Size(items.ptr());
  out_.key.push_back(Part(kDictClass, n));
  AddName(reinterpret_cast<PyObject*>(Py_TYPE(dict)));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* pair = PyList_GetItem(items.ptr(), i);
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) return false;
    if (!AddKey(PyTuple_GetItem(pair, 0)) || !Add(PyTuple_GetItem(pair, 1), depth + 1))
      return false;
  }
  return true;
}

bool Flattener::AddDataclass(PyObject* object, const std::vector<nb::object>& fields, int depth) {
  out_.key.push_back(Part(kDataclass, static_cast<std::int64_t>(fields.size())));
  AddName(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  for (const nb::object& field : fields) {
    const nb::object value = nb::steal(CheckNew(PyObject_GetAttr(object, field.ptr())));
    if (!Add(value.ptr(), depth + 1)) return false;
  }
  return true;
}

bool Flattener::AddNest(PyObject* object, const TypeInfo& type, int depth) {
  if (type.nest == Nest::kDataclass) {
    const std::vector<nb::object> fields = type.fields;  // the type's slot may be used anew inside
    return AddDataclass(object, fields, depth);
  }
  if (type.nest == Nest::kDict) return AddDictClass(object, type, depth);
  AddName(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  return AddItems(object, kNamedTuple, depth);
}

void Flattener::AddArray(PyObject* object, const TypeInfo& type) {
  const std::size_t i = out_.leaves.size();
  if (out_.arrays.size() <= i) out_.arrays.resize(i + 1);
  Array& a = out_.arrays[i];
  CallLeaf& leaf = out_.leaves.emplace_back();
  leaf.object = object;
  leaf.is_array = true;
  leaf.loan = BorrowInto(object, type, ArgName{}, &a);
  out_.key.push_back(Part(kArray, static_cast<std::int64_t>(a.dtype()) |
                                      static_cast<std::int64_t>(a.dims().size()) << 8 |
                                      static_cast<std::int64_t>(a.device().kind) << 16));
}

bool Flattener::AddLeaf(PyObject* object, int depth) {
  if (PyFloat_CheckExact(object)) {
    out_.key.push_back(Part(kFloat));
  } else if (PyBool_Check(object)) {
    out_.key.push_back(Part(kBool));
  } else if (PyLong_CheckExact(object)) {
    out_.key.push_back(Part(kInt));
  } else {
    const TypeInfo& type = TypeInfoOf(object);
    if (type.nest != Nest::kNone) return AddNest(object, type, depth);
    if (type.family != Family::kNone) {
      AddArray(object, type);
      return true;
    }
    out_.key.push_back(Part(type.is_numpy_scalar ? kNumpyScalar : kOpaque));
    PyObject* what = type.is_numpy_scalar ? reinterpret_cast<PyObject*>(Py_TYPE(object)) : object;
    if (!AddName(what)) return false;
  }
  out_.leaves.emplace_back().object = object;
  return true;
}

bool Flattener::Add(PyObject* object, int depth) {
  if (depth > kMaxDepth) return false;
  if (object == Py_None) {
    out_.key.push_back(Part(kNone));
    return true;
  }
  // Before anything runs that may take it out of the list or dict that it is in.
  if (depth > 0) out_.held.push_back(nb::borrow(object));
  if (PyTuple_CheckExact(object)) return AddItems(object, kTuple, depth);
  if (PyList_CheckExact(object)) return AddItems(object, kList, depth);
  if (PyDict_CheckExact(object)) return AddDict(object, depth);
  return AddLeaf(object, depth);
}

bool IsStaticName(const StaticArgs& statics, PyObject* name) {
  return std::any_of(statics.names.begin(), statics.names.end(), [&](const nb::object& s) {
    return s.ptr() == name || PyUnicode_Compare(s.ptr(), name) == 0;
  });
}

bool Flatten(PyObject* const* args, std::size_t num_args, PyObject* const* names,
             PyObject* const* values, std::size_t num_keywords, const StaticArgs& statics,
             FlatCall* out) {
  Flattener to(out);
  out->key.reserve(2 * (num_args + 2 * num_keywords) + 1);
  out->leaves.reserve(num_args + num_keywords);
  out->key.push_back(Part(kTuple, static_cast<std::int64_t>(num_args)));
  for (std::size_t i = 0; i < num_args; ++i) {
    const bool is_static = i < statics.positions.size() && statics.positions[i];
    if (!(is_static ? to.AddStatic(args[i]) : to.Add(args[i], 0))) return false;
  }
  for (std::size_t i = 0; i < num_keywords; ++i) {
    out->key.push_back(Part(kKeyword));
    if (!to.AddName(names[i])) return false;
    const bool is_static = !statics.names.empty() && IsStaticName(statics, names[i]);
    if (!(is_static ? to.AddStatic(values[i]) : to.Add(values[i], 0))) return false;
  }
  out->arrays.resize(out->leaves.size());
  return true;
}

}  // namespace

std::uint64_t FlatCall::Hash() const {
  std::uint64_t h = 0x9e3779b97f4a7c15u;
  for (std::int64_t part : key) {
    h ^= static_cast<std::uint64_t>(part);
    h *= 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return h;
}

void FlatCall::Clear() {
  key.clear();
  leaves.clear();
  held.clear();
  named.clear();
}

bool FlattenCall(PyObject* const* args, std::size_t num_args, PyObject* const* names,
                 PyObject* const* values, std::size_t num_keywords, const StaticArgs& statics,
                 FlatCall* out) {
  try {
    if (Flatten(args, num_args, names, values, num_keywords, statics, out)) return true;
    PyErr_Clear();
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_Exception)) throw;  // ^C
    return false;                            // Python says it better: it knows the arguments' names
  }
  return false;
}

}  // namespace jitfuse::python
