#include "jit/tune_record.h"

#include <array>
#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr const char* kHead = "jitfuse tuning";
constexpr const char* kNone = "-";  // of a list without items

using Epilogue = ProductChoice::Epilogue;
struct EpilogueRow {
  Epilogue epilogue;
  bool no_algorithm;
  const char* name;
};
constexpr std::array<EpilogueRow, 4> kEpilogues = {{{Epilogue::kAll, false, "all"},
                                                    {Epilogue::kSums, false, "sums"},
                                                    {Epilogue::kNone, false, "none"},
                                                    {Epilogue::kNone, true, "no-algorithm"}}};
constexpr const char* kUnpadded = "/unpadded";

std::string ChoiceWord(const ProductChoice& choice) {
  for (const EpilogueRow& row : kEpilogues) {
    if (row.epilogue == choice.epilogue && row.no_algorithm == choice.no_algorithm)
      return absl::StrCat(row.name,
                          choice.padding == ProductChoice::Padding::kNever ? kUnpadded : "");
  }
  return "all";
}

bool ParseChoice(absl::string_view word, ProductChoice* out) {
  if (absl::ConsumeSuffix(&word, kUnpadded)) out->padding = ProductChoice::Padding::kNever;
  for (const EpilogueRow& row : kEpilogues) {
    if (word != row.name) continue;
    out->epilogue = row.epilogue;
    out->no_algorithm = row.no_algorithm;
    return true;
  }
  return false;
}

std::string Micros(double us) { return absl::StrFormat("%.3f", us); }

// For errors: the beginning, with what is no text as its number.
std::string Shown(absl::string_view line) {
  constexpr size_t kMost = 60;
  return absl::StrCat("'", absl::CEscape(line.substr(0, kMost)),
                      line.size() > kMost ? "...'" : "'");
}

// Lines of "key rest"; each Take names the key that has to come.
class Reader {
 public:
  explicit Reader(absl::string_view text) : lines_(absl::StrSplit(text, '\n')) {
    while (!lines_.empty() && lines_.back().empty()) lines_.pop_back();
  }
  bool AtEnd() const { return at_ == lines_.size(); }
  bool IsNext(absl::string_view key) const {
    return !AtEnd() && absl::StartsWith(lines_[at_], absl::StrCat(key, " "));
  }
  absl::StatusOr<absl::string_view> Take(absl::string_view key) {
    if (!IsNext(key)) return Bad(absl::StrCat("a line '", key, " ...'"));
    return lines_[at_++].substr(key.size() + 1);
  }
  absl::Status Bad(absl::string_view expected) const {
    return InvalidArgument("a tuning record, line ", at_ + 1, ": expected ", expected, ", got ",
                           AtEnd() ? "its end" : Shown(lines_[at_]));
  }
  void Back() { --at_; }

 private:
  std::vector<absl::string_view> lines_;
  size_t at_ = 0;
};

// The first word of `rest`, which loses it.
absl::string_view Word(absl::string_view* rest) {
  const size_t end = std::min(rest->find(' '), rest->size());
  const absl::string_view word = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  return word;
}

bool ParseTime(absl::string_view word, double* us) {
  return absl::SimpleAtod(word, us) && std::isfinite(*us) && *us >= 0;
}

absl::StatusOr<TuneRecord::Algorithm> TakeAlgorithm(Reader* in) {
  JF_ASSIGN_OR_RETURN(absl::string_view rest, in->Take("tried"));
  TuneRecord::Algorithm out;
  const bool ok = ParseTime(Word(&rest), &out.us);
  out.id = std::string(Word(&rest));
  out.text = std::string(rest);
  if (ok && !out.id.empty()) return out;
  in->Back();
  return in->Bad("'tried MICROSECONDS ALGORITHM TEXT'");
}

absl::StatusOr<TuneRecord::Product> TakeProduct(Reader* in, int number) {
  JF_ASSIGN_OR_RETURN(absl::string_view rest, in->Take("product"));
  TuneRecord::Product out;
  const bool ok =
      absl::SimpleAtoi(Word(&rest), &out.like) && absl::SimpleAtoi(Word(&rest), &out.chosen);
  out.problem = std::string(rest);
  if (!ok || out.like < -1 || out.like >= number || out.chosen < 0) {
    in->Back();
    return in->Bad("'product NUMBER-OF-ONE-LIKE-IT-OR--1 NUMBER-OF-THE-CHOSEN TEXT'");
  }
  while (in->IsNext("tried")) {
    JF_ASSIGN_OR_RETURN(TuneRecord::Algorithm tried, TakeAlgorithm(in));
    out.tried.push_back(std::move(tried));
  }
  if (out.tried.empty() ? out.chosen == 0 : out.chosen < static_cast<int>(out.tried.size()))
    return out;
  return in->Bad(absl::StrCat("at least ", out.chosen + 1, " lines 'tried' of the product"));
}

