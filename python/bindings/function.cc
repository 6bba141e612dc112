#include "python/bindings/function.h"

#include <optional>
#include <utility>

#include "jitfuse/context.h"
#include "python/bindings/errors.h"
#include "python/bindings/framework_memory.h"
#include "python/bindings/gil.h"
#include "python/bindings/results.h"
#include "python/bindings/streams.h"
#include "python/bindings/torch_state.h"

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

bool SameFramework(const TypeInfo& a, const TypeInfo& b) {
  if (a.type == b.type || (a.api != nullptr && a.api == b.api)) return true;
  return (a.is_cupy && b.is_cupy) || (a.is_jax && b.is_jax);
}

std::string Counted(std::size_t n, const char* noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

}  // namespace

PyFunction::PyFunction(Function f, bool compiles_in_background)
    : function(std::move(f)),
      background(compiles_in_background),
      inputs(InputsOf(function)),
      outputs(OutputsOf(function)),
      random_ops(NumRandomOps(function)) {
  const std::string text = function.ToText();  // "graph NAME(..."
  const std::size_t begin = text.find(' ') + 1;
  name = text.substr(begin, text.find_first_of("( ", begin) - begin);
}

void CallOutputs::Clear() {
  owners.clear();
  other_streams.clear();
  of_torch.clear();
  gpu_type = nullptr;
  gpu_device = {};
}

PyFunction::~PyFunction() {
  if (!background) return;
  WithoutGil gil;
  gil.Begin();
  function = Function();
  gil.End();
}

void CallInputs::Clear() {
  outs.Clear();
  arrays.clear();
  owners.clear();
  other_streams.clear();
  like = gpu_type = nullptr;
  like_object = torch_tensor = nullptr;
  gpu_device = {};
  requires_grad = -1;
  dual_level = -1;
}

void CallInputs::Add(PyObject* object, Device device, Loan&& loan) {
  if (loan.type != nullptr) {
    const bool better =
        like == nullptr || (like->family == Family::kNumpy && loan.type->family != Family::kNumpy);
    if (better) {
      like = loan.type;
      like_object = object;
    }
    if (device.kind == DeviceKind::kCuda) {
      if (gpu_type == nullptr) {
        gpu_type = loan.type;
        gpu_device = device;
      }
      if (!SameFramework(*gpu_type, *loan.type))
        other_streams.push_back(CurrentStream(*loan.type, device));
    }
  }
  if (loan.owner != nullptr) owners.push_back(std::move(loan.owner));
}

void AddLoan(const PyFunction& f, std::size_t i, PyObject* object, Device device, Loan&& loan,
             CallInputs* in) {
  if (loan.type->is_torch) {
    if (in->torch_tensor == nullptr) {
      in->torch_tensor = object;
      in->dual_level = MayHaveTangents() ? 1 : 0;
      CheckNotRecorded(f.name);
    }
    if (in->dual_level == 1 && HasTangent(object))
      ThrowValueError(NameOf(f, i).Text() +
                      " has a tangent of torch.autograd.forward_ad, which would be lost: forward-" +
                      "mode differentiation does not go through Jitfuse; use jitfuse.grad or "
                      "backward(), or pass unpack_dual(it).primal");
    if (in->requires_grad < 0 && RequiresGrad(object)) in->requires_grad = static_cast<int>(i);
  }
  in->Add(object, device, std::move(loan));
}

void CheckNoGrad(const PyFunction& f, const CallInputs& in) {
  if (in.requires_grad < 0) return;
  ThrowValueError(NameOf(f, static_cast<std::size_t>(in.requires_grad)).Text() +
                  " requires grad: call it under torch.no_grad(), or pass .detach(); functions "
                  "under jitfuse.jit join torch's autograd");
}

