#pragma once
// Replay: what strategies would have cost on the meshes of a trace, at any number of ranks, and what the best schedule
// of cuts would have.
//
// The best schedule is a shortest path: a state is the blocks' owners after a refinement, a step leaves them or places
// them anew, ahead of the changes, after them, or both; it costs what a VirtualRun counts for it. Where placing
// depends on mesh and weights alone, all states after a cut at refinement j are one, so there are at most as many as
// refinements so far: O(E^2) evaluations for E refinements. States are dropped that cannot end below the best
// policy's time even if all ranks were even from then on, which changes no result. Source: the problem is Boulmier and
// others' (arXiv 2104.01688); here steps cost what the model says of this very mesh.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "loadbalance/replay/machine.hpp"
#include "loadbalance/replay/virtual_run.hpp"

namespace amrbench::loadbalance {

struct ReplayRequest {
  std::vector<Strategy> strategies;
  Machine machine;
  bool optimum = true;  ///< search the best schedule
};

struct ReplayRow {
  Strategy strategy;
  ReplayTimes times;
  double stencil_max_s = 0.0, halo_max_s = 0.0;  ///< as in a run's record (VirtualRun)
  BalanceTotals totals;
  ReplayHalo halo;                                 ///< largest of any segment
  ReplayHalo last_halo;                            ///< of the last one
  double halo_bytes = 0.0, node_halo_bytes = 0.0;  ///< of all ranks and stages (VirtualRun)
  double ideal_s = 0.0;            ///< computation spread evenly, nothing else: what no strategy can go below
  double optimum_s = 0.0;          ///< time of the best schedule for this partition and these weights; 0: not searched
  std::int64_t optimum_cuts = 0;   ///< refinements at which it places blocks anew
  bool optimum_exact = false;      ///< else optimum_s is that of the best schedule found: a bound from above
  double regret = 0.0;             ///< time over optimum_s, less 1
  std::vector<ReplayStep> series;  ///< one a refinement that changed the mesh
};

/// A row a strategy, in their order. Throws support::InputError for a trace or a strategy that cannot be replayed.
/// `progress` is told the share done. One process, threads. A strategy takes O(blocks) a refinement, the best schedule
/// that for each state.
std::vector<ReplayRow> replay(const std::filesystem::path& trace, const ReplayRequest& request,
                              const std::function<void(double)>& progress = {});

}  // namespace amrbench::loadbalance