absl::StatusOr<TuneRecord::Plan> TakePlan(Reader* in) {
  JF_ASSIGN_OR_RETURN(absl::string_view rest, in->Take("plan"));
  TuneRecord::Plan out;
  bool ok = ParseTime(Word(&rest), &out.us);
  if (rest != kNone) {
    for (absl::string_view word : absl::StrSplit(rest, ',')) {
      ok = ok && ParseChoice(word, &out.choices.emplace_back());
    }
  }
  if (!ok) {
    in->Back();
    return in->Bad("'plan MICROSECONDS CHOICE,CHOICE,...' with all, sums, none or no-algorithm");
  }
  while (in->IsNext("product")) {
    JF_ASSIGN_OR_RETURN(TuneRecord::Product product,
                        TakeProduct(in, static_cast<int>(out.products.size())));
    out.products.push_back(std::move(product));
  }
  return out;
}

absl::Status TakeKey(Reader* in, TuneRecord* out) {
  int version = 0;
  JF_ASSIGN_OR_RETURN(absl::string_view rest, in->Take(kHead));
  if (!absl::SimpleAtoi(rest, &version) || version != TuneRecord::kVersion) {
    in->Back();
    return in->Bad(absl::StrCat("version ", TuneRecord::kVersion));
  }
  for (auto [key, value] :
       {std::pair("graph", &out->graph), std::pair("call", &out->call),
        std::pair("target", &out->target), std::pair("library", &out->library)}) {
    JF_ASSIGN_OR_RETURN(rest, in->Take(key));
    *value = std::string(rest);
  }
  JF_ASSIGN_OR_RETURN(rest, in->Take("chosen"));
  if (absl::SimpleAtoi(rest, &out->chosen) && out->chosen >= 0) return absl::OkStatus();
  in->Back();
  return in->Bad("the number of the chosen plan");
}

}  // namespace

std::vector<std::string> ChosenAlgorithms(const TuneRecord::Plan& plan) {
  std::vector<std::string> out;
  for (const TuneRecord::Product& own : plan.products) {
    const TuneRecord::Product& product =
        own.like < 0 ? own : plan.products[static_cast<size_t>(own.like)];
    out.push_back(product.tried.empty() ? ""
                                        : product.tried[static_cast<size_t>(product.chosen)].id);
  }
  return out;
}

std::string ChoicesToString(const std::vector<ProductChoice>& choices) {
  return choices.empty()
             ? "all"
             : absl::StrJoin(choices, ", ", [](std::string* out, const ProductChoice& c) {
                 absl::StrAppend(out, ChoiceWord(c));
               });
}

std::string TuneRecordToText(const TuneRecord& record) {
  std::string out = absl::StrCat(kHead, " ", TuneRecord::kVersion, "\ngraph ", record.graph,
                                 "\ncall ", record.call, "\ntarget ", record.target, "\nlibrary ",
                                 record.library, "\nchosen ", record.chosen, "\n");
  for (const TuneRecord::Plan& plan : record.plans) {
    absl::StrAppend(&out, "plan ", Micros(plan.us), " ",
                    plan.choices.empty()
                        ? kNone
                        : absl::StrJoin(plan.choices, ",",
                                        [](std::string* s, const ProductChoice& c) {
                                          absl::StrAppend(s, ChoiceWord(c));
                                        }),
                    "\n");
    for (const TuneRecord::Product& product : plan.products) {
      absl::StrAppend(&out, "product ", product.like, " ", product.chosen, " ", product.problem,
                      "\n");
      for (const TuneRecord::Algorithm& a : product.tried)
        absl::StrAppend(&out, "tried ", Micros(a.us), " ", a.id, " ", a.text, "\n");
    }
  }
  return out;
}

absl::StatusOr<TuneRecord> ParseTuneRecord(std::string_view text) {
  Reader in(ToAbsl(text));
  TuneRecord out;
  JF_RETURN_IF_ERROR(TakeKey(&in, &out));
  while (!in.AtEnd()) {
    JF_ASSIGN_OR_RETURN(TuneRecord::Plan plan, TakePlan(&in));
    out.plans.push_back(std::move(plan));
  }
  if (out.chosen < static_cast<int>(out.plans.size())) return out;
  return in.Bad(absl::StrCat("at least ", out.chosen + 1, " lines 'plan'"));
}

}  // namespace jitfuse::internal
