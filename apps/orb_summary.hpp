#pragma once
// What `amrbench orb` says of a run, on CPUs and on GPUs.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/orb_command.hpp"
#include "partitioners/orb/orb.hpp"
#include "partitioners/orb/roofline.hpp"
#include "support/mpi.hpp"

namespace amrbench::apps {

/// Of a run on GPUs; seconds are those of the slowest rank.
struct OrbDeviceTimes {
  int gpus = 0;
  std::string transport;
  double host_to_device_s = 0;  ///< not part of the run's time, as little as check_s
  double check_s = 0;
  std::uint64_t bytes_sent = 0;  ///< from GPU to GPU
  std::vector<std::pair<std::string, double>> phases;
};

/// Numbers of a run that do not depend on the type of coordinates.
struct OrbSummary {
  std::uint64_t n = 0, leaves = 0;
  std::uint64_t count_min = std::numeric_limits<std::uint64_t>::max(), count_max = 0;
  double weight_min = std::numeric_limits<double>::max(), weight_max = 0;
  std::uint64_t tree_hash = 0, labels_hash = 0;
  double time_s = 0;            ///< median of the repeats
  std::vector<double> times_s;  ///< each
  std::vector<partitioners::OrbLevel> levels;
  partitioners::OrbRoofline roofline;
  int dim = 3;
  bool weighted = false;
  int ranks = 1;
  OrbDeviceTimes device;  ///< with GPUs
};

/// Leaves and memory that n points take at least, before there are any. support::InputError that names the option, the
/// same on every rank. Collective.
void check_orb_size(const support::Communicator& comm, const OrbArguments& arguments, std::uint64_t n, int dim);
/// Raw 32-bit numbers to a file, which may `replace` one that is there; nothing where path is empty.
void write_orb_numbers(const std::string& path, std::span<const std::uint32_t> values, bool replace);
/// Sets time_s from times_s.
void take_orb_median(OrbSummary& summary);

template <class T, int Dim>
void sum_up_orb(const partitioners::OrbTree<T, Dim>& tree, OrbSummary& summary) {
  for (const std::uint32_t c : tree.leaf_cell) {
    const auto& leaf = tree.cells[c];
    const double weight = static_cast<double>(leaf.weight) * tree.weight_unit;  // in range: check_weight_range()
    summary.count_min = std::min(summary.count_min, leaf.count);
    summary.count_max = std::max(summary.count_max, leaf.count);
    summary.weight_min = std::min(summary.weight_min, weight);
    summary.weight_max = std::max(summary.weight_max, weight);
  }
  summary.tree_hash = partitioners::tree_hash(tree);
}

}  // namespace amrbench::apps
