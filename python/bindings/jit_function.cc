#include "python/bindings/jit_function.h"

#include <structmember.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "python/bindings/call_key.h"
#include "python/bindings/errors.h"
#include "python/bindings/function.h"
#include "python/bindings/out_plan.h"
#include "python/bindings/torch_state.h"

namespace jitfuse::python {
namespace {

using nb::literals::operator""_a;

constexpr std::size_t kMaxEntries = 1024;  // of one function; then all are forgotten
constexpr std::size_t kMaxSymbols = 64;

struct Source {
  std::size_t leaf = 0;
  bool last = true;     // no later source is of this leaf
  nb::object captured;  // valid: this in place of a leaf
};

struct Entry {
  std::vector<std::int64_t> key;
  std::uint64_t hash = 0;
  std::vector<nb::object> keep;  // objects whose addresses are in the key
  // By leaf: its sizes; below 0 the symbol -1 - size. Empty where it is no array.
  std::vector<std::vector<std::int64_t>> dims;
  std::size_t num_symbols = 0;
  nb::object function;  // keeps the next
  const PyFunction* compiled = nullptr;
  std::vector<Source> sources;
  bool direct = false;  // the arguments are the leaves, all of them arrays, in their order
  OutPlan out;
  nb::object autograd;  // gives the results of calls that torch records; may be None
  long owners = 0;
};

// Owns an entry with others. The GIL guards the count: one of shared_ptr's is atomic, and a call
// would wait for it four times.
class EntryRef {
 public:
  EntryRef() = default;
  explicit EntryRef(std::unique_ptr<Entry> entry) : entry_(entry.release()) { ++entry_->owners; }
  EntryRef(const EntryRef& other) : entry_(other.entry_) {
    if (entry_ != nullptr) ++entry_->owners;
  }
  EntryRef(EntryRef&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  EntryRef& operator=(EntryRef other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~EntryRef() {
    if (entry_ != nullptr && --entry_->owners == 0) delete entry_;
  }
  explicit operator bool() const { return entry_ != nullptr; }
  const Entry& operator*() const { return *entry_; }
  const Entry* operator->() const { return entry_; }
  friend bool operator==(const EntryRef& a, const EntryRef& b) { return a.entry_ == b.entry_; }

 private:
  Entry* entry_ = nullptr;
};

struct Front {
  StaticArgs statics;
  std::vector<EntryRef> entries;
  EntryRef last;
  long long hits = 0;
};

struct JitObject {
  PyObject ob_base;
  vectorcallfunc vectorcall;
  Front* front;
};

PyTypeObject* jit_type = nullptr;

JitObject* JitOf(nb::handle object) {
  if (!PyObject_TypeCheck(object.ptr(), jit_type))
    ThrowTypeError("expected a jitfuse._core.JitFunction, got " + TypeName(object.ptr()));
  return reinterpret_cast<JitObject*>(object.ptr());
}

// ---- A warm call.

bool SizesFit(const Entry& entry, const FlatCall& call) {
  std::int64_t symbols[kMaxSymbols];
  for (std::size_t s = 0; s < entry.num_symbols; ++s) symbols[s] = -1;  // few: no call of memset
  for (std::size_t i = 0; i < entry.dims.size(); ++i) {
    if (!call.leaves[i].is_array) continue;
    const std::vector<std::int64_t>& sizes = call.arrays[i].dims();
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const std::int64_t expected = entry.dims[i][d];
      if (expected >= 0) {
        if (sizes[d] != expected) return false;
        continue;
      }
      std::int64_t& symbol = symbols[-1 - expected];
      if (symbol < 0) symbol = sizes[d];
      if (symbol != sizes[d]) return false;
    }
  }
  return true;
}

bool Fits(const Entry& entry, const FlatCall& call) {
  return entry.key == call.key && SizesFit(entry, call);
}

EntryRef Find(Front* front, const FlatCall& call) {
  if (front->last && Fits(*front->last, call)) return front->last;
  const std::uint64_t hash = call.Hash();
  for (const EntryRef& entry : front->entries) {
    if (entry->hash == hash && Fits(*entry, call)) return front->last = entry;
  }
  return {};
}

// The arrays of out=, which may be one, a tuple or a list.
struct Outs {
  explicit Outs(PyObject* out) : one(out) {
    if (out == nullptr || out == Py_None) return;
    pointers = &one;
    count = 1;
    if (!PyTuple_Check(out) && !PyList_Check(out)) return;
    items = nb::steal(CheckNew(PySequence_Tuple(out)));
    for (nb::handle item : nb::borrow<nb::tuple>(items)) several.push_back(item.ptr());
    count = several.size();
    if (count > 0) pointers = several.data();
  }
  Outs(const Outs&) = delete;
  Outs& operator=(const Outs&) = delete;
  PyObject* one;
  nb::object items;
  std::vector<PyObject*> several;
  PyObject* const* pointers = nullptr;  // null: not given
  std::size_t count = 0;
};

// A call as it is read. Its memory is the thread's, used again by the next call, but for a call
// that is made inside of another one.
class ReadCall {
 public:
  ReadCall() {
    Parts& spare = Spare();
    own_ = spare.taken;
    at_ = own_ ? new Parts : &spare;
    at_->taken = true;
  }
  ~ReadCall() {
    if (own_) {
      delete at_;
      return;
    }
    at_->call.Clear();  // which may run anything, calls too
    at_->in.Clear();
    at_->taken = false;
  }
  ReadCall(const ReadCall&) = delete;
  ReadCall& operator=(const ReadCall&) = delete;
  FlatCall& call() { return at_->call; }
  CallInputs& in() { return at_->in; }

