#include "main.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "inputs.h"
#include "jitfuse/context.h"

namespace jitfuse_cli {
namespace {

const std::map<std::string, jitfuse::DeviceKind> kBackends = {
    {"auto", jitfuse::DeviceKind::kAuto},
    {"cpu", jitfuse::DeviceKind::kCpu},
    {"cuda", jitfuse::DeviceKind::kCuda},
    {"interpret", jitfuse::DeviceKind::kInterpret}};
const std::map<std::string, jitfuse::Numerics> kNumerics = {
    {"default", jitfuse::Numerics::kDefault}, {"fast", jitfuse::Numerics::kFast}};
const std::vector<std::string> kBackendNames = {"auto", "cpu", "cuda", "interpret"};

// What is wrong, and where to read on.
std::string Usage(const std::string& verb, const std::string& what) {
  const std::string command = verb.empty() ? "jitfuse" : "jitfuse " + verb;
  return command + ": " + what + "\n" + command + " --help lists what there is\n";
}

// The same of what CLI11 says.
std::string UsageMessage(const CLI::App* app, const CLI::Error& error) {
  std::string verb, what = error.what();
  for (const CLI::App* sub : app->get_subcommands()) verb = sub->get_name();
  if (what == "file is required")
    what = "expected a file with the graph's text (.jf), or a Python function (module:function)";
  if (what == "A subcommand is required") what = "expected a command before options";
  return Usage(verb, what);
}

// What is wrong with an empty word or value, as --arch= or --arch '', with an option where one's
// value is expected, or with a value of a flag; "": nothing. CLI11 takes the next word for the
// value of --arch=, an option for that of --arch, and others may read an empty one as none.
std::string WrongWord(const CLI::App& app, int argc, const char* const* argv) {
  const auto named = app.get_subcommands(
      [argv](const CLI::App* command) { return command->get_name() == argv[1]; });
  if (named.empty()) return "";  // an option before any command
  const CLI::App& command = *named[0];
  const CLI::Option* before = nullptr;  // the option that the word before is, without a value
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") break;  // what follows is a program's
    const bool value = before != nullptr && before->get_items_expected_min() > 0;
    if (word.empty() && value) return before->get_name() + ": expected a value, got an empty one";
    if (word.empty()) return "expected no empty word, got ''";
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const CLI::Option* const option =
        name.rfind("--", 0) == 0 ? command.get_option_no_throw(name) : nullptr;
    if (option != nullptr && value)
      return before->get_name() + ": expected a value, got the option " + name;
    before = option;
    if (before == nullptr || equals == std::string::npos) continue;
    if (before->get_items_expected_min() == 0)
      return word + ": expected no value, " + name + " alone says it";
    if (equals + 1 == word.size()) return name + ": expected a value, got an empty one";
    before = nullptr;
  }
  return "";
}

// The first word has to be a command. CLI11's own messages do not say which there are.
bool HasCommand(const CLI::App& app, int argc, const char* const* argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (!first.empty() && first[0] == '-') return true;  // --help, --version, or an error of CLI11's
  std::string names;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    if (first == sub->get_name()) return true;
    names += (names.empty() ? "" : ", ") + sub->get_name();
  }
  std::fprintf(stderr, "jitfuse: %s; the commands are %s\njitfuse --help says what they do\n",
               first.empty() ? "expected a command" : ("unknown command '" + first + "'").c_str(),
               names.c_str());
  return false;
}

void AddGraph(CLI::App* command, Args* args) {
  command
      ->add_option("file", args->file,
                   "graph text (FILE.jf), or a Python function (module:function, FILE.py:function)")
      ->required();
  command
      ->add_option("--arg", args->arguments,
                   "an argument of a Python function: NAME:f32[n,1024], NAME:float or NAME=VALUE; "
                   "once for each")
      ->allow_extra_args(false);
  command->add_option("--set", args->sets, "value of a symbol, NAME=SIZE; may be repeated")
      ->allow_extra_args(false);
}

