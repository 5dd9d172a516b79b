#pragma once
// The whole configuration of a run, as plain data: what each room takes, under the names of docs/config.md.
#include <string>
#include <vector>

#include "amr/config.hpp"
#include "loadbalance/config.hpp"
#include "workloads/config.hpp"

namespace amrbench::apps {

struct Config : amr::Config, workloads::WorkloadConfig {
  loadbalance::PartitionConfig partition;
  loadbalance::BalanceConfig balance;
};

/// The files that a run reads, by the keys that name them.
[[nodiscard]] inline std::vector<std::string*> input_files(Config& config) {
  auto& water = config.shallow_water;
  std::vector<std::string*> files{&water.bed_file, &water.depth_file, &water.roughness_file, &water.resolution};
  for (auto& inflow : config.inflow) files.insert(files.end(), {&inflow.series, &inflow.depths});
  return files;
}

}  // namespace amrbench::apps