 private:
  struct Parts {
    FlatCall call;
    CallInputs in;
    bool taken = false;
  };
  static Parts& Spare() {
    thread_local Parts spare;
    return spare;
  }

  bool own_;
  Parts* at_;
};

struct Results {
  explicit Results(std::size_t n) : objects(n, nullptr) {}
  ~Results() {
    for (PyObject* object : objects) Py_XDECREF(object);
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;
  std::vector<PyObject*> objects;
};

// A call that torch records, kept out of the way of others: entry.autograd gives the outputs for
// the function's arguments.
[[gnu::noinline]] PyObject* RunRecorded(const Entry& entry, const FlatCall& call,
                                        const Outs& outs) {
  if (outs.pointers != nullptr)
    ThrowValueError(entry.compiled->name + ": out= cannot be given where an argument requires " +
                    "grad; use the results, or call it under torch.no_grad()");
  nb::object args = nb::steal(CheckNew(PyTuple_New(static_cast<Py_ssize_t>(entry.sources.size()))));
  for (std::size_t i = 0; i < entry.sources.size(); ++i) {
    const Source& source = entry.sources[i];
    PyObject* object =
        source.captured.is_valid() ? source.captured.ptr() : call.leaves[source.leaf].object;
    PyTuple_SetItem(args.ptr(), static_cast<Py_ssize_t>(i), Py_NewRef(object));
  }
  const WithoutDynamo without_dynamo;
  const nb::object made =
      nb::steal(CheckNew(PyObject_CallObject(entry.autograd.ptr(), args.ptr())));
  std::vector<PyObject*> results;
  for (nb::handle result : nb::borrow<nb::tuple>(made)) results.push_back(result.ptr());
  if (results.size() != entry.compiled->outputs.size())
    ThrowValueError(entry.compiled->name + ": expected " +
                    std::to_string(entry.compiled->outputs.size()) + " results, got " +
                    std::to_string(results.size()));
  return Build(entry.out, results.data()).release().ptr();
}

// The arguments of a call whose leaves they are not, one by one.
void AddSources(const Entry& entry, FlatCall* call, CallInputs* in) {
  const PyFunction& f = *entry.compiled;
  in->Reserve(entry.sources.size());
  for (std::size_t i = 0; i < entry.sources.size(); ++i) {
    const Source& source = entry.sources[i];
    if (source.captured.is_valid() || !call->leaves[source.leaf].is_array) {
      const bool captured = source.captured.is_valid();
      AddArg(f, i, captured ? source.captured.ptr() : call->leaves[source.leaf].object, in);
      continue;
    }
    CallLeaf& leaf = call->leaves[source.leaf];
    Array& array = call->arrays[source.leaf];
    AddLoan(f, i, leaf.object, array.device(), source.last ? std::move(leaf.loan) : Loan(leaf.loan),
            in);
    in->arrays.push_back(source.last ? std::move(array) : Array(array));
  }
}

// While it lives, the arguments of a call are in `in`. Where they are the leaves, their arrays are
// put there and back, so that the next call finds its views.
class Inputs {
 public:
  Inputs(const Entry& entry, FlatCall* call, CallInputs* in)
      : call_(entry.direct ? call : nullptr), in_(in) {
    if (call_ == nullptr) {
      AddSources(entry, call, in);
      return;
    }
    for (std::size_t i = 0; i < call->leaves.size(); ++i) {
      CallLeaf& leaf = call->leaves[i];
      AddLoan(*entry.compiled, i, leaf.object, call->arrays[i].device(), std::move(leaf.loan), in);
    }
    in_->arrays.swap(call_->arrays);
  }
  ~Inputs() {
    if (call_ != nullptr) in_->arrays.swap(call_->arrays);
  }
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