void AddArg(const PyFunction& f, std::size_t i, PyObject* object, CallInputs* in) {
  const InputInfo& info = f.inputs[i];
  const ArgName what = NameOf(f, i);
  if (info.dims.empty() && IsNumber(object)) {
    in->arrays.push_back(NumberAs(object, info.dtype, what));
    return;
  }
  Borrowed borrowed = BorrowArray(object, what);
  CheckAgainst(info, borrowed.array, what);
  AddLoan(f, i, object, borrowed.array.device(), std::move(borrowed.loan), in);
  in->arrays.push_back(std::move(borrowed.array));
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

// On a GPU kernels that read seed and offset from memory, as calls in a captured CUDA graph do, are
// others, which cannot be compiled while it is captured. What is run before on a stream that is not
// the default one is compiled both ways, for captures are made on such streams and warmed up there.
void WarmForCapture(const PyFunction& f, const CallInputs& in, const RunOptions& options) {
  if (f.random_ops == 0 || options.stream == nullptr || in.torch_tensor == nullptr) return;
  if (options.rng.device_state != nullptr || IsCapturing()) return;
  alignas(16) static const std::uint64_t words[2] = {
      0, 0};  // are not read; aligned as what torch allocates
  RunOptions captured;
  captured.stream = options.stream;
  captured.rng.device_state = words;
  Check(f.function.Warm(in.arrays, captured));
}

void BorrowOuts(const PyFunction& f, const CallOptions& options, CallInputs* in) {
  if (options.num_outs != f.outputs.size())
    ThrowTypeError(f.name + ": expected out= with " + Counted(f.outputs.size(), "array") +
                   ", got " + std::to_string(options.num_outs));
  CallOutputs& out = in->outs;
  out.gpu_type = in->gpu_type;
  out.arrays.resize(options.num_outs);
  for (std::size_t i = 0; i < options.num_outs; ++i) {
    const ArgName what{f.name.c_str(), "out", static_cast<int>(i), ""};
    const TypeInfo& type = TypeInfoOf(options.outs[i], what);
    Loan loan = BorrowInto(options.outs[i], type, what, &out.arrays[i]);
    if (loan.readonly || type.is_jax) ThrowValueError(what.Text() + " is read-only");
    CheckAgainst(f.outputs[i], out.arrays[i], what);
    if (type.is_torch && RequiresGrad(options.outs[i]))
      ThrowValueError(what.Text() + " requires grad; write into a tensor that does not");
    if (type.is_torch) out.of_torch.push_back(options.outs[i]);
    const Device device = out.arrays[i].device();
    if (device.kind == DeviceKind::kCuda && out.gpu_type == nullptr) {
      out.gpu_type = &type;
      out.gpu_device = device;
    } else if (device.kind == DeviceKind::kCuda && !SameFramework(*out.gpu_type, type)) {
      out.other_streams.push_back(CurrentStream(type, device));
    }
    if (loan.owner != nullptr) out.owners.push_back(std::move(loan.owner));
  }
}

// Runs with results from `memory`, the framework's.
void RunWith(const PyFunction& f, const CallInputs& in, RunOptions& run, FrameworkMemory* memory,
             PyObject** results) {
  run.results = memory;
  Check(f.function.Run(in.arrays, run).status());
  memory->Release(results);
}

void RunAndWrap(const PyFunction& f, const CallInputs& in, const RunOptions& run,
                PyObject** results) {
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

[[noreturn]] void ThrowBoundRequiresGrad(const PyFunction& f, const std::string& name) {
  ThrowValueError(f.name + ": argument '" + name +
                  "' requires grad, and gradients for what is bound would be lost: bind "
                  ".detach() of it, or pass it to each call");
}

// What the call's own arrays do not say. ValueError where a bound tensor has been made to require
// grad since.
void TakeFromBound(const PyFunction& f, CallInputs* in) {
  const BoundObjects& bound = f.bound;
  for (const auto& [name, tensor] : bound.of_torch) {
    if (RequiresGrad(tensor)) [[unlikely]]
      ThrowBoundRequiresGrad(f, name);
  }
  if (in->like == nullptr) {
    in->like = bound.like;
    in->like_object = bound.like_object;
  }
  if (in->gpu_type == nullptr) {
    in->gpu_type = bound.gpu_type;
    in->gpu_device = bound.gpu_device;
  }
}

}  // namespace

void Execute(const PyFunction& f, CallInputs& in, const CallOptions& options, PyObject** results) {
  WithoutGil without_gil;
  RunOptions run;
  if (!f.bound.objects.empty()) TakeFromBound(f, &in);
  run.rng = options.rng;
  run.long_work = &without_gil;
  const CallOutputs& outs = in.outs;
  if (options.outs != nullptr) BorrowOuts(f, options, &in);
  if (in.gpu_type != nullptr)
    run.stream = CurrentStream(*in.gpu_type, in.gpu_device);
  else if (outs.gpu_type != nullptr)
    run.stream = CurrentStream(*outs.gpu_type, outs.gpu_device);
  for (void* stream : in.other_streams) Check(Synchronize(DeviceKind::kCuda, stream));
  for (void* stream : outs.other_streams) Check(Synchronize(DeviceKind::kCuda, stream));
  const TypeInfo* owner = options.framework_memory ? in.like : in.gpu_type;
  std::optional<TorchMemory> torch;
  std::optional<ExchangeMemory> exchange;
  std::optional<CupyMemory> cupy;
  FrameworkMemory* memory = nullptr;
  if (owner != nullptr && owner->family == Family::kExchange) {
    if (owner->is_torch)
      memory = &torch.emplace(*owner->api, in.gpu_device, results);
    else
      memory = &exchange.emplace(*owner->api, in.gpu_device);
  } else if (in.gpu_type != nullptr && in.gpu_type->is_cupy) {
    memory = &cupy.emplace();
  }
  run.allocator = memory;
  if (in.gpu_type != nullptr) WarmForCapture(f, in, run);
  if (options.outs != nullptr) {
    BumpVersions(outs.of_torch.data(), outs.of_torch.size());  // also if it fails half-way
    Check(f.function.RunInto(in.arrays, outs.arrays, run));
    for (std::size_t i = 0; i < options.num_outs; ++i) results[i] = Py_NewRef(options.outs[i]);
  } else if (memory != nullptr) {
    RunWith(f, in, run, memory, results);
  } else {
    RunAndWrap(f, in, run, results);
  }
  if (!in.other_streams.empty() || !outs.other_streams.empty())
    Check(Synchronize(DeviceKind::kCuda, run.stream));
}

std::string Tune(const PyFunction& f, PyObject* const* args, std::size_t num_args) {
  CallInputs in = BorrowArgs(f, args, num_args);
  if (!f.bound.objects.empty()) TakeFromBound(f, &in);
  WithoutGil without_gil;
  RunOptions run;
  run.long_work = &without_gil;
  if (in.gpu_type != nullptr) run.stream = CurrentStream(*in.gpu_type, in.gpu_device);
  for (void* stream : in.other_streams) Check(Synchronize(DeviceKind::kCuda, stream));
  return Check(f.function.Tune(in.arrays, run));
}

void Call(const PyFunction& f, PyObject* const* args, std::size_t num_args,
          const CallOptions& options, PyObject** results) {
  CallInputs in = BorrowArgs(f, args, num_args);
  CheckNoGrad(f, in);
  Execute(f, in, options, results);
}

namespace {

std::size_t InputNamed(const PyFunction& f, const std::string& name) {
  std::string names;
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    if (f.inputs[i].name == name) return i;
    names += (i == 0 ? "" : ", ") + f.inputs[i].name;
  }
  ThrowValueError(f.name + ": no input is called '" + name + "'; expected one of " + names);
}

// `in`: of the bound arrays alone.
void Keep(const CallInputs& in, BoundObjects* bound) {
  if (bound->like == nullptr) {
    bound->like = in.like;
    bound->like_object = in.like_object;
  }
  if (in.gpu_type == nullptr) return;
  // Calls come on any stream: the array is made ready for all of them.
  Check(Synchronize(DeviceKind::kCuda, CurrentStream(*in.gpu_type, in.gpu_device)));
  if (bound->gpu_type != nullptr) return;
  bound->gpu_type = in.gpu_type;
  bound->gpu_device = in.gpu_device;
}

}  // namespace

PyFunction BindArrays(const PyFunction& f, const std::vector<std::string>& names,
                      PyObject* const* arrays) {
  std::vector<std::pair<std::string, Array>> pairs;
  BoundObjects bound = f.bound;
  for (std::size_t i = 0; i < names.size(); ++i) {
    CallInputs in;
    AddArg(f, InputNamed(f, names[i]), arrays[i], &in);
    if (in.requires_grad >= 0) ThrowBoundRequiresGrad(f, names[i]);
    pairs.emplace_back(names[i], in.arrays[0]);
    bound.objects[names[i]] = nb::borrow(arrays[i]);
    bound.owners[names[i]] = in.owners;
    if (in.torch_tensor != nullptr) bound.of_torch.emplace_back(names[i], arrays[i]);
    Keep(in, &bound);
  }
  PyFunction out(Check(f.function.Bind(pairs)), f.background);
  out.bound = std::move(bound);
  return out;
}

}  // namespace jitfuse::python
