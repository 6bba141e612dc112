// The command `jitfuse`: run, explain, bench and doctor, over the public API alone.
//
// Exit codes: 0 all went well; 1 anything failed, with one message on stderr; 2 the command line
// itself was wrong (usage is printed).
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "jitfuse/context.h"

namespace {

using jitfuse_cli::Args;

const std::map<std::string, jitfuse::DeviceKind> kBackends = {
    {"auto", jitfuse::DeviceKind::kAuto},
    {"cpu", jitfuse::DeviceKind::kCpu},
    {"cuda", jitfuse::DeviceKind::kCuda},
    {"interpret", jitfuse::DeviceKind::kInterpret}};
const std::vector<std::string> kBackendNames = {"auto", "cpu", "cuda", "interpret"};

// What is wrong with a command line, and where to read on.
std::string UsageMessage(const CLI::App* app, const CLI::Error& error) {
  std::string verb, what = error.what();
  for (const CLI::App* sub : app->get_subcommands()) verb = sub->get_name();
  if (what == "file is required") what = "expected a file with the graph's text (.jf)";
  if (what == "A subcommand is required") what = "expected a command before options";
  const std::string command = verb.empty() ? "jitfuse" : "jitfuse " + verb;
  return command + ": " + what + "\n" + command + " --help lists what there is\n";
}

// The first word has to be a command. CLI11's own messages do not say which there are.
bool HasCommand(const CLI::App& app, int argc, char** argv) {
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

void AddCommon(CLI::App* command, Args* args) {
  command->add_option("file", args->file, "graph text (.jf)")->required();
  command->add_option("--set", args->sets, "value of a symbol, NAME=SIZE; may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option_function<std::string>(
          "--backend",
          [args](const std::string& name) { args->options.device = kBackends.at(name); },
          "auto, cpu, cuda or interpret")
      ->check(
          CLI::IsMember(kBackendNames));  // alone: a map's transformer would take its numbers too
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
        auto parsed = jitfuse_cli::ParseWhole(option, text);
        if (!parsed.ok()) throw CLI::ValidationError(parsed.status().message());
        *value = *parsed;
      },
      help);
}

void AddInputs(CLI::App* command, Args* args) {
  command->add_option("--inputs", args->inputs,
                      "FILE.npz with an array per input, or random:SEED (default random:0)");
  AddWhole(command, "--seed", &args->seed, "of random ops (default: the file's rng_seed, or 0)");
  AddWhole(command, "--offset", &args->offset,
           "of random ops (default: the file's rng_offset, or 0)");
}

int Finish(const jitfuse::Status& status) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "jitfuse: %s\n", status.message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Jitfuse fuses chains of tensor ops into single kernels at run time.", "jitfuse");
  app.require_subcommand(1);
  app.set_version_flag("--version", jitfuse::Version());
  Args args;

  CLI::App* run = app.add_subcommand("run", "run a graph and print its results");
  AddCommon(run, &args);
  AddInputs(run, &args);
  run->add_flag("--check", args.check, "compare with the reference evaluator and its error bounds");

  CLI::App* explain =
      app.add_subcommand("explain", "say what is fused and why, or print the source of a stage");
  AddCommon(explain, &args);
  explain->add_option("--stage", args.stage, "graph, groups, plan, cuda, llvm, ptx or sass")
      ->check(CLI::IsMember({"graph", "groups", "plan", "cuda", "llvm", "ptx", "sass"}));
  explain->add_option("--arch", args.arch, "sm_90, x86-64-v3 ...; needs no such device");
  explain->add_flag("--json", args.json, "groups as JSON");

  CLI::App* bench =
      app.add_subcommand("bench", "time a graph: latency, GB/s, share of a measured copy");
  AddCommon(bench, &args);
  AddInputs(bench, &args);
  bench->add_option("--repeat", args.repeat, "samples")->check(CLI::Range(1, 100000));

  CLI::App* doctor =
      app.add_subcommand("doctor", "what was found where, what is missing and how to get it");

  app.failure_message(UsageMessage);
  if (!HasCommand(app, argc, argv)) return 2;
  try {
    app.parse(argc, argv);
    if (const jitfuse::Status bad = jitfuse_cli::CheckArgs(args); !bad.ok())
      throw CLI::ValidationError(bad.message());
  } catch (const CLI::ParseError& e) {  // NOLINT(bugprone-empty-catch): reported by exit()
    return app.exit(e) == 0 ? 0 : 2;
  }
  auto finish = [&](const jitfuse::Status& status) {
    if (args.stats) jitfuse_cli::PrintStats();
    return Finish(status);
  };
  try {
    if (run->parsed()) return finish(jitfuse_cli::Run(args));
    if (explain->parsed()) return finish(jitfuse_cli::Explain(args));
    if (bench->parsed()) return finish(jitfuse_cli::Bench(args));
    if (doctor->parsed()) return Finish(jitfuse_cli::Doctor());
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): reported by Finish()
    return Finish({jitfuse::StatusCode::kResourceExhausted,
                   "no memory for arrays of this size on this machine"});
  }
  return 2;
}
