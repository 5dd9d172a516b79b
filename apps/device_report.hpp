#pragma once
// What the run record says of the device that computed: roofline, GPU times, launches, memory.
#include "amr/config.hpp"
#include "amr/simulation.hpp"
#include "apps/run_record.hpp"
#include "support/mpi.hpp"

namespace amrbench::apps {

/// Copy bandwidth of what holds the block data, of all ranks together: of the machine's memory, or of the GPUs in use.
/// 0 on GPUs whose free memory is too little to measure it. InputError where no GPU can be used. Collective.
[[nodiscard]] double measure_roofline(const support::Communicator& comm, const amr::DeviceConfig& config);

/// Bytes of GPU memory that this rank may have: what its GPU has free, over the ranks that use that one. Infinite where
/// the CPU computes. InputError where no GPU can be used. Collective.
[[nodiscard]] double device_memory_share(const support::Communicator& comm, const amr::DeviceConfig& config);

/// The record's `device`. Collective.
[[nodiscard]] RunDevice record_device(const support::MetricsSummary& metrics, const amr::SimulationBase& simulation);

/// "13.0" and the names of the GPUs, where they compute.
void name_device(const amr::DeviceConfig& config, support::Provenance& provenance);

}  // namespace amrbench::apps
