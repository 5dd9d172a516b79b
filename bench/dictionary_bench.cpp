// The dictionary against what else could map keys to indices, on meshes refined around a sphere's surface.
//
// One iteration is what follows a refinement: one build, then for every block and face a look-up of the neighbour of
// the same level, where that is absent of its parent, and where that is absent too of one child. Items are keys of the
// mesh. The neighbour keys are made beforehand, so that only building and looking up are timed.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "amr/dictionary.hpp"
#include "sfc/key.hpp"

namespace {

using Keys = std::vector<std::uint64_t>;
using Space = amrbench::sfc::KeySpace<3>;

constexpr std::int32_t kNone = -1;
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

/// Branchless binary search over a copy of the list, both possible next probes fetched ahead.
class SortedKeys {
 public:
  void build(std::span<const std::uint64_t> keys) { keys_.assign(keys.begin(), keys.end()); }
  [[nodiscard]] std::int32_t find(std::uint64_t key) const {
    const std::uint64_t* base = keys_.data();
    std::size_t n = keys_.size();
    while (n > 1) {
      const std::size_t half = n / 2;
      __builtin_prefetch(base + half / 2);
      __builtin_prefetch(base + half + half / 2);
      base += base[half] <= key ? half : 0;
      n -= half;
    }
    return *base == key ? static_cast<std::int32_t>(base - keys_.data()) : kNone;
  }

 private:
  Keys keys_;
};

/// Sorted keys cut into equal ranges of the key, about one a key; binary search within a range.
class SortedIndexed {
 public:
  void build(std::span<const std::uint64_t> keys) {
    keys_.assign(keys.begin(), keys.end());
    low_ = keys.front();
    const int bits = static_cast<int>(std::bit_width(keys.size()));
    shift_ = std::max(0, static_cast<int>(std::bit_width(keys.back() - low_)) - bits);
    starts_.assign(((keys.back() - low_) >> shift_) + 2, 0);
    std::size_t range = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      for (const std::size_t r = (keys[i] - low_) >> shift_; range < r;)
        starts_[++range] = static_cast<std::int32_t>(i);
    }
    starts_.back() = static_cast<std::int32_t>(keys.size());
  }
  [[nodiscard]] std::int32_t find(std::uint64_t key) const {
    const std::uint64_t range = (key - low_) >> shift_;
    if (key < low_ || range + 1 >= starts_.size()) return kNone;
    std::int32_t base = starts_[range];
    std::int32_t n = starts_[range + 1] - base;
    if (n == 0) return kNone;
    while (n > 1) {
      const std::int32_t half = n / 2;
      base += keys_[static_cast<std::size_t>(base) + static_cast<std::size_t>(half)] <= key ? half : 0;
      n -= half;
    }
    return keys_[static_cast<std::size_t>(base)] == key ? base : kNone;
  }

 private:
  Keys keys_;
  std::vector<std::int32_t> starts_;
  std::uint64_t low_ = 0;
  int shift_ = 0;
};

class FlatMap {
 public:
  void build(std::span<const std::uint64_t> keys) {
    map_.clear();
    map_.reserve(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) map_.emplace(keys[i], static_cast<std::int32_t>(i));
  }
  [[nodiscard]] std::int32_t find(std::uint64_t key) const {
    const auto found = map_.find(key);
    return found == map_.end() ? kNone : found->second;
  }

 private:
  boost::unordered_flat_map<std::uint64_t, std::int32_t> map_;
};

/// Open addressing, one slot a key, linear probing, at most half full.
class PlainTable {
 public:
  void build(std::span<const std::uint64_t> keys) {
    const std::size_t slots = std::bit_ceil(2 * keys.size());
    mask_ = slots - 1;
    shift_ = 64 - std::countr_zero(slots);
    keys_.assign(slots, 0);
    if (values_.size() < slots) values_.resize(slots);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      std::size_t slot = home(keys[i]);
      while (keys_[slot] != 0) slot = (slot + 1) & mask_;
      keys_[slot] = keys[i];
      values_[slot] = static_cast<std::int32_t>(i);
    }
  }
  [[nodiscard]] std::int32_t find(std::uint64_t key) const {
    for (std::size_t slot = home(key);; slot = (slot + 1) & mask_) {
      if (keys_[slot] == 0) return kNone;
      if (keys_[slot] == key) return values_[slot];
    }
  }

 private:
  [[nodiscard]] std::size_t home(std::uint64_t key) const { return (key * kGolden) >> shift_; }
  Keys keys_;
  std::vector<std::int32_t> values_;
  std::size_t mask_ = 0;
  int shift_ = 63;
};

