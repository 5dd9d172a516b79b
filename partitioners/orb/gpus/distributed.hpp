#pragma once
// Orthogonal recursive bisection over ranks whose points lie on GPUs: the tree and labels of orb() on all points in
// rank order, on every number of ranks and GPUs, as orb_distributed() gives them. Only in builds with CUDA.
//
// Decisions are orb_distributed()'s, made on the host from small numbers (distributed_levels.hpp): sums of bins, points
// beside cuts. All work on points is done on their GPU (gpus/local.hpp). Points move once, from GPU to GPU
// (support/cuda_link.hpp), to the ranks that own their leaves; these finish their cells by OrbGpu's `multiway`. One
// rank alone is OrbGpu and nothing else.
//
// Device memory besides the input: a copy of the points to send, the points received, a code of two bytes a point,
// lists of points near cuts, of few of them where points do not crowd, what OrbGpu takes for the cells owned; a number
// a point in both copies where numbers or labels are wanted, a weight a point where there are weights. These become
// integers by one exponent on all ranks (weights.hpp) and travel as they were given.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/orb.hpp"

namespace amrbench::support {
class Communicator;
}

namespace amrbench::partitioners {

struct OrbGpusOptions {
  std::uint32_t leaves = 1;
  double side_tolerance = kOrbSideTolerance;
  bool points = true;               ///< reorder each rank's points by leaf
  bool ids = false;                 ///< and their numbers over all ranks; then points are reordered too
  bool labels = false;              ///< leaf of each point, on the rank that gave it
  bool weighted = false;            ///< run() gets weights
  std::string method = "multiway";  ///< others on one rank only
  std::string transport = "auto";   ///< of support::make_cuda_link()
  bool own_gpu = true;              ///< each rank has a GPU of its own (support::choose_device())
  OrbGpuTuning tuning = {};
};

/// Of a run, on this rank, by its GPU's clock unless it says otherwise.
struct OrbGpusTimes {
  double total_s = 0;            ///< all of it but the check
  double check_s = 0;            ///< for coordinates and weights that are none, and the box; host's clock
  double weights_s = 0;          ///< adding them up
  double cut_s = 0;              ///< cells that ranks share
  double pack_s = 0;             ///< parts of the points travel meanwhile
  double exchange_s = 0;         ///< points, and numbers where wanted: from the end of the pack on
  double subtree_s = 0;          ///< OrbGpu, and gathering the tree
  double labels_s = 0;           ///< back to the points' first ranks
  std::uint64_t bytes_sent = 0;  ///< to other ranks
  std::uint64_t received = 0;    ///< points of this rank's leaves
  int passes = 0;                ///< over ranks
  int collectives = 0;           ///< of MPI, labels' and points' ways not counted
  OrbGpuTimes subtree;           ///< of this rank's largest cell
};

/// Points of consecutive leaves on this rank, by leaf, then by number. Device memory.
template <class T>
struct OrbGpusPiece {
  std::uint32_t first_leaf = 0, leaves = 0;
  std::uint64_t count = 0;
  const T* points = nullptr;           ///< null unless asked for
  const std::uint32_t* ids = nullptr;  ///< null unless asked for
};

/// Buffers are kept between runs. What it returns stays valid until the next run.
template <class T, int Dim>
class OrbGpus {
 public:
  /// The current device is used. Collective. InputError where the transport cannot be had.
  OrbGpus(const support::Communicator& comm, const OrbGpusOptions& options);
  OrbGpus(const OrbGpus&) = delete;
  OrbGpus& operator=(const OrbGpus&) = delete;
  ~OrbGpus();

  /// points: this rank's n (0 too), x, y, z of a point together, in device memory that starts at a multiple of 16
  /// bytes; not changed. A point's number is that of its rank's first plus its place. weights: n, there too, where
  /// options.weighted says so. Waits until done. Collective. InputError as of orb(), the same on every rank; RunError
  /// on every rank when one's GPU lacks memory.
  const OrbTree<T, Dim>& run(const T* points, std::uint64_t n, const double* weights = nullptr);

  [[nodiscard]] const OrbGpusTimes& times() const;
  [[nodiscard]] std::span<const OrbGpusPiece<T>> pieces() const;
  /// Of this rank's points as they were passed; null unless asked for.
  [[nodiscard]] const std::uint32_t* labels() const;
  /// Number of this rank's first point.
  [[nodiscard]] std::uint64_t first() const;
  [[nodiscard]] std::string_view transport() const;  ///< "none" on one rank

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace amrbench::partitioners
