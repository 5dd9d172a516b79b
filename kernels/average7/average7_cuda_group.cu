// Which group kernels there are.
#include "kernels/average7/average7_group.cuh"

namespace amrbench::kernels::detail {

namespace {

/// Setting s is groups of 2^s blocks, as far as they fit.
int settings_of(const BlockLayout& layout) {
  int settings = 0;
  for (int items = 1; items <= kGroupBlocks; items *= 2) {
    if (group_bytes(layout, group_shape(layout, items, kGroupMost, 1)) > kSharedRoom) break;
    if (items * layout.block_cells() > kSumMaxCells) break;
    ++settings;
  }
  return settings;
}

template <int Lanes>
void call_lanes(const Average7Call& call) {
  const int items = 1 << call.options.setting;
  if (call.summing)
    call_group_kernel<Lanes, true>(call, items);
  else
    call_group_kernel<Lanes, false>(call, items);
}

}  // namespace

Average7Options best_group(const BlockLayout& layout) {
  constexpr int kMega = 1 << 20;
  constexpr std::size_t kRoom = 64 << 10, kLittle = 16 << 10;  // bytes
  const auto bytes = [&](int setting) { return group_bytes(layout, group_shape(layout, 1 << setting, kGroupMost, 1)); };
  const int settings = settings_of(layout);
  int setting = -1;
  while (setting + 1 < settings && bytes(setting + 1) <= kRoom) ++setting;  // three thread blocks a multiprocessor
  if (setting < 0) return {};
  // Clusters of many small thread blocks wait for room.
  return {Average7Variant::group, setting, 8 * kMega, 1, bytes(setting) > kLittle ? 4 : 1};
}

int call_group(const Average7Call& call) {
  const int settings = settings_of(call.layout);
  if (call.options.setting >= settings || (call.job.count == 0 && call.facts == nullptr)) return settings;
  using Call = void (*)(const Average7Call&);
  static constexpr Call kCalls[kMaxLanes] = {call_lanes<1>, call_lanes<2>, call_lanes<3>, call_lanes<4>,
                                             call_lanes<5>, call_lanes<6>, call_lanes<7>, call_lanes<8>};
  kCalls[call.layout.lanes - 1](call);
  return settings;
}

}  // namespace amrbench::kernels::detail
