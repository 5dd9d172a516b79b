#pragma once
// How a thread walks its stretch of the curve: in groups of blocks, each group a few chunks at a time
// (docs/decisions/0003-stencil-schedule.md says why).
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "kernels/layout.hpp"

namespace amrbench::amr {

struct StagePasses {
  explicit StagePasses(const kernels::BlockLayout& layout);
  int chunks = 1;          ///< computed at once
  std::size_t blocks = 1;  ///< a group; no more cells than raw sums take between two flushes
  std::size_t ahead = 1;   ///< blocks from that which is computed to that which is fetched
};

/// Of a core's first-level cache; 32 KiB where the system does not say.
[[nodiscard]] std::size_t first_level_bytes();

/// Of a stage's results on so many blocks, a thread's share.
[[nodiscard]] std::size_t thread_bytes(const kernels::BlockLayout& layout, std::size_t blocks);

/// Results of a thread that its caches hold until the next stage reads them: surely, and perhaps, as of a shared cache
/// others may want their part or not.
struct HeldBytes {
  std::size_t surely = 0, perhaps = 0;
};
[[nodiscard]] const HeldBytes& held_bytes();

/// Do a stage's results go past the caches? What is surely held does not, what is surely not does. Between the two the
/// first stages of a mesh try both ways, and the faster one stays until the mesh is another by half. No bit depends on
/// it.
class StoreChoice {
 public:
  /// stores: DeviceConfig::stores. period: stages after which their work repeats.
  StoreChoice(std::string_view stores, int period, HeldBytes held = held_bytes());
  /// bytes: thread_bytes().
  void mesh_changed(std::size_t bytes);
  /// Of the next stage.
  [[nodiscard]] bool streams() const { return trying_ ? at_ < stages_of_way() : streams_; }
  /// The stage is over and took so long.
  void took(double seconds);

 private:
  /// Of each way; the first finds the caches as the other way left them, and does not count.
  static constexpr int kRounds = 3;
  [[nodiscard]] std::size_t stages_of_way() const { return kRounds * best_[0].size(); }

  HeldBytes held_;
  bool fixed_, streams_;
  bool trying_ = false;
  std::size_t bytes_ = 1, tried_bytes_ = 0;
  std::size_t at_ = 0;                       ///< stages of the trial so far
  std::array<std::vector<double>, 2> best_;  ///< seconds a byte, streamed and cached, by stage of the period
};

}  // namespace amrbench::amr
