#include "loadbalance/gentle_cuts.hpp"

#include <algorithm>
#include <optional>

#include "sfc/key.hpp"

namespace amrbench::loadbalance {

namespace {

constexpr std::size_t kSiblings = 8, kWindow = kSiblings - 1;

/// A key and its place among all keys.
struct Placed {
  std::int64_t place;
  std::uint64_t key;
};

/// The keys near the ends of every rank's stretch, by place: enough to see any family that two ranks share.
std::vector<Placed> ends_of_stretches(const support::Communicator& comm, std::span<const std::uint64_t> keys,
                                      std::int64_t begin) {
  std::vector<Placed> ends;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (i < kWindow || i + kWindow >= keys.size()) ends.push_back({begin + static_cast<std::int64_t>(i), keys[i]});
  return comm && comm.size() > 1 ? support::all_gather_v<Placed>(comm, ends) : ends;
}

std::int64_t allowed(std::int64_t blocks, double percent) {
  return static_cast<std::int64_t>(static_cast<double>(blocks) * percent / 100.0);
}

}  // namespace

void keep_families(const support::Communicator& comm, std::span<const std::uint64_t> keys,
                   std::span<std::int64_t> cuts) {
  const bool alone = !comm || comm.size() == 1;
  const auto count = static_cast<std::int64_t>(keys.size());
  const std::int64_t begin = alone ? 0 : support::exclusive_sum(comm, count);
  const std::vector<Placed> ends = ends_of_stretches(comm, keys, begin);
  const auto key_at = [&](std::int64_t place) -> std::optional<std::uint64_t> {
    if (place >= begin && place < begin + count) return keys[static_cast<std::size_t>(place - begin)];
    const auto found =
        std::lower_bound(ends.begin(), ends.end(), place, [](const Placed& a, std::int64_t b) { return a.place < b; });
    if (found == ends.end() || found->place != place) return {};
    return found->key;
  };
  constexpr std::int64_t kElsewhere = -1;
  std::vector<std::int64_t> kept(cuts.size(), kElsewhere);
  for (std::size_t p = 0; p < cuts.size(); ++p) {
    // The rank that holds the place behind a cut answers for it; the last cuts, behind all places, stay.
    const bool mine = cuts[p] >= begin && cuts[p] < begin + count;
    if (!mine) continue;
    kept[p] = cuts[p];
    for (std::int64_t first = cuts[p] - static_cast<std::int64_t>(kWindow); first < cuts[p]; ++first) {
      const auto a = key_at(first), b = key_at(first + static_cast<std::int64_t>(kWindow));
      if (!a || !b || !sfc::KeySpace<3>::are_family_ends(*a, *b)) continue;
      const std::int64_t inside = cuts[p] - first;
      kept[p] =
          inside > static_cast<std::int64_t>(kSiblings / 2) ? first + static_cast<std::int64_t>(kSiblings) : first;
    }
  }
  if (!alone) support::all_max(comm, std::span(kept));
  for (std::size_t p = 0; p < cuts.size(); ++p)
    if (kept[p] != kElsewhere) cuts[p] = kept[p];
}

void limit_cuts(std::span<std::int64_t> cuts, std::span<const std::int64_t> rank_sizes, double percent) {
  std::vector<std::int64_t> now(cuts.size());
  for (std::size_t r = 0; r < rank_sizes.size(); ++r) now[r + 1] = now[r] + rank_sizes[r];
  std::vector<std::int64_t> next = now;
  for (std::size_t r = 0; r < rank_sizes.size(); ++r) {
    // What rank r would give to those before it and to those behind it.
    const std::int64_t left = std::clamp<std::int64_t>(cuts[r] - now[r], 0, rank_sizes[r]);
    const std::int64_t right = std::clamp<std::int64_t>(now[r + 1] - cuts[r + 1], 0, rank_sizes[r]);
    const std::int64_t most = allowed(rank_sizes[r], percent), both = left + right;
    const bool fits = both <= most;
    next[r] += fits ? left : most * left / both;
    next[r + 1] -= fits ? right : most * right / both;
  }
  std::copy(next.begin(), next.end(), cuts.begin());
}

void limit_moves(std::span<std::int32_t> to, std::span<const std::int32_t> owners, int ranks, double percent) {
  std::vector<std::int64_t> left(static_cast<std::size_t>(ranks));
  for (const std::int32_t owner : owners) ++left[static_cast<std::size_t>(owner)];
  for (std::int64_t& blocks : left) blocks = allowed(blocks, percent);
  for (std::size_t i = 0; i < to.size(); ++i)
    if (to[i] != owners[i] && --left[static_cast<std::size_t>(owners[i])] < 0) to[i] = owners[i];
}

}  // namespace amrbench::loadbalance
