// Which staged kernels there are.
#include "kernels/average7_staged.cuh"

namespace amrbench::kernels::detail {

namespace {

/// A shape and its alternate: lanes, cells, planes a slab, blocks a group, stages, threads.
template <class First, class Second>
struct Shapes {
  using A = First;
  using B = Second;
};
using Staged1x4 = Shapes<StagedShape<1, 4, 4, 32, 2, 256>, StagedShape<1, 4, 4, 16, 4, 256>>;
using Staged1x8 = Shapes<StagedShape<1, 8, 8, 8, 2, 256>, StagedShape<1, 8, 8, 8, 2, 512>>;
using Staged1x16 = Shapes<StagedShape<1, 16, 16, 1, 2, 256>, StagedShape<1, 16, 8, 1, 4, 256>>;
using Staged5x4 = Shapes<StagedShape<5, 4, 4, 8, 2, 320>, StagedShape<5, 4, 4, 8, 2, 640>>;
using Staged5x8 = Shapes<StagedShape<5, 8, 8, 1, 3, 320>, StagedShape<5, 8, 8, 1, 2, 320>>;
using Staged5x16 = Shapes<StagedShape<5, 16, 4, 1, 3, 640>, StagedShape<5, 16, 2, 1, 2, 320>>;
using Staged8x4 = Shapes<StagedShape<8, 4, 4, 8, 2, 512>, StagedShape<8, 4, 4, 4, 2, 256>>;
using Staged8x8 = Shapes<StagedShape<8, 8, 8, 1, 2, 256>, StagedShape<8, 8, 8, 1, 3, 512>>;
using Staged8x16 = Shapes<StagedShape<8, 16, 4, 1, 2, 256>, StagedShape<8, 16, 2, 1, 3, 512>>;

template <class S>
bool launch(const BlockLayout& l, const Average7Job& job, const Average7Options& options, cudaStream_t stream) {
  if (job.count > 0 && options.variant == Average7Variant::staged_alternate)
    launch_staged<typename S::B>(l, job, options, stream);
  else if (job.count > 0)
    launch_staged<typename S::A>(l, job, options, stream);
  return true;
}

template <class S4, class S8, class S16>
bool launch_cells(const BlockLayout& l, const Average7Job& job, const Average7Options& options, cudaStream_t stream) {
  if (l.cells[0] != l.cells[1] || l.cells[1] != l.cells[2]) return false;
  switch (l.cells[0]) {
    case 4:
      return launch<S4>(l, job, options, stream);
    case 8:
      return launch<S8>(l, job, options, stream);
    case 16:
      return launch<S16>(l, job, options, stream);
    default:
      return false;
  }
}

}  // namespace

bool launch_staged_any(const BlockLayout& l, const Average7Job& job, const Average7Options& options,
                       cudaStream_t stream) {
  switch (l.lanes) {
    case 1:
      return launch_cells<Staged1x4, Staged1x8, Staged1x16>(l, job, options, stream);
    case 5:
      return launch_cells<Staged5x4, Staged5x8, Staged5x16>(l, job, options, stream);
    case 8:
      return launch_cells<Staged8x4, Staged8x8, Staged8x16>(l, job, options, stream);
    default:
      return false;
  }
}

}  // namespace amrbench::kernels::detail
