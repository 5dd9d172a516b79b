// Which kernel computes a stage.
#include "kernels/average7_call.cuh"

namespace amrbench::kernels {

namespace {

using Variant = Average7Variant;

/// Launches, or fills the facts of, the variant that options name; the number of its settings.
int call_variant(const detail::Average7Call& call) {
  constexpr int kHopper = 90, kNarrow = 4;
  switch (call.options.variant) {
    case Variant::group:
      return support::current_device_shape().capability >= kHopper ? detail::call_group(call) : 0;
    case Variant::planes:
      return support::current_device_shape().capability >= kHopper ? detail::call_planes(call) : 0;
    default:
      return call.layout.lanes <= kNarrow ? detail::call_march_narrow(call) : detail::call_march_wide(call);
  }
}

}  // namespace

Average7Options best_average7(const BlockLayout& layout) {
  struct Choice {
    int edge, lanes;
    Variant variant;
    int setting, ahead_bytes;
  };
  static constexpr Choice kChoices[] = {
      {4, 8, Variant::march, 0, 0},  //
  };
  Average7Options options{Variant::march};
  const auto& c = layout.cells;
  for (const Choice& choice : kChoices) {
    if (c[0] != choice.edge || c[1] != choice.edge || c[2] != choice.edge || layout.lanes != choice.lanes) continue;
    options.variant = choice.variant;
    options.setting = choice.setting;
    options.ahead_bytes = choice.ahead_bytes;
  }
  return options;
}

int average7_settings(const BlockLayout& layout, Variant variant) {
  return call_variant({layout, {}, {variant}});
}

Average7Facts average7_facts(const BlockLayout& layout, const Average7Options& options, bool summing) {
  Average7Facts facts;
  const Average7Options known = options.variant == Variant::automatic ? best_average7(layout) : options;
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
    default:
      return "automatic";
  }
}

void launch_average7(const BlockLayout& layout, const Average7Job& job, const support::CudaStream& stream,
                     const Average7Options& options) {
  if (job.count == 0) return;
  Average7Options known = options;
  if (options.variant == Variant::automatic) {
    known = best_average7(layout);
    known.tile = options.tile;
    known.streaming = options.streaming;
  }
  if (call_variant({layout, job, known, job.sums.words != nullptr, stream.get()}) <= known.setting) {
    known.variant = Variant::march;
    known.setting = 0;
    call_variant({layout, job, known, job.sums.words != nullptr, stream.get()});
  }
  support::cuda_check_launch("average7");
}

}  // namespace amrbench::kernels
