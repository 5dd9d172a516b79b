// Which kernel computes a stage.
#include "kernels/average7/average7_call.cuh"

namespace amrbench::kernels {

namespace {

using Variant = Average7Variant;

constexpr int kHopper = 90;  // compute capability, times ten

/// Launches, or fills the facts of, the variant that options name; the number of its settings.
int call_variant(const detail::Average7Call& call) {
  constexpr int kNarrow = 4;
  switch (call.options.variant) {
    case Variant::group:
      return support::current_device_shape().capability >= kHopper ? detail::call_group(call) : 0;
    case Variant::planes:
      return support::current_device_shape().capability >= kHopper ? detail::call_planes(call) : 0;
    case Variant::ring:
      return detail::call_ring(call);
    default:
      return call.layout.lanes <= kNarrow ? detail::call_march_narrow(call) : detail::call_march_wide(call);
  }
}

}  // namespace

Average7Options best_average7(const BlockLayout& layout, bool summing) {
  constexpr int kMega = 1 << 20;
  constexpr Variant kMarch = Variant::march, kPlanes = Variant::planes;
  struct Choice {
    int edge, lanes;
    Average7Options plain, summing;  // variant, setting, ahead, tile, cluster
  };
  static constexpr Choice kChoices[] = {
      {4, 5, {kMarch, 1, 2 * kMega, 1}, {kMarch, 0, 4 * kMega, 1}},
      {4, 8, {kMarch, 1, 4 * kMega, 32, 4}, {kMarch, 0, 2 * kMega, 8, 2}},
      {8, 5, {kPlanes, 0, 0, 8, 4}, {kPlanes, 0, 4 * kMega, 8, 4}},
      {16, 1, {kPlanes, 0, 0, 0, 8}, {kPlanes, 0, 0, 0, 4}},
      {16, 5, {kPlanes, 0, 0, 8, 4}, {kPlanes, 1, 0, 8, 4}},
      {16, 8, {kPlanes, 0, 0, 1, 8}, {kPlanes, 0, 0, 1, 4}},
  };
  const auto& c = layout.cells;
  const bool hopper = support::current_device_shape().capability >= kHopper;
  if (hopper && c[0] == c[1] && c[1] == c[2]) {
    for (const Choice& choice : kChoices)
      if (choice.edge == c[0] && choice.lanes == layout.lanes) return summing ? choice.summing : choice.plain;
  }
  constexpr int kFew = 6, kSmall = 8;  // rows of a plane
  const bool few = c[1] < kFew, small = c[1] < kSmall, odd = layout.lanes % 2 != 0;
  if (hopper && !few && (small || layout.lanes <= 2)) {
    const Average7Options group = detail::best_group(layout);
    if (group.variant == Variant::group) return group;
  }
  // Before 9.0 march serves planes of 6 rows with an even number of lanes better.
  if (detail::ring_serves(layout) && (odd || !small)) return {Variant::ring, 0, 0, 1};
  return {kMarch, 0, 2 * kMega, 1};
}

int average7_settings(const BlockLayout& layout, Variant variant) {
  return call_variant({layout, {}, {variant}});
}

Average7Facts average7_facts(const BlockLayout& layout, const Average7Options& options, bool summing) {
  Average7Facts facts;
  const Average7Options known = options.variant == Variant::automatic ? best_average7(layout, summing) : options;
  call_variant({layout, {}, known, summing, nullptr, &facts});
  return facts;
}

const char* name_of(Variant variant) {
  switch (variant) {
    case Variant::march:
      return "march";
    case Variant::group:
      return "group";
    case Variant::planes:
      return "planes";
    case Variant::ring:
      return "ring";
    default:
      return "automatic";
  }
}

void launch_average7(const BlockLayout& layout, const Average7Job& job, const support::CudaStream& stream,
                     const Average7Options& options) {
  if (job.count == 0) return;
  const bool summing = job.sums.words != nullptr;
  Average7Options known = options;
  if (options.variant == Variant::automatic) {
    known = best_average7(layout, summing);
    known.each_arrives = options.each_arrives;
  }
  if (call_variant({layout, job, known, summing, stream.get()}) <= known.setting) {
    known.variant = Variant::march;
    known.setting = 0;
    call_variant({layout, job, known, summing, stream.get()});
  }
  support::cuda_check_launch("average7");
}

}  // namespace amrbench::kernels