void AddCommon(CLI::App* command, Args* args) {
  AddGraph(command, args);
  command
      ->add_option_function<std::string>(
          "--backend",
          [args](const std::string& name) { args->options.device = kBackends.at(name); },
          "auto, cpu, cuda or interpret")
      ->check(
          CLI::IsMember(kBackendNames));  // alone: a map's transformer would take its numbers too
  command
      ->add_option_function<std::string>(
          "--numerics", [args](const std::string& name) { args->numerics = kNumerics.at(name); },
          "default, or fast: less exact where that is faster")
      ->check(CLI::IsMember({"default", "fast"}));
  command->add_flag("--stats", args->stats,
                    "afterwards, what was compiled, found and fallen back to");
  command->add_flag_callback(
      "--no-fuse", [args] { args->options.fuse = false; }, "one kernel per op");
  command->add_flag_callback(
      "--no-rewrite", [args] { args->options.rewrite = false; },
      "no folding, CSE or canonical forms");
  command->add_flag_callback(
      "--no-gemm-library", [args] { args->options.use_gemm_library = false; },
      "matrix products become loop kernels");
}

// CLI11's own integers may be octal, and stop at the greatest where there are more digits.
void AddWhole(CLI::App* command, const std::string& option, std::optional<std::uint64_t>* value,
              const std::string& help) {
  command->add_option_function<std::string>(
      option,
      [option, value](const std::string& text) {
        auto parsed = ParseWhole(option, text);
        if (!parsed.ok()) throw CLI::ValidationError(parsed.status().message());
        *value = *parsed;
      },
      help);
}

void AddInputs(CLI::App* command, Args* args) {
  command->add_option("--inputs", args->inputs,
                      "FILE.npz with an array per input, or random:SEED (default random:0)");
  command->add_flag("--autotune", args->options.autotune,
                    "time what may be chosen from before the first call, on a GPU");
  AddWhole(command, "--seed", &args->seed, "of random ops (default: the file's rng_seed, or 0)");
  AddWhole(command, "--offset", &args->offset,
           "of random ops (default: the file's rng_offset, or 0)");
}

void AddVerify(CLI::App* command, Args* args) {
  command->add_option_function<std::string>(
      "--verify",
      [args](const std::string& text) {
        auto parsed = ParseWhole("--verify", text);
        if (!parsed.ok()) throw CLI::ValidationError(parsed.status().message());
        if (*parsed < 1 || *parsed > 1000000)
          throw CLI::ValidationError("--verify " + text +
                                     ": expected a number of calls from 1 to 1000000");
        args->verify = static_cast<long long>(*parsed);
      },
      "call so often, and compare each call with the reference evaluator as it happens");
  command
      ->add_option_function<std::string>(
          "--verify-action",
          [args](const std::string& name) {
            args->options.verify_action = name == "fallback" ? jitfuse::VerifyAction::kFallback
                                                             : jitfuse::VerifyAction::kError;
          },
          "what follows a wrong result: error (the default), or fallback to the evaluator's")
      ->check(CLI::IsMember({"error", "fallback"}));
}

// CLI11's own lists drop empty names, and take the next option for one where none is left.
void AddArchs(const std::string& list, Args* args) {
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    if (comma == from)
      throw CLI::ValidationError("--arch " + list +
                                 ": expected names separated by commas, as in sm_90,cpu:x86-64-v3");
    args->archs.push_back(list.substr(from, comma - from));
    from = comma + 1;
  }
}

void AddTargets(CLI::App* command, Args* args) {
  command
      ->add_option_function<std::vector<std::string>>(
          "--arch",
          [args](const std::vector<std::string>& lists) {
            for (const std::string& list : lists) AddArchs(list, args);
          },
          "sm_80,sm_90,cpu:x86-64-v3 ...: what kernels are compiled for; no such device is "
          "needed")
      ->allow_extra_args(false);
  command->add_option("--cuda", args->cuda, "NVRTC of CUDA 12 or 13 (default: the newest found)")
      ->check(CLI::IsMember({12, 13}));
}

