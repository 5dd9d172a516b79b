#include "workloads/registry.hpp"

#include <array>
#include <string>

#include "support/error.hpp"
#include "support/registry.hpp"
#include "workloads/advection/advection.hpp"
#include "workloads/averages/averages.hpp"
#include "workloads/shallow_water/shallow_water.hpp"

namespace amrbench::workloads {

namespace {

std::unique_ptr<amr::Workload<3>> make_averages(const amr::Config& config, const WorkloadConfig& /*more*/) {
  return std::make_unique<Averages>(config);
}

template <int Dim>
std::unique_ptr<amr::Workload<Dim>> make_advection(const amr::Config& config, const WorkloadConfig& more) {
  return std::make_unique<Advection<Dim>>(config, more.advection);
}

std::unique_ptr<amr::Workload<2>> make_shallow_water(const amr::Config& config, const WorkloadConfig& more) {
  return std::make_unique<ShallowWater>(config, more);
}

}  // namespace

std::span<const WorkloadEntry> workload_registry() {
  static constexpr std::array entries{
      WorkloadEntry{"averages", "miniAMR's: extensive variables averaged over neighbours, refined where objects pass",
                    nullptr, make_averages},
      WorkloadEntry{"shallow_water", "waves, floods and dry ground by the shallow-water equations, on a block quadtree",
                    make_shallow_water, nullptr},
      WorkloadEntry{"advection", "a bump carried by a constant velocity, in two and three dimensions",
                    make_advection<2>, make_advection<3>},
  };
  return entries;
}

template <int Dim>
std::unique_ptr<amr::Workload<Dim>> make_workload(std::string_view name, const amr::Config& config,
                                                  const WorkloadConfig& more) {
  const WorkloadEntry& entry = support::find_entry(workload_registry(), name, "run.workload");
  const auto make = [&] {
    if constexpr (Dim == 2) {
      return entry.make_2d;
    } else {
      return entry.make_3d;
    }
  }();
  if (make == nullptr)
    throw support::InputError("run.workload = \"" + std::string(name) +
                              "\" needs mesh.dim = " + (Dim == 2 ? "3" : "2"));
  return make(config, more);
}

template std::unique_ptr<amr::Workload<2>> make_workload<2>(std::string_view, const amr::Config&,
                                                            const WorkloadConfig&);
template std::unique_ptr<amr::Workload<3>> make_workload<3>(std::string_view, const amr::Config&,
                                                            const WorkloadConfig&);

}  // namespace amrbench::workloads
