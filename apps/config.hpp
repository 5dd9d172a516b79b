#pragma once
// The whole configuration of a run, as plain data: what each room takes, under the names of docs/config.md.
#include "amr/config.hpp"
#include "loadbalance/config.hpp"
#include "workloads/config.hpp"

namespace amrbench::apps {

struct Config : amr::Config, workloads::WorkloadConfig {
  loadbalance::PartitionConfig partition;
  loadbalance::BalanceConfig balance;
};

}  // namespace amrbench::apps
