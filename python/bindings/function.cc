#include "python/bindings/function.h"

#include <optional>
#include <utility>

#include "python/bindings/errors.h"
#include "python/bindings/framework_memory.h"
#include "python/bindings/gil.h"
#include "python/bindings/results.h"
#include "python/bindings/streams.h"

namespace jitfuse::python {
namespace {

std::string TypeText(const InputInfo& info) {
  if (info.scalar) return std::string("a number (") + DTypeName(info.dtype) + ")";
  std::string out = std::string(DTypeName(info.dtype)) + "[";
  for (std::size_t d = 0; d < info.dims.size(); ++d) out += (d == 0 ? "" : ",") + info.dims[d];
  return out + "]";
}

void CheckAgainst(const InputInfo& expected, const Array& got, const ArgName& what) {
  if (got.dtype() != expected.dtype)
    ThrowTypeError(what.Text() + ": expected " + TypeText(expected) + ", got " + Describe(got));
  if (got.dims().size() != expected.dims.size())
    ThrowValueError(what.Text() + ": expected " + TypeText(expected) + ", got " + Describe(got));
}

ArgName NameOf(const PyFunction& f, std::size_t i) {
  return {f.name.c_str(), "argument", static_cast<int>(i), f.inputs[i].name.c_str()};
}

std::string Counted(std::size_t n, const char* noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

}  // namespace

PyFunction::PyFunction(Function f)
    : function(std::move(f)),
      inputs(InputsOf(function)),
      outputs(OutputsOf(function)),
      random_ops(NumRandomOps(function)) {
  const std::string text = function.ToText();  // "graph NAME(..."
  const std::size_t begin = text.find(' ') + 1;
  name = text.substr(begin, text.find_first_of("( ", begin) - begin);
}

void CallInputs::Add(PyObject* object, Borrowed&& borrowed) {
  if (borrowed.type != nullptr) {
    const bool better = like == nullptr ||
                        (like->family == Family::kNumpy && borrowed.type->family != Family::kNumpy);
    if (better) {
      like = borrowed.type;
      like_object = object;
    }
    if (gpu_type == nullptr && borrowed.array.device().kind == DeviceKind::kCuda) {
      gpu_type = borrowed.type;
      gpu_object = object;
    }
  }
  if (borrowed.owner != nullptr) owners.push_back(std::move(borrowed.owner));
  arrays.push_back(std::move(borrowed.array));
}

void AddBorrowed(const PyFunction& f, std::size_t i, PyObject* object, Borrowed&& borrowed,
                 CallInputs* in) {
  if (borrowed.type->is_torch && RequiresGrad(object))
    ThrowValueError(NameOf(f, i).Text() +
                    " requires grad, and Jitfuse computes no gradients yet: call it under "
                    "torch.no_grad(), or pass .detach()");
  in->Add(object, std::move(borrowed));
}

void AddArg(const PyFunction& f, std::size_t i, PyObject* object, CallInputs* in) {
  const InputInfo& info = f.inputs[i];
  const ArgName what = NameOf(f, i);
  if (info.dims.empty() && IsNumber(object)) {
    in->arrays.push_back(NumberAs(object, info.dtype, what));
    return;
  }
  Borrowed borrowed = BorrowArray(object, TypeInfoOf(object), what);
  CheckAgainst(info, borrowed.array, what);
  AddBorrowed(f, i, object, std::move(borrowed), in);
}

CallInputs BorrowArgs(const PyFunction& f, PyObject* const* args, std::size_t num_args) {
  if (num_args != f.inputs.size())
    ThrowTypeError(f.name + ": expected " + Counted(f.inputs.size(), "argument") + ", got " +
                   std::to_string(num_args));
  CallInputs in;
  in.Reserve(num_args);
  for (std::size_t i = 0; i < num_args; ++i) AddArg(f, i, args[i], &in);
  return in;
}

namespace {

// The arrays that results are written into, checked.
struct CallOutputs {
  std::vector<Array> arrays;
  std::vector<std::shared_ptr<void>> owners;
};

CallOutputs BorrowOuts(const PyFunction& f, const CallOptions& options) {
  if (options.num_outs != f.outputs.size())
    ThrowTypeError(f.name + ": expected out= with " + Counted(f.outputs.size(), "array") +
                   ", got " + std::to_string(options.num_outs));
  CallOutputs out;
  out.arrays.reserve(options.num_outs);
  for (std::size_t i = 0; i < options.num_outs; ++i) {
    const ArgName what{f.name.c_str(), "out", static_cast<int>(i), ""};
    const TypeInfo& type = TypeInfoOf(options.outs[i]);
    Borrowed borrowed = BorrowArray(options.outs[i], type, what);
    if (borrowed.readonly) ThrowValueError(what.Text() + " is read-only");
    CheckAgainst(f.outputs[i], borrowed.array, what);
    if (type.is_torch && RequiresGrad(options.outs[i]))
      ThrowValueError(what.Text() + " requires grad; write into a tensor that does not");
    if (borrowed.owner != nullptr) out.owners.push_back(std::move(borrowed.owner));
    out.arrays.push_back(std::move(borrowed.array));
  }
  return out;
}

// Of the framework whose arrays are on the GPU.
void* StreamOf(const CallInputs& in) {
  if (in.gpu_type == nullptr) return nullptr;
  if (in.gpu_type->family != Family::kExchange) return CurrentStream(in.gpu_object);
  for (const Array& a : in.arrays) {
    if (a.device().kind == DeviceKind::kCuda) return CurrentStream(*in.gpu_type->api, a.device());
  }
  return nullptr;
}

bool IsCupy(PyObject* object) { return TypeName(object).substr(0, 5) == "cupy."; }

// Runs with results from `memory`, the framework's.
template <typename Memory>
void RunWith(const PyFunction& f, const CallInputs& in, RunOptions& run, Memory* memory,
             PyObject** results) {
  run.results = memory;
  Check(f.function.Run(in.arrays, run).status());
  memory->Release(results);
}

Device DeviceOf(const CallInputs& in) {
  for (const Array& a : in.arrays) {
    if (a.device().kind == DeviceKind::kCuda) return a.device();
  }
  return {};
}

}  // namespace

void Execute(const PyFunction& f, CallInputs& in, const CallOptions& options, PyObject** results) {
  WithoutGil without_gil;
  RunOptions run;
  run.rng = options.rng;
  run.long_work = &without_gil;
  run.stream = StreamOf(in);
  const TypeInfo* owner = options.framework_memory ? in.like : in.gpu_type;
  std::optional<ExchangeMemory> memory;
  if (owner != nullptr && owner->family == Family::kExchange)
    run.allocator = &memory.emplace(*owner->api, DeviceOf(in));
  if (options.outs != nullptr) {
    const CallOutputs outs = BorrowOuts(f, options);
    Check(f.function.RunInto(in.arrays, outs.arrays, run));
    for (std::size_t i = 0; i < options.num_outs; ++i) results[i] = Py_NewRef(options.outs[i]);
    return;
  }
  if (memory.has_value()) return RunWith(f, in, run, &*memory, results);
  if (in.gpu_type != nullptr && IsCupy(in.gpu_object)) {
    nb::object cupy = nb::module_::import_("cupy");
    ModuleMemory made(cupy.ptr());
    return RunWith(f, in, run, &made, results);
  }
  std::vector<Array> arrays = Check(f.function.Run(in.arrays, run));
  if (arrays.size() == 1) {
    results[0] = WrapResult(std::move(arrays[0]), in.like, in.like_object);
    return;
  }
  std::vector<nb::object> wrapped;
  for (Array& a : arrays)
    wrapped.push_back(nb::steal(WrapResult(std::move(a), in.like, in.like_object)));
  for (std::size_t i = 0; i < wrapped.size(); ++i) results[i] = wrapped[i].release().ptr();
}

void Call(const PyFunction& f, PyObject* const* args, std::size_t num_args,
          const CallOptions& options, PyObject** results) {
  CallInputs in = BorrowArgs(f, args, num_args);
  Execute(f, in, options, results);
}

}  // namespace jitfuse::python
