// Curves, partitioners and policies of amrbench in a program that is not amrbench's. Each part checks what it got; exit
// status 1 and one line where that is wrong.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "loadbalance/policy.hpp"
#include "partitioners/even_shares.hpp"
#include "partitioners/partitioner.hpp"
#include "sfc/key.hpp"
#include "support/mpi.hpp"

namespace {

using namespace amrbench;

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

/// Every block of the deepest level: its key decodes to its coordinates, and the next along the curve shares a face.
void walk_the_hilbert_curve() {
  constexpr int kLevel = 4, kEdge = 1 << kLevel;
  const sfc::KeySpace<3> keys(sfc::Curve::hilbert, {1, 1, 1}, kLevel);
  sfc::Coord<3> before{};
  for (std::uint64_t i = 0; i < std::uint64_t{kEdge} * kEdge * kEdge; ++i) {
    const sfc::Coord<3> c = sfc::curve_coord<3>(sfc::Curve::hilbert, i, kLevel);
    const std::uint64_t key = keys.key(kLevel, c);
    require(keys.coord(key) == c && keys.level(key) == kLevel, "a key does not decode to its block");
    int steps = 0;
    for (int d = 0; d < 3; ++d) steps += std::abs(static_cast<int>(c[d]) - static_cast<int>(before[d]));
    require(steps == (i == 0 ? 0 : 1), "neighbours along the curve are none in space");
    before = c;
  }
}

/// A grid of points, an even share of it on each rank, cut by the method of that name: no part is larger than another
/// by more than one point.
void partition(const support::Communicator& comm, const char* method) {
  constexpr std::uint64_t kEdge = 12, kPoints = kEdge * kEdge * kEdge;
  constexpr int kParts = 7;
  std::vector<double> points;
  const std::uint64_t end = partitioners::share_of(kPoints, comm.rank() + 1, comm.size());
  for (std::uint64_t i = partitioners::share_of(kPoints, comm.rank(), comm.size()); i < end; ++i) {
    for (const std::uint64_t c : {i % kEdge, i / kEdge % kEdge, i / kEdge / kEdge})
      points.push_back(static_cast<double>(c));
  }
  partitioners::Problem mine;
  mine.points = {points, 3};
  partitioners::PartitionOptions options;
  options.parts = kParts;
  const auto parts = partitioners::assign(comm, *partitioners::make_partitioner(method), mine, options);
  require(parts.part.size() == mine.points.size(), std::string(method) + ": not every point has a part");
  std::vector<std::int64_t> sizes(kParts);
  for (const std::int32_t part : parts.part) ++sizes.at(static_cast<std::size_t>(part));
  support::all_sum(comm, std::span(sizes));
  for (const std::int64_t size : sizes) {
    require(size == kPoints / kParts || size == kPoints / kParts + 1, std::string(method) + ": parts are uneven");
  }
}

void ask_a_policy() {
  loadbalance::BalanceConfig config;
  config.policy = "threshold";
  config.threshold = 0.5;
  const auto policy = loadbalance::make_policy(config);
  const std::vector<double> even{8, 8, 9}, uneven{4, 8, 24};
  const loadbalance::History history;
  require(policy->decide(history, loadbalance::measure(even)) == loadbalance::Action::leave, "even loads are not left");
  require(policy->decide(history, loadbalance::measure(uneven)) == loadbalance::Action::full, "uneven loads are left");
}

}  // namespace

int main(int argc, char** argv) {
  const support::Environment mpi(argc, argv);
  const auto comm = support::Communicator::world();
  try {
    walk_the_hilbert_curve();
    for (const char* method : {"hilbert", "orb"}) partition(comm, method);
    ask_a_policy();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "consumer: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (comm.is_root()) std::printf("consumer: passed on %d ranks\n", comm.size());
}