 private:
  FlatCall* const call_;
  CallInputs* const in_;
};

PyObject* Run(const Entry& entry, ReadCall& read, PyObject* out) {
  const PyFunction& f = *entry.compiled;
  CallInputs& in = read.in();
  const Inputs inputs(entry, &read.call(), &in);
  const Outs outs(out);
  if (in.requires_grad >= 0) [[unlikely]] {
    if (!entry.autograd.is_none()) return RunRecorded(entry, read.call(), outs);
    CheckNoGrad(f, in);
  }
  CallOptions options;
  DrawnRng drawn;
  if (f.random_ops > 0) drawn = DrawRng(in.torch_tensor, f.random_ops);
  options.rng = drawn.rng;
  options.outs = outs.pointers;
  options.num_outs = outs.count;
  if (entry.out.kind == OutPlan::kResult && f.outputs.size() == 1) {
    PyObject* result = nullptr;
    Execute(f, in, options, &result);
    return result;
  }
  Results results(f.outputs.size());
  Execute(f, in, options, results.objects.data());
  return Build(entry.out, results.objects.data()).release().ptr();
}

// The keywords of a vectorcall without `out`.
struct Keywords {
  Keywords(PyObject* const* values, PyObject* kwnames) {
    static PyObject* const out_name = PyUnicode_InternFromString("out");
    const Py_ssize_t n = kwnames == nullptr ? 0 : PyTuple_Size(kwnames);
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* name = PyTuple_GetItem(kwnames, i);
      if (name == out_name || PyUnicode_Compare(name, out_name) == 0) {
        out = values[i];
      } else {
        names.push_back(name);
        this->values.push_back(values[i]);
      }
    }
  }
  PyObject* out = nullptr;
  std::vector<PyObject*> names, values;
};

PyObject* CallSlow(PyObject* self, PyObject* const* args, std::size_t nargsf, PyObject* kwnames) {
  static PyObject* const name = PyUnicode_InternFromString("_call_slow");
  const WithoutDynamo without_dynamo;
  nb::object method = nb::steal(CheckNew(PyObject_GetAttr(self, name)));
  return CheckNew(PyObject_Vectorcall(
      method.ptr(), args, static_cast<std::size_t>(PyVectorcall_NARGS(nargsf)), kwnames));
}

PyObject* JitCall(PyObject* self, PyObject* const* args, std::size_t nargsf, PyObject* kwnames) {
  return GuardedCall([&]() -> PyObject* {
    Front* front = reinterpret_cast<JitObject*>(self)->front;
    if (front->entries.empty()) return CallSlow(self, args, nargsf, kwnames);
    const auto num_args = static_cast<std::size_t>(PyVectorcall_NARGS(nargsf));
    const Keywords keywords(args + num_args, kwnames);
    ReadCall read;
    EntryRef entry;
    if (FlattenCall(args, num_args, keywords.names.data(), keywords.values.data(),
                    keywords.names.size(), front->statics, &read.call()))
      entry = Find(front, read.call());
    if (!entry) return CallSlow(self, args, nargsf, kwnames);
    ++front->hits;
    return Run(*entry, read, keywords.out);
  });
}

// ---- What Python tells the front.

// Sizes of each leaf, given as those of the traced leaves (`order` says which leaf each is).
void SetDims(Entry* entry, const FlatCall& call, const std::vector<std::size_t>& order,
             nb::handle dims) {
  entry->dims.resize(call.leaves.size());
  std::vector<std::string> symbols;
  std::size_t traced = 0;
  for (nb::handle own : nb::iter(dims)) {
    const std::size_t leaf = order[traced++];
    if (own.is_none()) continue;
    for (nb::handle d : nb::iter(own)) {
      if (!nb::isinstance<nb::str>(d)) {
        entry->dims.at(leaf).push_back(nb::cast<std::int64_t>(d));
        continue;
      }
      const auto name = nb::cast<std::string>(d);
      auto it = std::find(symbols.begin(), symbols.end(), name);
      if (it == symbols.end()) it = symbols.insert(symbols.end(), name);
      entry->dims.at(leaf).push_back(-1 - (it - symbols.begin()));
    }
  }
  entry->num_symbols = symbols.size();
  for (std::size_t i = 0; i < call.leaves.size(); ++i) {
    const bool is_array = call.leaves[i].is_array;
    if (is_array && entry->dims[i].size() != call.arrays[i].dims().size())
      ThrowValueError("jit_add: sizes of leaf " + std::to_string(i) + " are of another rank");
  }
}

// The key of a call as Python sees it; false where such calls cannot be known.
bool FlattenPythonCall(const Front& front, const nb::tuple& args, const nb::dict& kwargs,
                       FlatCall* out) {
  std::vector<PyObject*> positional, names, values;
  for (nb::handle a : args) positional.push_back(a.ptr());
  for (auto [name, value] : kwargs) {
    names.push_back(name.ptr());
    values.push_back(value.ptr());
  }
  return FlattenCall(positional.data(), positional.size(), names.data(), values.data(),
                     names.size(), front.statics, out);
}

// Of each traced leaf, which leaf of the call it is.
std::vector<std::size_t> OrderOf(const FlatCall& call, const nb::object& given,
                                 const nb::object& dims) {
  std::vector<std::size_t> order;
  if (given.is_none()) {
    for (std::size_t i = 0; i < call.leaves.size(); ++i) order.push_back(i);
  } else {
    for (nb::handle i : nb::iter(given)) order.push_back(nb::cast<std::size_t>(i));
  }
  if (order.size() != nb::len(dims))
    ThrowValueError("jit_add: expected sizes of " + std::to_string(order.size()) +
                    " leaves, got those of " + std::to_string(nb::len(dims)));
  for (std::size_t i : order) {
    if (i >= call.leaves.size()) ThrowValueError("jit_add: there is no leaf " + std::to_string(i));
  }
  return order;
}

void SetSources(Entry* entry, const FlatCall& call, const std::vector<std::size_t>& order,
                const nb::object& sources, const nb::object& captured) {
  for (nb::handle source : nb::iter(sources)) {
    const auto number = nb::cast<std::size_t>(source[nb::int_(1)]);
    const bool is_leaf = nb::cast<std::string>(source[nb::int_(0)]) == "leaf";
    if (is_leaf && number >= order.size())
      ThrowValueError("jit_add: there is no leaf " + std::to_string(number));
    Source s;
    if (is_leaf)
      s.leaf = order[number];
    else
      s.captured = nb::borrow(captured[nb::int_(number)]);
    for (Source& earlier : entry->sources) {
      if (is_leaf && !earlier.captured.is_valid() && earlier.leaf == s.leaf) earlier.last = false;
    }
    entry->sources.push_back(std::move(s));
  }
  const auto is_leaf_itself = [&](const Source& s) {
    const auto i = static_cast<std::size_t>(&s - entry->sources.data());
    return !s.captured.is_valid() && s.leaf == i && call.leaves[i].is_array;
  };
  entry->direct = entry->sources.size() == call.leaves.size() &&
                  std::all_of(entry->sources.begin(), entry->sources.end(), is_leaf_itself);
  const std::size_t expected = entry->compiled->inputs.size();
  if (entry->sources.size() != expected)
    ThrowValueError("jit_add: expected " + std::to_string(expected) + " sources, got " +
                    std::to_string(entry->sources.size()));
}

void SetOut(Entry* entry, const nb::object& structure, const nb::object& out_leaves) {
  std::vector<nb::object> leaves;
  for (nb::handle leaf : nb::iter(out_leaves)) leaves.push_back(nb::borrow(leaf));
  std::size_t next = 0;
  entry->out = PlanOf(structure, leaves, &next);
  CheckResults(entry->out, entry->compiled->outputs.size());
}

bool AddEntry(nb::handle self, const nb::tuple& args, const nb::dict& kwargs,
              const nb::object& order_or_none, const nb::object& function, const nb::object& dims,
              const nb::object& sources, const nb::object& captured, const nb::object& structure,
              const nb::object& out_leaves, const nb::object& autograd) {
  Front* front = JitOf(self)->front;
  FlatCall call;
  if (!FlattenPythonCall(*front, args, kwargs, &call)) return false;
  if (Find(front, call)) return true;  // another thread was first
  const std::vector<std::size_t> order = OrderOf(call, order_or_none, dims);
  auto entry = std::make_unique<Entry>();
  SetDims(entry.get(), call, order, dims);
  if (entry->num_symbols > kMaxSymbols) return false;
  entry->function = function;
  entry->compiled = &nb::cast<const PyFunction&>(function);
  SetSources(entry.get(), call, order, sources, captured);
  SetOut(entry.get(), structure, out_leaves);
  entry->autograd = autograd;
  entry->hash = call.Hash();
  for (PyObject* object : call.named) entry->keep.push_back(nb::borrow(object));
  entry->key = std::move(call.key);
  std::vector<EntryRef> forgotten;  // freed last: that may run anything
  if (front->entries.size() >= kMaxEntries) {
    forgotten.swap(front->entries);
    forgotten.push_back(std::move(front->last));
  }
  front->entries.emplace_back(std::move(entry));
  return true;
}

void SetStatics(nb::handle self, const nb::object& positions, const nb::object& names) {
  StaticArgs statics;
  for (nb::handle p : nb::iter(positions)) {
    const auto at = nb::cast<std::size_t>(p);
    if (at >= statics.positions.size()) statics.positions.resize(at + 1);
    statics.positions[at] = true;
  }
  for (nb::handle n : nb::iter(names)) statics.names.push_back(nb::borrow(n));
  JitOf(self)->front->statics = std::move(statics);
}

// ---- The type.

// Before 3.12 a class written in Python does not inherit that its calls need no tuple and no dict.
void InheritVectorcall([[maybe_unused]] PyTypeObject* type) {
#if !defined(Py_LIMITED_API) && PY_VERSION_HEX < 0x030C0000
  if (type->tp_call == PyVectorcall_Call) type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
#endif
}

PyObject* JitNew(PyTypeObject* type, PyObject*, PyObject*) {
  InheritVectorcall(type);
  auto* self = reinterpret_cast<JitObject*>(PyType_GenericAlloc(type, 0));
  if (self == nullptr) return nullptr;
  self->vectorcall = JitCall;
  self->front = new Front;
  return reinterpret_cast<PyObject*>(self);
}

int JitInit(PyObject*, PyObject*, PyObject*) { return 0; }

int JitTraverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  const Front* front = reinterpret_cast<JitObject*>(object)->front;
  if (front == nullptr) return 0;
  for (const auto& entry : front->entries) {
    // Only where the front alone holds it: a call that is going on holds its own.
    if (entry->owners > (entry == front->last ? 2 : 1)) continue;
    for (const Source& s : entry->sources) Py_VISIT(s.captured.ptr());
    for (const nb::object& o : entry->keep) Py_VISIT(o.ptr());
    Py_VISIT(entry->autograd.ptr());
    if (const int stop = VisitPlan(entry->out, visit, arg)) return stop;
  }
  return 0;
}

int JitClear(PyObject* object) {
  Front* front = reinterpret_cast<JitObject*>(object)->front;
  if (front == nullptr) return 0;
  std::vector<EntryRef> entries;
  entries.swap(front->entries);
  const EntryRef last = std::move(front->last);
  return 0;
}

void JitDealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  delete std::exchange(reinterpret_cast<JitObject*>(object)->front, nullptr);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

}  // namespace

void DefineJitFunction(nb::module_& m) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(JitObject, vectorcall), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(JitNew)},
      {Py_tp_init, reinterpret_cast<void*>(JitInit)},
      {Py_tp_dealloc, reinterpret_cast<void*>(JitDealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(JitTraverse)},
      {Py_tp_clear, reinterpret_cast<void*>(JitClear)},
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_members, members},
      {Py_tp_doc, const_cast<char*>("The front of a jitted function (see jitfuse.jit).")},
      {0, nullptr}};
  static PyType_Spec spec = {
      "jitfuse._core.JitFunction", sizeof(JitObject), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
      slots};
  jit_type = reinterpret_cast<PyTypeObject*>(CheckNew(PyType_FromSpec(&spec)));
  m.attr("JitFunction") = nb::borrow(reinterpret_cast<PyObject*>(jit_type));
  m.def("jit_statics", SetStatics, "jit"_a, "positions"_a, "names"_a,
        "Which positional arguments and which keywords are static.");
  m.def("jit_add", AddEntry, "jit"_a, "args"_a, "kwargs"_a, "order"_a.none(), "function"_a,
        "dims"_a, "sources"_a, "captured"_a, "structure"_a, "out_leaves"_a,
        "autograd"_a = nb::none(),
        nb::sig("def jit_add(jit: JitFunction, args: tuple[typing.Any, ...], kwargs: dict[str, "
                "typing.Any], order: collections.abc.Sequence[int] | None, function: Function, "
                "dims: collections.abc.Sequence[typing.Any], sources: "
                "collections.abc.Sequence[tuple[str, int]], captured: "
                "collections.abc.Sequence[typing.Any], structure: typing.Any, out_leaves: "
                "collections.abc.Sequence[typing.Any], autograd: typing.Any = None) -> bool"),
        "From now on calls like this one go to `function`, and to `autograd` where torch records "
        "them. False where such calls cannot.");
  m.def("jit_clear", [](nb::handle jit) { JitClear(reinterpret_cast<PyObject*>(JitOf(jit))); });
  m.def("jit_hits", [](nb::handle jit) { return JitOf(jit)->front->hits; });
}

}  // namespace jitfuse::python
