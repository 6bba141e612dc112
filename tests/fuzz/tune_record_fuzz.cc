// libFuzzer target for tuning records: any text is a record, which gives the same text from then
// on, or an error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "jit/tune_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace jitfuse::internal;  // NOLINT: three functions
  const auto record = ParseTuneRecord({reinterpret_cast<const char*>(data), size});
  if (!record.ok()) return 0;
  if (ChosenAlgorithms(record->plan()).size() != record->plan().products.size()) std::abort();
  const std::string text = TuneRecordToText(*record);
  const auto again = ParseTuneRecord(text);
  if (!again.ok() || TuneRecordToText(*again) != text) std::abort();
  return 0;
}