void AddPrecache(CLI::App* command, Args* args) {
  command->add_option("manifest", args->manifest, "what is to be compiled, as JSON")->required();
  AddTargets(command, args);
  command->add_option("--out", args->out, "a new folder, or a layer, which is added to");
  command->add_flag("--record", args->record,
                    "run the program behind --, and add what it compiles to the manifest");
  command->add_option("program", args->program, "of --record: -- PROGRAM ARGUMENTS");
}

// What is wrong with a command line of precache.
std::string CheckPrecache(const Args& args) {
  const bool compiles = !args.archs.empty() || !args.out.empty() || args.cuda != 0;
  if (args.record && compiles)
    return "--record runs a program and compiles nothing; expected no --arch, --cuda or --out "
           "beside it";
  if (args.record && (args.program.empty() || args.program[0].empty()))
    return "--record: expected a program behind it: jitfuse precache MANIFEST --record -- PROGRAM";
  if (!args.record && !args.program.empty())
    return "unexpected '" + args.program[0] + "'; a program needs --record before it";
  if (!args.record && args.archs.empty()) return "--arch is required, as in --arch sm_90";
  if (!args.record && args.out.empty()) return "--out is required: the folder that is written";
  return "";
}

// What is wrong with a command line of cache.
std::string CheckCache(const Args& args) {
  const bool diff = args.cache_verb == "diff";
  if (diff && args.cache_operands.size() != 2)
    return "cache diff: expected a layer's folder and a manifest";
  if (!diff && !args.cache_operands.empty())
    return "cache " + args.cache_verb + ": unexpected '" + args.cache_operands[0] + "'";
  if (!diff && (!args.archs.empty() || args.cuda != 0))
    return "cache " + args.cache_verb + ": --arch and --cuda are for cache diff";
  return "";
}

void AddCache(CLI::App* command, Args* args) {
  command
      ->add_option("what", args->cache_verb,
                   "list its entries, verify all of them, prune it, stats: where and how large, or "
                   "diff: what a layer lacks for a manifest")
      ->required()
      ->check(CLI::IsMember({"list", "verify", "prune", "stats", "diff"}));
  command->add_option("operands", args->cache_operands, "of diff: LAYER MANIFEST");
  AddTargets(command, args);
  AddWhole(command, "--max-bytes", &args->max_bytes,
           "of prune: what is left at most (default: JITFUSE_CACHE_SIZE)");
}

int Finish(const jitfuse::Status& status) {
  std::fflush(stdout);
  if (status.ok()) return 0;
  std::fprintf(stderr, "jitfuse: %s\n", status.message().c_str());
  return 1;
}

// The commands, which are parsed into `args`.
struct Commands {
  Commands(CLI::App* app, Args* args);
  CLI::App *run, *explain, *bench, *text, *doctor, *cache, *precache;
};

