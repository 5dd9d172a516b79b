#pragma once
// Vertices by gain: the queue of a refinement's search. Included by refine/ only.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace amrbench::partitioners::refine {

inline constexpr std::int32_t kNobody = -1;

/// A vertex's neighbours in the list of its gain.
struct QueueLink {
  std::int32_t before = kNobody;
  std::int32_t after = kNobody;
  std::int32_t bucket = 0;
};
/// Those of the vertices that a search knows, by their numbers in it; two queues may share them, a vertex being in one.
using QueueLinks = std::vector<QueueLink>;

/// A list a gain, the last to come in front: moves then go on beside the previous one. Gains beyond the reach share
/// the outermost lists. All operations take constant time but best(), which walks down over empty lists.
class GainQueue {
 public:
  GainQueue() { head_.fill(kNobody); }

  /// Forgets everything; a list costs what the used range of gains does.
  void clear() {
    if (low_ <= high_) std::fill(head_.begin() + low_, head_.begin() + high_ + 1, kNobody);
    low_ = kLists;
    high_ = -1;
    best_ = -1;
  }

  void insert(QueueLinks& links, std::int32_t v, std::int64_t gain) {
    const auto b = static_cast<std::int32_t>(std::clamp<std::int64_t>(gain, -kReach, kReach) + kReach);
    std::int32_t& head = head_[static_cast<std::size_t>(b)];
    links[static_cast<std::size_t>(v)] = {kNobody, head, b};
    if (head != kNobody) links[static_cast<std::size_t>(head)].before = v;
    head = v;
    best_ = std::max(best_, b);
    low_ = std::min(low_, b);
    high_ = std::max(high_, b);
  }

  void remove(QueueLinks& links, std::int32_t v) {
    const QueueLink link = links[static_cast<std::size_t>(v)];
    if (link.before == kNobody)
      head_[static_cast<std::size_t>(link.bucket)] = link.after;
    else
      links[static_cast<std::size_t>(link.before)].after = link.after;
    if (link.after != kNobody) links[static_cast<std::size_t>(link.after)].before = link.before;
  }

  /// The vertex to be taken next, or kNobody.
  std::int32_t best() {
    while (best_ >= 0 && head_[static_cast<std::size_t>(best_)] == kNobody) --best_;
    return best_ < 0 ? kNobody : head_[static_cast<std::size_t>(best_)];
  }

  /// Its gain, within the reach. There is one.
  [[nodiscard]] std::int32_t best_gain() const { return best_ - kReach; }

 private:
  static constexpr std::int32_t kReach = 512;
  static constexpr std::int32_t kLists = 2 * kReach + 1;
  std::array<std::int32_t, kLists> head_;
  std::int32_t low_ = kLists;  ///< lists below were not used since clear()
  std::int32_t high_ = -1;
  std::int32_t best_ = -1;  ///< lists above are empty
};

}  // namespace amrbench::partitioners::refine
