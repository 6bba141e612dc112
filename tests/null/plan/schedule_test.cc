// What ApplySchedule chooses: widths, threads, what is kept, and the notes that say why something
// is slow.
#include "codegen/plan/schedule.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/test_util/run_plan.h"

namespace jitfuse::internal {
namespace {

KernelPlan PlanOf(const Graph& graph, std::string_view arch, const EdgeLayouts& layouts = {},
                  const PlanOptions& options = {}) {
  absl::StatusOr<std::vector<KernelPlan>> plans =
      BuildPlan(graph, WholeGroup(graph), layouts, *TargetFor(arch), options);
  EXPECT_TRUE(plans.ok()) << plans.status();
  if (!plans.ok()) return KernelPlan();
  absl::Status ok = VerifyPlan((*plans)[0]);
  EXPECT_TRUE(ok.ok()) << ok << PlanToString((*plans)[0]);
  return (*plans)[0];
}

bool HasNote(const KernelPlan& plan, Reason reason) {
  return std::any_of(plan.notes.begin(), plan.notes.end(),
                     [reason](const Note& n) { return n.reason == reason; });
}

Graph Unary(std::string_view op, std::string_view type, std::string_view attrs = "") {
  return Parsed(absl::StrCat("graph f(%x: ", ToAbsl(type), ") -> (", ToAbsl(type),
                             ") { %0 = ", ToAbsl(op), "(%x) ", ToAbsl(attrs), " : ", ToAbsl(type),
                             " return %0 }"));
}

TEST(Schedule, FlatWidths) {
  EXPECT_EQ(PlanOf(Unary("abs", "f32[4096,4096]"), "sm_90").cuda().vec, 4);
  EXPECT_EQ(PlanOf(Unary("abs", "bf16[4096,4096]"), "sm_90").cuda().vec, 8);
  EXPECT_EQ(PlanOf(Unary("abs", "f64[4096]"), "sm_90").cuda().vec, 2);
  EXPECT_EQ(PlanOf(Unary("abs", "i8[4096]"), "sm_90").cuda().vec, 16);
  EXPECT_EQ(PlanOf(Unary("abs", "f32[n]"), "sm_90").cuda().vec, 4) << "one axis ends in a tail";
  EXPECT_EQ(PlanOf(Unary("abs", "f32[4096,4096]"), "sm_90").cuda().threads, 512);
  EXPECT_EQ(PlanOf(Unary("abs", "f32[1024]"), "sm_90").cuda().threads, 128);
}

TEST(Schedule, FlatMisalignedAndStrided) {
  Graph g = Unary("abs", "bf16[512,512]");
  Value x = InputNamed(g, "x");
  EdgeLayouts by_eight;
  by_eight.reads[x] = Layout{{512, 1}, 8};
  EXPECT_EQ(PlanOf(g, "sm_90", by_eight).cuda().vec, 4);
  EdgeLayouts odd;
  odd.reads[x] = Layout{{512, 1}, 2};
  KernelPlan plan = PlanOf(g, "sm_90", odd);
  EXPECT_EQ(plan.cuda().vec, 1);
  EXPECT_EQ(plan.cuda().items, 8) << "16 bytes in flight all the same";
  EXPECT_TRUE(HasNote(plan, Reason::kScalarAccess));
  EdgeLayouts padded;
  padded.reads[x] = Layout{{516, 1}, 16};
  EXPECT_EQ(PlanOf(g, "sm_90", padded).cuda().vec, 4);
  EXPECT_EQ(PlanOf(g, "sm_90", padded).num_parallel(), 2);
  EXPECT_EQ(PlanOf(g, "sm_90").num_parallel(), 1);
}

TEST(Schedule, OutputDecidesTheOrderOfAxes) {
  Graph g = Unary("abs", "f32[64,32]");
  EdgeLayouts column_major;
  column_major.reads[InputNamed(g, "x")] = Layout{{1, 64}, 16};
  column_major.writes[g.outputs()[0]] = Layout{{1, 64}, 16};
  KernelPlan plan = PlanOf(g, "sm_90", column_major);
  EXPECT_EQ(plan.num_parallel(), 1);
  EXPECT_EQ(plan.cuda().vec, 4);
}

TEST(Schedule, RowThreads) {
  struct Case {
    const char* type;
    int threads_per_row, vec, items, rows_per_block;
  };
  for (const Case& c : {Case{"bf16[64,256]", 32, 8, 1, 8},
                        {"bf16[64,1024]", 128, 8, 1, 1},
                        {"bf16[64,4096]", 256, 8, 2, 1},
                        {"bf16[64,8192]", 512, 8, 2, 1},
                        {"f32[64,4096]", 256, 4, 4, 1},
                        {"f32[64,4097]", 512, 4, 3, 1},
                        {"f32[64,100]", 32, 4, 1, 8}}) {
    KernelPlan plan = PlanOf(Unary("softmax", c.type), "sm_90");
    const CudaSchedule& s = plan.cuda();
    EXPECT_EQ(s.threads_per_row, c.threads_per_row) << c.type;
    EXPECT_EQ(s.vec, c.vec) << c.type;
    EXPECT_EQ(s.items, c.items) << c.type;
    EXPECT_EQ(s.rows_per_block, c.rows_per_block) << c.type;
    EXPECT_FALSE(plan.keep.empty());
    EXPECT_FALSE(HasNote(plan, Reason::kRowReread));
    EXPECT_FALSE(HasNote(plan, Reason::kScalarAccess));
    EXPECT_EQ(s.window, std::string_view(c.type) == "f32[64,4097]");
  }
}

TEST(Schedule, WindowsOfRowsThatBeginAnywhere) {
  // Wide enough vectors, long enough rows, and all that is walked lying alike.
  EXPECT_TRUE(PlanOf(Unary("softmax", "bf16[64,1001]"), "sm_90").cuda().window);
  EXPECT_FALSE(PlanOf(Unary("softmax", "bf16[64,1004]"), "sm_90").cuda().window);
  EXPECT_FALSE(PlanOf(Unary("softmax", "bf16[64,31]"), "sm_90").cuda().window);
  Graph g = Unary("softmax", "bf16[64,1001]");
  EdgeLayouts odd, padded;
  odd.reads[InputNamed(g, "x")] = Layout{{1001, 1}, 2};
  padded.reads[InputNamed(g, "x")] = Layout{{1003, 1}, 16};
  for (const EdgeLayouts& layouts : {odd, padded}) {
    const KernelPlan plan = PlanOf(g, "sm_90", layouts);
    EXPECT_FALSE(plan.cuda().window);
    EXPECT_TRUE(HasNote(plan, Reason::kScalarAccess));
  }
  odd = {};
  odd.reads[InputNamed(g, "x")] = Layout{{1009, 1}, 16};  // 8 elements more a row
  EXPECT_TRUE(PlanOf(g, "sm_90", odd).cuda().window);
}

TEST(Schedule, ThreadsOfWindowsHaveMore16BitElements) {
  struct Case {
    const char* dtype;
    int columns;
    int threads_per_row, items;
  };
  for (const Case& c : {Case{"bf16", 257, 64, 1},
                        {"bf16", 1001, 64, 2},
                        {"bf16", 2001, 64, 4},
                        {"f16", 4097, 256, 3},
                        {"bf16", 8191, 256, 4},
                        {"f32", 1001, 128, 2},
                        {"f32", 8191, 512, 4}}) {
    const std::string in = absl::StrCat(c.dtype, "[64,", c.columns, "]"),
                      out = absl::StrCat(c.dtype, "[64]");
    const Graph g = *ParseGraph(absl::StrCat(
        "graph f(%x: ", in, ") -> (", out, ") { %0 = sum(%x) {axes=[1]} : ", out, " return %0 }"));
    const CudaSchedule s = PlanOf(g, "sm_90").cuda();
    EXPECT_TRUE(s.window) << in;
    EXPECT_EQ(s.threads_per_row, c.threads_per_row) << in;
    EXPECT_EQ(s.items, c.items) << in;
  }
}

TEST(Schedule, FlatVectorsGoOverTheEndsOfOddRows) {
  const Graph g = *ParseGraph(
      "graph f(%x: bf16[n,77], %b: bf16[77]) -> (bf16[n,77]) { %0 = add(%x, %b) : bf16[n,77] "
      "return %0 }");
  EXPECT_EQ(PlanOf(g, "sm_90").cuda().vec, 8);
}

TEST(Schedule, ThreadsOfRowsThatAreReadAgain) {
  for (auto [columns, threads] : {std::pair(12288, 256), {16384, 256}, {16385, 512}}) {
    const CudaSchedule s =
        PlanOf(Unary("softmax", absl::StrCat("f32[8,", columns, "]")), "sm_90").cuda();
    EXPECT_EQ(s.items, 0) << columns;
    EXPECT_EQ(s.threads_per_row, threads) << columns;
  }
}

TEST(Schedule, LongRowsAreReadAgain) {
  KernelPlan plan = PlanOf(Unary("softmax", "f32[8,65536]"), "sm_90");
  EXPECT_TRUE(plan.keep.empty());
  EXPECT_EQ(plan.cuda().items, 0);
  EXPECT_TRUE(plan.cuda().no_allocate);
  EXPECT_TRUE(HasNote(plan, Reason::kRowReread));
  EXPECT_EQ(plan.stages.size(), 2u) << "online: one reading for max and sum";
  EXPECT_EQ(PlanOf(Unary("softmax", "f32[8,65536]"), "x86-64-v4").stages.size(), 3u)
      << "the second-level cache holds the row";
  EXPECT_FALSE(HasNote(PlanOf(Unary("softmax", "f32[8,65536]"), "x86-64-v4"), Reason::kRowReread));
  EXPECT_TRUE(HasNote(PlanOf(Unary("softmax", "f32[8,262144]"), "x86-64-v4"), Reason::kRowReread));
  Graph columns = Unary("softmax", "f32[262144,64]", "{axis=0}");
  EXPECT_TRUE(HasNote(PlanOf(columns, "x86-64-v4"), Reason::kRowReread));
}

TEST(Schedule, SymbolicRowsNeedABound) {
  Graph g = Unary("softmax", "f32[m,n]");
  EXPECT_TRUE(PlanOf(g, "sm_90").keep.empty());
  PlanOptions options;
  options.symbol_bounds = {0, 0};
  options.symbol_bounds[static_cast<size_t>(*g.symbols().Find("n"))] = 1024;
  KernelPlan plan = PlanOf(g, "sm_90", {}, options);
  EXPECT_EQ(plan.inner_bound, 1024);
  EXPECT_FALSE(plan.keep.empty());
  EXPECT_GE(plan.cuda().items * plan.cuda().vec * plan.cuda().threads_per_row, 1024);
}

TEST(Schedule, KeepsTheNearerValueWhereItIsDear) {
  auto kept = [](std::string_view op, std::string_view arch) {
    KernelPlan plan = PlanOf(Unary(op, "f32[64,512]"), arch);
    std::string out;
    for (int id : plan.keep) {
      const Inst& i = plan.insts[static_cast<size_t>(id)];
      absl::StrAppend(&out, out.empty() ? "" : ",",
                      i.kind == Inst::Kind::kLoad ? "load" : std::string(GetScalarOp(i.op).name));
    }
    EXPECT_FALSE(HasNote(plan, Reason::kRowReread));
    return out;
  };
  EXPECT_EQ(kept("softmax", "sm_90"), "load,exp");
  EXPECT_EQ(kept("softmax", "x86-64-v4"), "exp") << "the row itself is in the cache";
  EXPECT_EQ(kept("layer_norm", "sm_90"), "load");
  EXPECT_EQ(kept("layer_norm", "x86-64-v4"), "");
}

Graph Reduced(std::string_view op, std::string_view type, std::string_view axes,
              std::string_view result) {
  return Parsed(absl::StrCat("graph f(%x: ", ToAbsl(type), ") -> (", ToAbsl(result),
                             ") { %0 = ", ToAbsl(op), "(%x) {axes=", ToAbsl(axes),
                             "} : ", ToAbsl(result), " return %0 }"));
}

TEST(Schedule, ColumnsAreReducedSideBySide) {
  struct Case {
    const char *type, *result;
    int vec, wide, deep;
  };
  for (const Case& c : {Case{"f32[512,8192]", "f32[8192]", 4, 32, 8},
                        {"f32[512,262144]", "f32[262144]", 4, 32, 8},
                        {"bf16[512,8192]", "bf16[8192]", 4, 32, 8},
                        {"f64[512,8192]", "f64[8192]", 2, 32, 8},
                        {"f32[512,64]", "f32[64]", 4, 16, 32},
                        {"f32[512,8191]", "f32[8191]", 1, 32, 8},
                        {"f32[512,n]", "f32[n]", 1, 32, 8},
                        {"f32[4,8192]", "f32[8192]", 4, 32, 4},
                        {"f32[256,8192]", "f32[8192]", 4, 32, 16}}) {
    KernelPlan plan = PlanOf(Reduced("sum", c.type, "[0]", c.result), "sm_90");
    const CudaSchedule& s = plan.cuda();
    EXPECT_TRUE(plan.columns) << c.type;
    EXPECT_EQ(s.emitter, CudaEmitter::kColumn) << c.type;
    EXPECT_EQ(s.vec, c.vec) << c.type;
    EXPECT_EQ(s.rows_per_block, c.wide) << c.type;
    EXPECT_EQ(s.threads_per_row, c.deep) << c.type;
    EXPECT_EQ(s.items, 0) << c.type;
    EXPECT_FALSE(HasNote(plan, Reason::kStridedReduce)) << c.type;
    EXPECT_EQ(HasNote(plan, Reason::kScalarAccess), c.vec == 1) << c.type;
  }
}

TEST(Schedule, ColumnsAreKeptInRegisters) {
  KernelPlan plan = PlanOf(Unary("softmax", "f32[128,64,1024]", "{axis=1}"), "sm_90");
  const CudaSchedule& s = plan.cuda();
  EXPECT_EQ(s.emitter, CudaEmitter::kColumn);
  EXPECT_FALSE(plan.keep.empty());
  EXPECT_GE(s.items * s.threads_per_row, 64);
  EXPECT_LE(s.items * s.vec * 2, 32) << "registers of a thread";
  EXPECT_FALSE(HasNote(plan, Reason::kRowReread));
  plan = PlanOf(Unary("softmax", "f32[4096,4096]", "{axis=0}"), "sm_90");
  EXPECT_EQ(plan.cuda().emitter, CudaEmitter::kColumn);
  EXPECT_TRUE(plan.keep.empty()) << "a block would have to hold more than it has registers";
  EXPECT_EQ(plan.stages.size(), 2u) << "online: one reading for max and sum";
  EXPECT_TRUE(HasNote(plan, Reason::kRowReread));
}

TEST(Schedule, RowsOfTwoKindsAreReadWithAStride) {
  Graph g = Parsed(
      "graph f(%x: f32[512,64], %y: f32[64,512]) -> (f32[64]) { %0 = transpose(%y) : f32[512,64] "
      "%1 = add(%x, %0) : f32[512,64] %2 = sum(%1) {axes=[0]} : f32[64] return %2 }");
  KernelPlan plan = PlanOf(g, "sm_90");
  EXPECT_FALSE(plan.columns);
  EXPECT_TRUE(HasNote(plan, Reason::kStridedReduce));
  EXPECT_TRUE(HasNote(PlanOf(g, "x86-64-v4"), Reason::kStridedReduce));
}

TEST(Schedule, Tiles) {
  auto transposed = [](std::string_view from, std::string_view to) {
    return Parsed(absl::StrCat("graph f(%x: ", ToAbsl(from), ", %y: ", ToAbsl(to), ") -> (",
                               ToAbsl(to), ") { %0 = transpose(%x) : ", ToAbsl(to),
                               " %1 = add(%0, %y) : ", ToAbsl(to), " return %1 }"));
  };
  struct Case {
    const char *from, *to;
    int tile;
  };
  for (const Case& c : {Case{"f32[512,768]", "f32[768,512]", 64},
                        {"f32[511,767]", "f32[767,511]", 64},
                        {"bf16[n,768]", "bf16[768,n]", 64},
                        {"u8[n,m]", "u8[m,n]", 64},
                        {"f64[512,768]", "f64[768,512]", 64}}) {
    KernelPlan plan = PlanOf(transposed(c.from, c.to), "sm_90");
    EXPECT_EQ(plan.cuda().emitter, CudaEmitter::kTile) << c.from;
    EXPECT_EQ(plan.cuda().tile, c.tile) << c.from;
    EXPECT_EQ(plan.cuda().tile_axis, 0) << c.from;
    EXPECT_FALSE(HasNote(plan, Reason::kTransposedAccess)) << c.from;
  }
  KernelPlan channels = PlanOf(transposed("f32[512,3]", "f32[3,512]"), "sm_90");
  EXPECT_EQ(channels.cuda().emitter, CudaEmitter::kFlat) << "a tile would be almost empty";
  EXPECT_TRUE(HasNote(channels, Reason::kTransposedAccess));
  Graph three = Parsed(
      "graph f(%x: f64[n,96], %y: f64[n,96], %z: f64[n,96]) -> (f64[96,n]) { %0 = multiply(%x, %y) "
      ": f64[n,96] %1 = add(%0, %z) : f64[n,96] %2 = transpose(%1) : f64[96,n] return %2 }");
  EXPECT_EQ(PlanOf(three, "sm_90").cuda().tile, 32) << "what fits shared memory";
  Graph heads = Parsed(
      "graph f(%x: f32[8,64,2,96]) -> (f32[8,96,2,64]) { %0 = transpose(%x) {perm=[0,3,2,1]} : "
      "f32[8,96,2,64] return %0 }");
  EXPECT_EQ(PlanOf(heads, "sm_90").cuda().tile_axis, 1);
}

// ---- Few long rows.
std::vector<KernelPlan> PlansOf(const Graph& graph, std::string_view arch,
                                const PlanOptions& options = {}) {
  absl::StatusOr<std::vector<KernelPlan>> plans =
      BuildPlan(graph, WholeGroup(graph), {}, *TargetFor(arch), options);
  EXPECT_TRUE(plans.ok()) << plans.status();
  if (!plans.ok()) return {};
  for (const KernelPlan& plan : *plans) {
    absl::Status ok = VerifyPlan(plan);
    EXPECT_TRUE(ok.ok()) << ok << PlanToString(plan);
  }
  return *std::move(plans);
}

TEST(SplitRows, FewLongOnesBecomeManyShortOnes) {
  struct Case {
    const char *type, *axes, *result, *arch;
    int64_t chunks;  // 0: the rows are not split
  };
  for (const Case& c : {Case{"f32[67108864]", "[0]", "f32[]", "sm_90", 512},
                        {"f32[67108861]", "[0]", "f32[]", "sm_90", 512},
                        {"f32[100000]", "[0]", "f32[]", "sm_90", 13},
                        {"f32[10000]", "[0]", "f32[]", "sm_90", 0},
                        {"f32[8,1048576]", "[1]", "f32[8]", "sm_90", 64},
                        {"f32[256,1048576]", "[1]", "f32[256]", "sm_90", 0},
                        {"f32[65536,768]", "[0]", "f32[768]", "sm_90", 42},
                        {"f32[512,768]", "[0]", "f32[768]", "sm_90", 4},
                        {"f32[65536,65536]", "[0]", "f32[65536]", "sm_90", 0},
                        {"f32[67108864]", "[0]", "f32[]", "x86-64-v3", 64},
                        {"f32[100000]", "[0]", "f32[]", "x86-64-v3", 0}}) {
    std::vector<KernelPlan> plans = PlansOf(Reduced("sum", c.type, c.axes, c.result), c.arch);
    ASSERT_EQ(plans.size(), c.chunks == 0 ? 1u : 2u) << c.type;
    EXPECT_FALSE(HasNote(plans.back(), Reason::kFewLongRows)) << c.type;
    if (c.chunks == 0) continue;
    EXPECT_TRUE(plans[1].inner[0].Is(c.chunks)) << c.type << PlanToString(plans[1]);
    EXPECT_EQ(plans[0].params.back().role, ParamRole::kScratch);
    EXPECT_EQ(plans[0].params.back().scratch, plans[1].params.back().scratch);
    EXPECT_EQ(plans[0].params.back().scratch_bytes, plans[1].params.back().scratch_bytes);
    EXPECT_NE(plans[0].name, plans[1].name);
  }
}

TEST(SplitRows, SizesSettleTheNumberOfChunks) {
  Graph g = Reduced("sum", "f32[m,n]", "[1]", "f32[m]");
  PlanOptions options;
  EXPECT_EQ(PlansOf(g, "sm_90").size(), 1u) << "nothing says that rows are long";
  options.symbol_bounds = {0, 0};
  options.symbol_bounds[static_cast<size_t>(*g.symbols().Find("n"))] = 32 * 1024;
  EXPECT_EQ(PlansOf(g, "sm_90", options).size(), 1u);
  options.symbol_bounds[static_cast<size_t>(*g.symbols().Find("n"))] = 1 << 20;
  std::vector<KernelPlan> plans = PlansOf(g, "sm_90", options);
  ASSERT_EQ(plans.size(), 2u);
  auto chunks = [&](int64_t m, int64_t n) {
    std::vector<int64_t> symbols(2);
    symbols[static_cast<size_t>(*g.symbols().Find("m"))] = m;
    symbols[static_cast<size_t>(*g.symbols().Find("n"))] = n;
    return plans[1].inner[0].Eval(symbols);
  };
  EXPECT_EQ(chunks(1, 1 << 20), 128);
  EXPECT_EQ(chunks(16, 1 << 20), 32);
  EXPECT_EQ(chunks(1000, 1 << 20), 1) << "rows enough";
  EXPECT_EQ(chunks(1, 1), 1);
  EXPECT_EQ(chunks(1, 0), 1);
  EXPECT_EQ(chunks(0, 1 << 20), 128);
}

TEST(SplitRows, TheLongestAxisIsCut) {
  Graph g = Parsed(
      "graph f(%x: f32[7,300000]) -> (f32[]) { %0 = exp(%x) : f32[7,300000] %1 = sum(%0) : f32[] "
      "return %1 }");
  EdgeLayouts padded;
  padded.reads[InputNamed(g, "x")] = Layout{{300032, 1}, 16};
  absl::StatusOr<std::vector<KernelPlan>> plans =
      BuildPlan(g, WholeGroup(g), padded, *TargetFor("sm_90"));
  ASSERT_TRUE(plans.ok()) << plans.status();
  ASSERT_EQ(plans->size(), 2u);
  EXPECT_TRUE((*plans)[0].inner[0].Is(7));
  EXPECT_EQ((*plans)[0].inner[1].KnownDivisor() % 64, 0) << "chunks begin at aligned elements";
  for (const KernelPlan& plan : *plans) EXPECT_TRUE(VerifyPlan(plan).ok()) << PlanToString(plan);
  EXPECT_TRUE(VerifyAccesses((*plans)[0], g, padded).ok());
}

TEST(SplitRows, RowsThatAreWantedPerElementAreNoted) {
  EXPECT_TRUE(HasNote(PlanOf(Unary("softmax", "f32[8,65536]"), "sm_90"), Reason::kFewLongRows));
  EXPECT_TRUE(
      HasNote(PlanOf(Unary("softmax", "f32[2,1048576]"), "x86-64-v4"), Reason::kFewLongRows));
  EXPECT_FALSE(HasNote(PlanOf(Unary("softmax", "f32[512,65536]"), "sm_90"), Reason::kFewLongRows));
  EXPECT_FALSE(HasNote(PlanOf(Unary("softmax", "f32[8,4096]"), "sm_90"), Reason::kFewLongRows));
}

// Below which number rows are few is the target's, and columns are counted by 64.
TEST(SplitRows, TheNoteSaysHowFew) {
  auto detail = [](std::string_view type, std::string_view axis, std::string_view arch) {
    KernelPlan plan =
        PlanOf(Unary("softmax", type, absl::StrCat("{axis=", ToAbsl(axis), "}")), arch);
    for (const Note& n : plan.notes) {
      if (n.reason == Reason::kFewLongRows) return n.detail;
    }
    return std::string("no note");
  };
  EXPECT_EQ(detail("f32[n,1048576]", "1", "sm_90"), "where there are less than 128");
  EXPECT_EQ(detail("f32[n,1048576]", "1", "x86-64-v3"), "where there are less than 16");
  EXPECT_EQ(detail("f32[1048576,n]", "0", "sm_90"),
            "where there are less than 8192, 64 of which are reduced together");
  EXPECT_EQ(detail("f32[1048576,n]", "0", "x86-64-v3"),
            "where there are less than 1024, 64 of which are reduced together");
  EXPECT_EQ(detail("f32[8,1048576]", "1", "sm_90"), "");
}

TEST(Schedule, OffsetWidth) {
  EXPECT_EQ(PlanOf(Unary("abs", "f32[65536,32767]"), "sm_90").offset_bits, 32);
  EXPECT_EQ(PlanOf(Unary("abs", "f32[65536,32769]"), "sm_90").offset_bits, 64);
  Graph g = Unary("abs", "f32[64,64]");
  EdgeLayouts far;
  far.reads[InputNamed(g, "x")] = Layout{{int64_t{1} << 33, 1}, 16};
  EXPECT_EQ(PlanOf(g, "sm_90", far).offset_bits, 64) << "few elements, far apart";
  EdgeLayouts back;
  back.reads[InputNamed(g, "x")] = Layout{{-(int64_t{1} << 33), 1}, 16};
  EXPECT_EQ(PlanOf(g, "sm_90", back).offset_bits, 64);
  PlanOptions narrow;
  narrow.offset_bits = 32;
  EXPECT_EQ(PlanOf(Unary("abs", "f32[n,8]"), "sm_90", {}, narrow).offset_bits, 32);
  EXPECT_EQ(PlanOf(Unary("abs", "f32[n,8]"), "sm_90").offset_bits, 64);
}

TEST(Schedule, CpuLanes) {
  EXPECT_EQ(PlanOf(Unary("abs", "f32[4096]"), "x86-64-v4").cpu().lanes, 16);
  EXPECT_EQ(PlanOf(Unary("abs", "f32[4096]"), "x86-64-v3").cpu().lanes, 8);
  EXPECT_EQ(PlanOf(Unary("abs", "bf16[4096]"), "x86-64-v3").cpu().lanes, 8);
  EXPECT_EQ(PlanOf(Unary("abs", "f64[4096]"), "x86-64-v2").cpu().lanes, 2);
  EXPECT_EQ(PlanOf(Unary("abs", "f32[4096]"), "x86-64-v4").cpu().unroll, 4);
  EXPECT_EQ(PlanOf(Unary("mish", "f32[4096]"), "x86-64-v4").cpu().unroll, 1);
}

TEST(Schedule, AliasesAreMarked) {
  Graph g =
      Parsed("graph f(%x: f32[8], %y: f32[8]) -> (f32[8]) { %0 = add(%x, %y) : f32[8] return %0 }");
  PlanOptions options;
  options.may_alias = {InputNamed(g, "y")};
  KernelPlan plan = PlanOf(g, "sm_90", {}, options);
  EXPECT_FALSE(plan.params[0].may_alias);
  EXPECT_TRUE(plan.params[1].may_alias);
  EXPECT_FALSE(plan.params[2].may_alias);
}

// fma only for floats, only where the product has one reader and the addend is no product.
TEST(Fma, WhereItIsFormed) {
  auto count = [](std::string_view dtype, std::string_view body) {
    std::string type = absl::StrCat(ToAbsl(dtype), "[64]"),
                text = absl::StrCat("graph f(%a: ", type, ", %b: ", type, ", %c: ", type, ") -> (",
                                    type, ") {\n");
    std::string lines(body);
    for (size_t at; (at = lines.find(";")) != std::string::npos;)
      lines.replace(at, 1, absl::StrCat(" : ", type, "\n"));
    Graph g = Parsed(absl::StrCat(text, lines, "}"));
    KernelPlan plan = PlanOf(g, "sm_90");
    return std::count_if(plan.insts.begin(), plan.insts.end(), [](const Inst& i) {
      return i.kind == Inst::Kind::kOp && i.op == ScalarOp::kFma;
    });
  };
  EXPECT_EQ(count("f32", "%0 = multiply(%a, %b); %1 = add(%0, %c); return %1"), 1);
  EXPECT_EQ(count("bf16", "%0 = multiply(%a, %b); %1 = add(%c, %0); return %1"), 1);
  EXPECT_EQ(count("i32", "%0 = multiply(%a, %b); %1 = add(%0, %c); return %1"), 0);
  EXPECT_EQ(
      count("f32", "%0 = multiply(%a, %b); %1 = multiply(%b, %c); %2 = add(%0, %1); return %2"), 0);
  EXPECT_EQ(count("f32", "%0 = multiply(%a, %b); %1 = add(%0, %c); %2 = add(%1, %0); return %2"),
            0);
}

// 10,000 ops: near-linear, well below half a second.
TEST(BuildPlanSpeed, LongChain) {
  for (int n : {1000, 10000}) {
    std::string text =
        "graph f(%x: f32[64,64], %b: f32[64]) -> (f32[64,64]) {\n%0 = abs(%x) : f32[64,64]\n";
    for (int i = 1; i < n; ++i) {
      absl::StrAppend(&text, "%", i,
                      i % 3 == 0 ? absl::StrCat(" = add(%", i - 1, ", %b)")
                                 : absl::StrCat(" = tanh(%", i - 1, ")"),
                      " : f32[64,64]\n");
    }
    Graph g = Parsed(absl::StrCat(text, "return %", n - 1, "}"));
    absl::Time start = absl::Now();
    absl::StatusOr<std::vector<KernelPlan>> plans =
        BuildPlan(g, WholeGroup(g), {}, *TargetFor("sm_90"));
    double seconds = absl::ToDoubleSeconds(absl::Now() - start);
    ASSERT_TRUE(plans.ok()) << plans.status();
    ASSERT_TRUE(VerifyPlan((*plans)[0]).ok());
    EXPECT_GE((*plans)[0].insts.size(), static_cast<size_t>(n));
    EXPECT_LT(seconds, 0.5 * n / 10000 + 0.1) << n << " ops";
    RecordProperty(absl::StrCat("seconds_", n), absl::StrCat(seconds));
    printf("%d ops: %.4f s\n", n, seconds);
  }
}

}  // namespace
}  // namespace jitfuse::internal
