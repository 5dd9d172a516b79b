// Copy bandwidth of this machine as a run measures it (support/bandwidth.hpp), by buffer size and kind of store.
// A plain program under MPI rather than a Google Benchmark, because the figure belongs to all ranks at once.
// Repeat with: mpirun -n <ranks> ./copy_bandwidth_bench
#include <fmt/core.h>

#include <cstdint>
#include <exception>

#include "support/bandwidth.hpp"
#include "support/mpi.hpp"

namespace {

void run() {
  using namespace amrbench::support;
  const Communicator world = Communicator::world();
  const std::int64_t by_default = measure_copy_bandwidth(world).bytes_rank * world.split_node().size();
  if (world.is_root()) {
    fmt::print("last-level cache {:.0f} MiB, {} ranks\n", static_cast<double>(last_level_cache().bytes) / (1 << 20),
               world.size());
    fmt::print("{:>12}  {:>10}  {:<26}{:>10}\n", "MiB a node", "threads", "kind", "GB/s");
  }
  for (const std::int64_t bytes : {by_default / 16, by_default / 4, by_default, 2 * by_default}) {
    CopyOptions options;
    options.bytes_node = bytes;
    const CopyBandwidth measured = measure_copy_bandwidth(world, options);
    if (!world.is_root()) continue;
    for (const CopyKind& kind : measured.kinds) {
      fmt::print("{:>12.0f}  {:>10}  {:<26}{:>10.1f}{}\n", static_cast<double>(bytes) / (1 << 20), measured.threads,
                 kind.name, kind.bytes_per_s * 1e-9, bytes == by_default ? "   (a run's size)" : "");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const amrbench::support::Environment mpi(argc, argv);
  try {
    run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "copy_bandwidth_bench: {}\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return 0;
}
