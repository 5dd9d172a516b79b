// The words: a segment's loss is curable load (of the fullest rank, above what a cut would give) times the seconds that
// a unit of load takes in a segment. Seconds a unit come from the last segments: mean seconds by mean load, stage for
// stage. A cut's cost comes from the last ones: seconds by blocks moved.
#include "loadbalance/outlook_policies.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace amrbench::loadbalance {

namespace {

/// What a history says of segments and cuts. Outcome i led to segment i + 1.
class Experience {
 public:
  explicit Experience(const History& history) : history_(history) {}

  /// Seconds that a unit of load takes in a segment to come; nothing before the first was measured.
  [[nodiscard]] std::optional<double> seconds_of_load() const {
    constexpr int kMost = 3;
    double seconds = 0.0, load_stages = 0.0, stages = 0.0;
    int count = 0;
    for (std::size_t i = history_.outcomes.size(); i-- > 0 && count < kMost;) {
      const Segment& s = history_.segments[i + 1];
      if (s.stages == 0 || history_.outcomes[i].load_mean <= 0.0) continue;
      seconds += s.seconds_mean;
      load_stages += history_.outcomes[i].load_mean * static_cast<double>(s.stages);
      stages += static_cast<double>(s.stages);
      ++count;
    }
    if (count == 0 || load_stages <= 0.0) return {};
    return seconds / load_stages * stages / count;
  }

  /// Seconds of a cut that moves so many blocks; nothing before the first.
  [[nodiscard]] std::optional<double> cost_of_cut(std::int64_t blocks) const {
    constexpr std::size_t kMost = 8;
    std::size_t n = 0;
    double x = 0.0, y = 0.0, xx = 0.0, xy = 0.0;
    for (std::size_t i = history_.outcomes.size(); i-- > 0 && n < kMost;) {
      const Outcome& o = history_.outcomes[i];
      if (!o.has_cut()) continue;
      const double moved = static_cast<double>(o.blocks), seconds = o.seconds;
      x += moved;
      y += seconds;
      xx += moved * moved;
      xy += moved * seconds;
      ++n;
    }
    if (n == 0) return {};
    const auto count = static_cast<double>(n);
    const double spread = count * xx - x * x;
    // A line through the cuts, where they differ in size and it rises from above zero; else their mean.
    if (n >= 3 && spread > 0.01 * count * xx) {
      const double slope = (count * xy - x * y) / spread, at_zero = (y - slope * x) / count;
      if (slope >= 0.0 && at_zero >= 0.0) return at_zero + slope * static_cast<double>(blocks);
    }
    return xx > 0.0 && spread > 0.01 * count * xx ? xy / xx * static_cast<double>(blocks) : y / count;
  }

  /// Curable load of the segments since the last cut.
  [[nodiscard]] double waited() const {
    double sum = 0.0;
    for (std::size_t i = history_.outcomes.size(); i-- > 0;) {
      if (history_.segments[i + 1].stages > 0) sum += history_.outcomes[i].curable_after;
      if (history_.outcomes[i].has_cut()) break;
    }
    return sum;
  }

  /// Segments from one cut to the next, so far, and no more than are left.
  [[nodiscard]] double rhythm() const {
    double cuts = 1.0;
    for (const Outcome& o : history_.outcomes) cuts += o.has_cut() ? 1.0 : 0.0;
    return std::min(static_cast<double>(history_.segments.size()) / cuts, segments_left());
  }

  /// Seconds a segment that the last one took more than the first after the last full cut did, for the same load: what
  /// slicing in place has cost in neighbours and messages.
  [[nodiscard]] double drift() const {
    const auto per_load = [&](std::size_t i) {
      const Segment& s = history_.segments[i + 1];
      const double work = history_.outcomes[i].load_mean * static_cast<double>(s.stages);
      return work > 0.0 ? s.seconds_max / work : 0.0;
    };
    for (std::size_t i = history_.outcomes.size(); i-- > 0;) {
      if (!history_.outcomes[i].has_cut() || history_.outcomes[i].action != Action::full) continue;
      const std::size_t last = history_.outcomes.size() - 1;
      const double then = per_load(i), now = per_load(last);
      return then > 0.0 && now > then ? (1.0 - then / now) * history_.segments.back().seconds_max : 0.0;
    }
    return 0.0;
  }