Commands::Commands(CLI::App* app, Args* args)
    : run(app->add_subcommand("run", "run a graph and print its results")),
      explain(app->add_subcommand("explain",
                                  "say what is fused and why, or print the source of a stage")),
      bench(app->add_subcommand("bench", "time a graph: latency, GB/s, share of a measured copy")),
      text(
          app->add_subcommand("text", "print a graph's text: to keep what was traced, as FILE.jf")),
      doctor(
          app->add_subcommand("doctor", "what was found where, what is missing and how to get it")),
      cache(app->add_subcommand("cache", "what the disk cache holds; making room in it")),
      precache(app->add_subcommand(
          "precache", "compile what a manifest names into a layer of the disk cache")) {
  AddCommon(run, args);
  AddInputs(run, args);
  run->add_flag("--check", args->check,
                "compare with the reference evaluator and its error bounds");
  run->add_option("--trace", args->trace,
                  "write a trace of the run to this file: JSON that Perfetto shows");
  AddVerify(run, args);
  AddCommon(explain, args);
  explain
      ->add_option("--stage", args->stage,
                   "graph, groups, plan, cuda, llvm, ptx, sass or resources")
      ->check(
          CLI::IsMember({"graph", "groups", "plan", "cuda", "llvm", "ptx", "sass", "resources"}));
  explain->add_option("--arch", args->arch, "sm_90, x86-64-v3 ...; needs no such device");
  explain->add_flag("--json", args->json, "groups as JSON");
  AddCommon(bench, args);
  AddInputs(bench, args);
  bench->add_option("--repeat", args->repeat, "samples")->check(CLI::Range(1, 100000));
  AddGraph(text, args);
  AddCache(cache, args);
  AddPrecache(precache, args);
  app->footer(
      "A graph is a file of graph text (docs/text.md) or, for the jitfuse of the Python package, "
      "a\n"
      "Python function over arrays with the dtypes and sizes of its arguments:\n"
      "  jitfuse explain softmax.jf --set n=1000\n"
      "  jitfuse explain model.py:layer --arg x:f32[n,1024] --arg w:f32[1024,64] --set n=1000\n"
      "jitfuse VERB --help lists all options.");
}

int Execute(const Commands& verbs, const Args& args, const Tracer& tracer) {
  if (verbs.doctor->parsed()) return Finish(Doctor());
  if (verbs.cache->parsed() && args.cache_verb == "diff") return Finish(CacheDiff(args, tracer));
  if (verbs.cache->parsed()) return Finish(Cache(args.cache_verb, args.max_bytes));
  if (verbs.precache->parsed())
    return Finish(args.record ? RecordProgram(args) : Precache(args, tracer));
  auto source = ReadSource(args, tracer);
  if (!source.ok()) {
    const bool wrong_line =
        IsEntry(args.file) && source.status().code() == jitfuse::StatusCode::kInvalidArgument;
    const int code = Finish(source.status());
    return wrong_line ? 2 : code;
  }
  jitfuse::Status status;
  if (verbs.run->parsed()) status = Run(args, *source);
  if (verbs.explain->parsed()) status = Explain(args, *source);
  if (verbs.bench->parsed()) status = Bench(args, *source);
  if (verbs.text->parsed()) status = Text(*source);
  if (args.stats) PrintStats();
  return Finish(status);
}

}  // namespace

int Main(int argc, const char* const* argv, const Tracer& tracer) {
  CLI::App app("Jitfuse fuses chains of tensor ops into single kernels at run time.", "jitfuse");
  app.require_subcommand(1);
  app.set_version_flag("--version", jitfuse::Version());
  Args args;
  const Commands verbs(&app, &args);
  app.failure_message(UsageMessage);
  if (!HasCommand(app, argc, argv)) return 2;
  if (const std::string wrong = WrongWord(app, argc, argv); !wrong.empty()) {
    std::fputs(Usage(argv[1], wrong).c_str(), stderr);
    return 2;
  }
  try {
    app.parse(argc, argv);
    if (const jitfuse::Status bad = CheckArgs(args, tracer != nullptr); !bad.ok())
      throw CLI::ValidationError(bad.message());
    std::string wrong;
    if (verbs.precache->parsed()) wrong = CheckPrecache(args);
    if (verbs.cache->parsed()) wrong = CheckCache(args);
    if (!wrong.empty()) throw CLI::ValidationError(wrong);
  } catch (const CLI::ParseError& e) {  // NOLINT(bugprone-empty-catch): reported by exit()
    const int code = app.exit(e);
    std::fflush(stdout);
    return code == 0 ? 0 : 2;
  }
  try {
    return Execute(verbs, args, tracer);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): reported by Finish()
    return Finish({jitfuse::StatusCode::kResourceExhausted,
                   "no memory for arrays of this size on this machine"});
  }
}

}  // namespace jitfuse_cli
