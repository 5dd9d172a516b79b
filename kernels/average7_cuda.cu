// Which kernel computes a stage.
#include "kernels/average7_call.cuh"

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
  constexpr Variant kMarch = Variant::march, kGroup = Variant::group, kPlanes = Variant::planes;
  struct Choice {
    int edge, lanes;
    Average7Options plain, summing;  // variant, setting, ahead, tile, cluster
  };
  static constexpr Choice kChoices[] = {
      {4, 5, {kMarch, 1, 2 * kMega, 1}, {kMarch, 0, 4 * kMega, 1}},
      {4, 8, {kMarch, 3, 4 * kMega, 32, 4}, {kMarch, 0, 2 * kMega, 8, 2}},
      {8, 1, {kGroup, 1, 0, 1, 4}, {kMarch, 0, 4 * kMega, 0}},
      {8, 5, {kPlanes, 0, 0, 8, 4}, {kPlanes, 0, 4 * kMega, 8, 4}},
      {16, 1, {kPlanes, 0, 0, 0, 8}, {kPlanes, 0, 0, 0, 4}},
      {16, 5, {kPlanes, 0, 0, 8, 4}, {kPlanes, 1, 0, 8, 4}},
      {16, 8, {kPlanes, 0, 0, 1, 8}, {kPlanes, 0, 0, 1, 4}},
  };
  const auto& c = layout.cells;
  if (c[0] == c[1] && c[1] == c[2] && support::current_device_shape().capability >= kHopper) {
    for (const Choice& choice : kChoices)
      if (choice.edge == c[0] && choice.lanes == layout.lanes) return summing ? choice.summing : choice.plain;
  }
  // Cubes for which ring has other columns or thread blocks than its rule says, where that gains more than equal
  // cases differ (results/reference/h200/ring.txt, end): rows that leave fewer threads idle, columns that divide a
  // plane.
  struct RingChoice {
    int edge, lanes, setting, threads;
  };
  static constexpr RingChoice kRingChoices[] = {
      {6, 5, 1, 64},   {6, 7, 1, 96},   {10, 1, 0, 96},  {14, 1, 0, 64},  {18, 3, 1, 128},
      {18, 5, 1, 192}, {20, 5, 0, 320}, {22, 5, 0, 320}, {22, 6, 0, 320}, {30, 5, 1, 320},
  };
  if (c[0] == c[1] && c[1] == c[2])
    for (const RingChoice& choice : kRingChoices)
      if (choice.edge == c[0] && choice.lanes == layout.lanes)
        return {Variant::ring, choice.setting, 0, 1, 1, choice.threads};
  const bool small = c[1] < detail::kRingLeast || (c[1] < 8 && (layout.lanes % 2 == 0 || layout.lanes == 1));
  // march moves 16 bytes at a time here, ring 8.
  const bool pairs =
      (layout.lanes == 2 && layout.chunks == 1 && c[1] <= 14) || (layout.lanes == 6 && (c[1] == 8 || c[1] == 12));
  const bool march = small || pairs;
  if (!march) return {Variant::ring, detail::best_ring(layout), 0, 1};
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
