// Recursive bisection beside Zoltan's RCB on the same points, 3-D, uniform, with as many parts as leaves.
//   mpiexec -n RANKS orb_zoltan_bench N LEAVES [REPEATS]
// One rank: orb() with all threads against Zoltan on one rank. Several ranks: Zoltan and orb_distributed() on those
// ranks; orb() with as many threads as ranks then runs on rank 0 while the others wait. Zoltan is asked for the parts
// of the points, no more (it takes doubles only); ours gives labels and permutation. Rows: method, ranks, threads,
// seconds.
#include <mpi.h>
#include <zoltan.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "partitioners/inputs/generated_points.hpp"
#include "partitioners/orb/distributed.hpp"
#include "partitioners/orb/orb.hpp"
#include "support/mpi.hpp"

namespace {

using namespace amrbench;

struct Points {
  std::vector<double> x;
  std::uint64_t first = 0;
};

int count_points(void* data, int* error) {
  *error = ZOLTAN_OK;
  return static_cast<int>(static_cast<Points*>(data)->x.size() / 3);
}
void list_points(void* data, int, int, ZOLTAN_ID_PTR global, ZOLTAN_ID_PTR local, int, float*, int* error) {
  const auto& points = *static_cast<Points*>(data);
  for (std::size_t i = 0; i < points.x.size() / 3; ++i) {
    global[i] = static_cast<ZOLTAN_ID_TYPE>(points.first + i);
    local[i] = static_cast<ZOLTAN_ID_TYPE>(i);
  }
  *error = ZOLTAN_OK;
}
int count_dimensions(void*, int* error) {
  *error = ZOLTAN_OK;
  return 3;
}
void give_points(void* data, int, int, int n, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR local, int, double* x, int* error) {
  const auto& points = *static_cast<Points*>(data);
  for (int i = 0; i < n; ++i)
    for (int a = 0; a < 3; ++a) x[3 * i + a] = points.x[3 * local[i] + static_cast<unsigned>(a)];
  *error = ZOLTAN_OK;
}

double seconds(const support::Communicator& comm, const std::chrono::steady_clock::time_point start) {
  const double mine = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return support::all_max(comm, mine);
}

double run_zoltan(const support::Communicator& comm, Points& points, int parts) {
  Zoltan_Struct* zoltan = Zoltan_Create(comm.get());
  Zoltan_Set_Param(zoltan, "LB_METHOD", "RCB");
  Zoltan_Set_Param(zoltan, "DEBUG_LEVEL", "0");
  Zoltan_Set_Param(zoltan, "NUM_GLOBAL_PARTS", std::to_string(parts).c_str());
  Zoltan_Set_Param(zoltan, "RETURN_LISTS", "PARTS");
  Zoltan_Set_Num_Obj_Fn(zoltan, count_points, &points);
  Zoltan_Set_Obj_List_Fn(zoltan, list_points, &points);
  Zoltan_Set_Num_Geom_Fn(zoltan, count_dimensions, &points);
  Zoltan_Set_Geom_Multi_Fn(zoltan, give_points, &points);
  int changes = 0, entries = 0, imports = 0, exports = 0;
  ZOLTAN_ID_PTR import_global = nullptr, import_local = nullptr, export_global = nullptr, export_local = nullptr;
  int *import_procs = nullptr, *import_parts = nullptr, *export_procs = nullptr, *export_parts = nullptr;
  MPI_Barrier(comm.get());
  const auto start = std::chrono::steady_clock::now();
  const int status =
      Zoltan_LB_Partition(zoltan, &changes, &entries, &entries, &imports, &import_global, &import_local, &import_procs,
                          &import_parts, &exports, &export_global, &export_local, &export_procs, &export_parts);
  const double time = seconds(comm, start);
  if (status != ZOLTAN_OK && comm.is_root()) std::printf("Zoltan failed: %d\n", status);
  Zoltan_LB_Free_Part(&import_global, &import_local, &import_procs, &import_parts);
  Zoltan_LB_Free_Part(&export_global, &export_local, &export_procs, &export_parts);
  Zoltan_Destroy(&zoltan);
  return time;
}

void compare(const support::Communicator& comm, std::uint64_t n, std::uint32_t leaves, int repeats) {
  namespace p = partitioners;
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  const auto rank = static_cast<std::uint64_t>(comm.rank());
  Points points;
  points.first = n * rank / ranks;
  points.x.resize(3 * (n * (rank + 1) / ranks - points.first));
  p::make_points<double>(p::PointKind::uniform, 3, 1, points.first, points.x);
  const auto row = [&](const char* method, int on_ranks, int threads, double time) {
    if (comm.is_root())
      std::printf(
          "{\"method\": \"%s\", \"n\": %llu, \"leaves\": %u, \"ranks\": %d, \"threads\": %d, \"time_s\": %.4f}\n",
          method, static_cast<unsigned long long>(n), leaves, on_ranks, threads, time);
    std::fflush(stdout);
  };
  for (int k = 0; k < repeats; ++k) {
    if (ranks > 1) {
      MPI_Barrier(comm.get());
      const auto start = std::chrono::steady_clock::now();
      const auto result = p::orb_distributed<double, 3>(comm, {points.x, 3}, {}, {.leaves = leaves, .threads = 1});
      row("orb_distributed", comm.size(), 1, seconds(comm, start));
    }
    row("zoltan_rcb", comm.size(), 1, run_zoltan(comm, points, static_cast<int>(leaves)));
  }
  if (comm.is_root()) {
    std::vector<double> all(3 * n);
    p::make_points<double>(p::PointKind::uniform, 3, 1, 0, all);
    p::OrbResult<double, 3> result;
    const int threads = ranks > 1 ? comm.size() : 0;
    for (int k = 0; k <= repeats; ++k) {  // one more: the first touches the memory
      p::orb<double, 3>({all, 3}, {}, {.leaves = leaves, .threads = threads}, result);
      std::printf(
          "{\"method\": \"orb_multiway\", \"n\": %llu, \"leaves\": %u, \"ranks\": 1, \"threads\": %d, "
          "\"time_s\": %.4f, \"first\": %s}\n",
          static_cast<unsigned long long>(n), leaves, threads, result.time_s, k == 0 ? "true" : "false");
    }
  }
  MPI_Barrier(comm.get());
}

}  // namespace

int main(int argc, char** argv) {
  support::Environment environment(argc, argv);
  if (argc < 3) {
    std::fprintf(stderr, "usage: orb_zoltan_bench N LEAVES [REPEATS]\n");
    return 2;
  }
  float version = 0;
  Zoltan_Initialize(argc, argv, &version);
  const auto comm = support::Communicator::world();
  compare(comm, std::strtoull(argv[1], nullptr, 10), static_cast<std::uint32_t>(std::atoi(argv[2])),
          argc > 3 ? std::atoi(argv[3]) : 1);
  return 0;
}
