#pragma once
// The search for better parts among two that touch (refine.hpp). Included by refine/ only.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "partitioners/refine/gain_queue.hpp"
#include "partitioners/refine/move_change.hpp"
#include "partitioners/refine/part_state.hpp"

namespace amrbench::partitioners::refine {

/// What no search may exceed.
struct SearchLimits {
  std::uint64_t load = 0;        ///< of a part, in the end
  std::uint64_t slack = 0;       ///< above that on the way
  std::int64_t goal_most = 0;    ///< cut or volume of a part
  std::int64_t goal_growth = 0;  ///< of the sum over parts
  std::int64_t cut_most = 0;     ///< of a part
  std::int64_t cut_growth = 0;   ///< of the sum over parts
};

/// Searches one pair after another; one object a thread. It reads the state and changes nothing in it; what it moves is
/// kept beside, in lists of the vertices near the boundary, numbered as they are met.
class PairSearch {
 public:
  explicit PairSearch(std::size_t vertices) : where_(vertices, 0) {}

  /// Moves between parts low and high, in order, that lower the goal; none if there are none. near: vertices at the
  /// common boundary; others may be among them.
  void run(const PartState& state, const SearchLimits& limits, std::int32_t low, std::int32_t high,
           std::span<const std::int32_t> near, std::vector<VertexMove>& moves);

 private:
  enum class Status : std::uint8_t { free, queued, done };
  struct Local {
    std::int32_t vertex;
    std::int32_t degree;
    std::array<std::int32_t, 2> edges;  ///< to either part as it is now
    std::uint8_t side;
    Status status;
  };
  /// A part whose goal changed, and by how much.
  struct Changed {
    std::int32_t part;
    std::int64_t by;
  };

  void fetch_ahead(std::span<const std::int32_t> near, std::size_t i) const;
  void start(const PartState& state, const SearchLimits& limits, std::int32_t low, std::int32_t high);
  void weigh_sides();
  [[nodiscard]] std::int32_t find(std::int32_t vertex) const;
  std::int32_t add(std::int32_t vertex, std::int32_t part);
  [[nodiscard]] std::int64_t gain_of(const Local& v) const;
  void queue(std::int32_t id);
  std::int32_t pick();
  void set_aside(int side);
  void move(std::int32_t id);
  void note_volumes(const VertexMove& step);
  [[nodiscard]] std::int32_t part_now(std::int32_t vertex) const;
  [[nodiscard]] bool allowed() const;
  [[nodiscard]] double energy_drop() const;
  [[nodiscard]] double energy(std::int64_t goal) const;

  const PartState* state_ = nullptr;
  SearchLimits limits_;
  std::array<std::int32_t, 2> part_{};
  std::array<std::uint64_t, 2> load_{};
  std::array<std::int64_t, 2> count_{};
  std::array<std::int64_t, 2> cut_{};
  std::array<std::int64_t, 2> price_{1, 1};  ///< of an edge more in either part's cut
  std::int64_t cut_growth_ = 0;
  std::vector<Changed> changed_;  ///< the two parts first
  std::array<GainQueue, 2> queue_;
  QueueLinks links_;
  std::vector<Local> local_;
  std::vector<std::int32_t> where_;  ///< of a vertex: its number among local_, if that one is it
  std::vector<VertexMove> log_;
  FewParts few_;
};

}  // namespace amrbench::partitioners::refine