struct Case {
  Space space;
  Keys keys;
  Keys neighbors;  // six a key, domain boundary left out
};

/// Splits down to `depth` where a sphere's surface passes within half a block's diagonal.
void refine(const Space& space, std::uint64_t key, int depth, Keys& leaves) {
  const int level = space.level(key);
  const double size = std::ldexp(1.0, -level - space.root_bits());
  double distance = 0;
  for (const auto x : space.coord(key)) {
    const double d = (x + 0.5) * size - 0.45;
    distance += d * d;
  }
  if (level < depth && std::abs(std::sqrt(distance) - 0.3) < 0.9 * size) {
    for (int i = 0; i < Space::kChildren; ++i) refine(space, space.child(key, i), depth, leaves);
  } else {
    leaves.push_back(key);
  }
}

/// The mesh of the given depth (levels below 2 x 2 x 2 roots), made once.
const Case& mesh(int depth) {
  static std::map<int, Case> made;
  if (const auto found = made.find(depth); found != made.end()) return found->second;
  Case c{Space(amrbench::sfc::Curve::hilbert, {2, 2, 2}, 10), {}, {}};
  for (std::uint32_t i = 0; i < 8; ++i) refine(c.space, c.space.key(0, {i & 1, i >> 1 & 1, i >> 2}), depth, c.keys);
  std::sort(c.keys.begin(), c.keys.end());
  for (const auto key : c.keys) {
    for (const auto n : c.space.neighbors(key)) {
      if (n != Space::kNone) c.neighbors.push_back(n);
    }
  }
  return made.emplace(depth, std::move(c)).first->second;
}

struct Tally {
  std::int64_t sum = 0;
  std::int64_t lookups = 0;
  std::int64_t misses = 0;
};

template <class Map>
Tally look_up(const Map& map, const Case& c) {
  Tally t;
  const auto find = [&](std::uint64_t key) {
    const std::int32_t i = map.find(key);
    ++t.lookups;
    t.misses += i == kNone ? 1 : 0;
    return i;
  };
  for (const auto n : c.neighbors) {
    std::int32_t i = find(n);
    if (i == kNone) i = find(c.space.parent(n));
    if (i == kNone) i = find(c.space.child(n, 0));
    t.sum += i;
  }
  return t;
}

template <class Map>
void build_and_look_up(benchmark::State& state) {
  const Case& c = mesh(static_cast<int>(state.range(0)));
  SortedKeys reference;
  reference.build(c.keys);
  const Tally expected = look_up(reference, c);
  Map map;
  Tally t;
  for (auto _ : state) {
    map.build(c.keys);
    t = look_up(map, c);
    benchmark::DoNotOptimize(t);
  }
  if (t.sum != expected.sum || t.misses != expected.misses) state.SkipWithError("finds what sorted keys do not");
  const auto n = static_cast<double>(c.keys.size());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(c.keys.size()));
  state.counters["n"] = n;
  state.counters["lookups/n"] = static_cast<double>(t.lookups) / n;
  state.counters["misses"] = static_cast<double>(t.misses) / static_cast<double>(t.lookups);
}

template <class Map>
void build_only(benchmark::State& state) {
  const Case& c = mesh(static_cast<int>(state.range(0)));
  Map map;
  for (auto _ : state) {
    map.build(c.keys);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(c.keys.size()));
  state.counters["n"] = static_cast<double>(c.keys.size());
}

#define AMRBENCH_DICTIONARY(Map)                                \
  BENCHMARK_TEMPLATE(build_and_look_up, Map)->DenseRange(3, 8); \
  BENCHMARK_TEMPLATE(build_only, Map)->DenseRange(3, 8)

AMRBENCH_DICTIONARY(amrbench::amr::Dictionary);
AMRBENCH_DICTIONARY(PlainTable);
AMRBENCH_DICTIONARY(FlatMap);
AMRBENCH_DICTIONARY(SortedKeys);
AMRBENCH_DICTIONARY(SortedIndexed);

}  // namespace

BENCHMARK_MAIN();
