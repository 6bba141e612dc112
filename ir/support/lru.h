// Lru: a map of at most `limit` entries; the one that was asked for longest ago makes room.
//
// In: keys and values. Finding is a lookup and a stamp; making room looks at all entries, which is
// little beside what it costs to make a value. Not thread-safe: the owner locks.
#ifndef JITFUSE_IR_SUPPORT_LRU_H_
#define JITFUSE_IR_SUPPORT_LRU_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace jitfuse::internal {

template <typename Key, typename Value>
class Lru {
 public:
  explicit Lru(size_t limit) : limit_(limit) {}

  // Null where there is none; valid until the next Insert.
  const Value* Find(const Key& key) {
    auto it = entries_.find(key);
    if (it == entries_.end()) return nullptr;
    it->second.used = ++clock_;
    return &it->second.value;
  }
  // What is there already stays; the value that is there afterwards.
  const Value& Insert(const Key& key, Value value) {
    if (const Value* there = Find(key)) return *there;
    if (entries_.size() >= limit_) {
      entries_.erase(std::min_element(
          entries_.begin(), entries_.end(),
          [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
    }
    return entries_.emplace(key, Entry{std::move(value), ++clock_}).first->second.value;
  }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Value value;
    uint64_t used;
  };
  const size_t limit_;
  uint64_t clock_ = 0;
  absl::flat_hash_map<Key, Entry> entries_;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SUPPORT_LRU_H_