  /// By how much curable load grows a segment, up to the present one.
  [[nodiscard]] double growth(double curable) const {
    constexpr std::size_t kMost = 64;
    double sum = 0.0, later = curable;
    std::size_t n = 0;
    for (std::size_t i = history_.outcomes.size(); i-- > 0 && n < kMost;) {
      if (history_.segments[i + 1].stages > 0) {
        sum += std::max(0.0, later - history_.outcomes[i].curable_after);
        ++n;
      }
      later = history_.outcomes[i].curable_before;
    }
    return n > 0 ? sum / static_cast<double>(n) : 0.0;
  }

  /// Segments to come; infinity where the steps are not known.
  [[nodiscard]] double segments_left() const {
    const auto count = static_cast<double>(history_.segments.size() - 1);
    if (history_.steps == 0) return std::numeric_limits<double>::infinity();
    if (history_.step == 0 || count <= 0.0) return static_cast<double>(history_.steps - history_.step);
    return static_cast<double>(history_.steps - history_.step) * count / static_cast<double>(history_.step);
  }

 private:
  const History& history_;
};

/// Is a cut worth `cost` seconds, where a unit of curable load takes `second` seconds in a segment?
using Worth = bool (*)(const Experience& experience, double curable, double second, double cost);

bool anticipated(const Experience& experience, double curable, double second, double cost) {
  return (experience.waited() + curable) * second >= cost;
}

bool in_rhythm(const Experience& experience, double curable, double second, double cost) {
  const double loss = curable * second;
  if (loss * experience.segments_left() < cost) return false;
  return loss >= std::sqrt(2.0 * cost * experience.growth(curable) * second) ||
         anticipated(experience, curable, second, cost);
}

/// The first cut, whose cost is not known yet, is made as soon as it would cure something. kSlices: where slicing in
/// place is worth it too, what wins more until the next cut is done.
template <Worth worth, bool kSlices>
class ByOutlook final : public Policy {
 public:
  [[nodiscard]] Action decide(const History& history, const Load& load) const override {
    if (load.is_even()) return Action::leave;
    const Experience experience(history);
    const auto second = experience.seconds_of_load();
    const auto is_worth = [&](const std::optional<Outlook>& outlook) {
      if (!outlook || outlook->max >= load.max) return false;
      const auto cost = experience.cost_of_cut(outlook->blocks);
      return !second || !cost || worth(experience, load.max - outlook->max, *second, *cost);
    };
    const bool full = is_worth(load.outlook);
    if (!kSlices || !is_worth(load.sliced)) return full ? Action::full : Action::leave;
    const auto cost = experience.cost_of_cut(load.outlook->blocks);
    if (!second || !cost) return Action::full;
    const double segments = experience.rhythm();
    const double won_by_full = segments * ((load.sliced->max - load.outlook->max) * *second + experience.drift());
    const double saved = *cost - *experience.cost_of_cut(load.sliced->blocks);
    return full && won_by_full >= saved ? Action::full : Action::incremental;
  }
  [[nodiscard]] bool wants_outlook() const override { return true; }
};

}  // namespace

std::unique_ptr<Policy> make_anticipate(const BalanceConfig& /*config*/) {
  return std::make_unique<ByOutlook<anticipated, false>>();
}
std::unique_ptr<Policy> make_auto(const BalanceConfig& /*config*/) {
  return std::make_unique<ByOutlook<in_rhythm, true>>();
}

}  // namespace amrbench::loadbalance
