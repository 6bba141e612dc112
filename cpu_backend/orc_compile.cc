#include "cpu_backend/orc_compile.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/support/dump.h"
#include "ir/support/status.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"

namespace jitfuse::internal {
namespace {

constexpr char kTriple[] = "x86_64-unknown-linux-gnu";

std::atomic<int> codegen_initializations{0};

void InitializeLlvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    ++codegen_initializations;
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

// Where the session reports why a link failed; the lookup then only says that it did. Links run on
// the thread that looks up.
thread_local std::string link_errors;

absl::Status FromLlvm(llvm::Error error, std::string_view what) {
  std::string details = std::exchange(link_errors, {});
  return InternalError(ToAbsl(what), ": ", llvm::toString(std::move(error)),
                       details.empty() ? "" : "; ", details);
}

// A TargetMachine costs about a millisecond and is not thread-safe: one per thread and CPU.
absl::StatusOr<llvm::TargetMachine*> MachineFor(const std::string& cpu,
                                                const std::string& features) {
  thread_local std::map<std::pair<std::string, std::string>, std::unique_ptr<llvm::TargetMachine>>
      machines;
  std::unique_ptr<llvm::TargetMachine>& machine = machines[{cpu, features}];
  if (machine != nullptr) return machine.get();
  InitializeLlvm();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (target == nullptr) return InternalError("LLVM has no x86-64 target: ", error);
  std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(kTriple, "", ""));
  if (!known->isCPUStringValid(cpu))
    return InvalidArgument("LLVM ", LlvmVersion(), " knows no CPU '", cpu, "'");
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // fma is formed by BuildPlan alone
  options.EmitStackSizeSection = true;                 // explain() shows the kernel's frame
  machine.reset(target->createTargetMachine(kTriple, cpu, features, options, llvm::Reloc::PIC_,
                                            llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default,
                                            /*JIT=*/true));
  if (machine == nullptr) return InternalError("LLVM cannot make code for ", cpu);
  return machine.get();
}

// Cached code depends on these passes: a change raises kCacheFormat (jit/cache_entry.h).
// Lean on purpose: kernels come with explicit vectors and unrolling. SROA makes registers of the
// emitter's stack slots, EarlyCSE shares addresses, LICM hoists splats and row values out of the
// loops. No vectoriser, no unroller, no reassociation.
void Optimize(llvm::Module* module, llvm::TargetMachine* machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager cgsccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(cgsccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, cgsccs, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                       /*UseMemorySSA=*/true));
  for (llvm::Function& function : *module) {
    if (!function.isDeclaration()) passes.run(function, functions);
  }
}

absl::Status Malformed(std::string_view text, std::string_view message) {
  const std::string path = WriteDump("rejected", "ll", text);
  return InternalError("LLVM rejects the kernel's IR: ", ToAbsl(message), " (text in ",
                       path.empty() ? "no file: none could be written" : path, ")");
}

// The session lives as long as the process: kernels may outlive every static object.
class Session {
 public:
  static Session& Get() {
    static Session* session = new Session;
    return *session;
  }

  llvm::orc::ExecutionSession& execution() { return *execution_; }
  llvm::orc::ObjectLinkingLayer& layer() { return *layer_; }
  llvm::orc::JITDylib& allowed() { return *allowed_; }
  std::string NextName() { return absl::StrCat("kernel", serial_.fetch_add(1)); }

 private:
  Session() {
    execution_ = std::make_unique<llvm::orc::ExecutionSession>(
        llvm::cantFail(llvm::orc::SelfExecutorProcessControl::Create()));
    execution_->setErrorReporter([](llvm::Error error) {
      absl::StrAppend(&link_errors, link_errors.empty() ? "" : "; ",
                      llvm::toString(std::move(error)));
    });
    layer_ = std::make_unique<llvm::orc::ObjectLinkingLayer>(
        *execution_, execution_->getExecutorProcessControl().getMemMgr());
    allowed_ = &execution_->createBareJITDylib("allowed");
    llvm::orc::SymbolMap symbols;
    void* addresses[] = {reinterpret_cast<void*>(&memcpy), reinterpret_cast<void*>(&memmove),
                         reinterpret_cast<void*>(&memset)};
    for (size_t i = 0; i < AllowedSymbols().size(); ++i) {
      symbols[execution_->intern(AllowedSymbols()[i])] = {
          llvm::orc::ExecutorAddr::fromPtr(addresses[i]),
          llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    }
    llvm::cantFail(allowed_->define(llvm::orc::absoluteSymbols(std::move(symbols))));
  }

  std::unique_ptr<llvm::orc::ExecutionSession> execution_;
  std::unique_ptr<llvm::orc::ObjectLinkingLayer> layer_;
  llvm::orc::JITDylib* allowed_ = nullptr;
  std::atomic<int64_t> serial_{0};
};

class OrcObject : public LoadedObject {
 public:
  explicit OrcObject(llvm::orc::JITDylib* dylib) : dylib_(dylib) {}
  ~OrcObject() override { llvm::consumeError(Session::Get().execution().removeJITDylib(*dylib_)); }
  void* Address(std::string_view symbol) const override {
    auto it = addresses_.find(std::string(symbol));
    return it == addresses_.end() ? nullptr : it->second;
  }
  absl::Status Lookup(absl::Span<const std::string> symbols) {
    llvm::orc::ExecutionSession& execution = Session::Get().execution();
    for (const std::string& symbol : symbols) {
      llvm::Expected<llvm::orc::ExecutorSymbolDef> found = execution.lookup({dylib_}, symbol);
      if (!found) return FromLlvm(found.takeError(), "loading a kernel");
      addresses_[symbol] = found->getAddress().toPtr<void*>();
    }
    return absl::OkStatus();
  }

 private:
  llvm::orc::JITDylib* dylib_;
  std::map<std::string, void*> addresses_;
};

}  // namespace

HostCpu DetectHostCpu() {
  HostCpu host;
  host.name = llvm::sys::getHostCPUName().str();
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    host.features.push_back(absl::StrCat(feature.second ? "+" : "-", feature.first().str()));
  }
  std::sort(host.features.begin(), host.features.end(),
            [](const std::string& a, const std::string& b) {
              return a.compare(1, a.npos, b, 1, b.npos) < 0;
            });
  return host;
}

std::string LlvmVersion() { return LLVM_VERSION_STRING; }

int CodegenInitializations() { return codegen_initializations; }

absl::StatusOr<std::string> CompileLlvm(std::string_view text, std::string_view cpu,
                                        std::string_view features, LlvmOutput output) {
  JF_ASSIGN_OR_RETURN(llvm::TargetMachine * machine,
                      MachineFor(std::string(cpu), std::string(features)));
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseAssembly(
      llvm::MemoryBufferRef(llvm::StringRef(text.data(), text.size()), "kernel"), diagnostic,
      context);
  if (module == nullptr) {
    return Malformed(
        text, absl::StrCat("line ", diagnostic.getLineNo(), ": ", diagnostic.getMessage().str()));
  }
  module->setTargetTriple(kTriple);
  module->setDataLayout(machine->createDataLayout());
  std::string message;
  llvm::raw_string_ostream messages(message);
  if (llvm::verifyModule(*module, &messages)) return Malformed(text, message);
  Optimize(module.get(), machine);

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::CodeGenFileType type = output == LlvmOutput::kObject ? llvm::CodeGenFileType::ObjectFile
                                                             : llvm::CodeGenFileType::AssemblyFile;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, type, /*DisableVerify=*/true)) {
    return InternalError("LLVM cannot write an object file for ", ToAbsl(cpu));
  }
  passes.run(*module);
  return std::string(bytes.data(), bytes.size());
}

const std::vector<std::string>& AllowedSymbols() {
  static const auto* names = new std::vector<std::string>{"memcpy", "memmove", "memset"};
  return *names;
}

absl::StatusOr<std::shared_ptr<const LoadedObject>> LoadObject(
    std::string_view bytes, absl::Span<const std::string> symbols) {
  Session& session = Session::Get();
  llvm::Expected<llvm::orc::JITDylib&> dylib =
      session.execution().createJITDylib(session.NextName());
  if (!dylib) return FromLlvm(dylib.takeError(), "loading a kernel");
  dylib->addToLinkOrder(session.allowed());
  auto object = std::make_shared<OrcObject>(&*dylib);
  auto buffer =
      llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(bytes.data(), bytes.size()), "kernel");
  if (llvm::Error error = session.layer().add(*dylib, std::move(buffer)))
    return FromLlvm(std::move(error), "loading a kernel");
  JF_RETURN_IF_ERROR(object->Lookup(symbols));
  return object;
}

absl::StatusOr<std::vector<std::string>> UndefinedSymbols(std::string_view bytes) {
  llvm::Expected<std::unique_ptr<llvm::object::ObjectFile>> object =
      llvm::object::ObjectFile::createObjectFile(
          llvm::MemoryBufferRef(llvm::StringRef(bytes.data(), bytes.size()), "kernel"));
  if (!object) return FromLlvm(object.takeError(), "reading an object");
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef& symbol : (*object)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    if (!flags) return FromLlvm(flags.takeError(), "reading an object");
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) == 0) continue;
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!name) return FromLlvm(name.takeError(), "reading an object");
    if (!name->empty()) names.push_back(name->str());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace jitfuse::internal
