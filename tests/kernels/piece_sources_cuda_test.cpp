// Tables of what lies around blocks, made on a GPU, against those of the host.
#include "kernels/piece_sources_cuda.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "kernels/beside_grid.hpp"
#include "kernels/device_mesh.hpp"

namespace amrbench::kernels {
namespace {

bool same(const PieceSource& a, const PieceSource& b) {
  return a.index == b.index && a.kind == b.kind && a.offset == b.offset;
}

TEST(PieceSourcesCuda, TablesAreThoseOfTheHost) {
  AMRBENCH_NEEDS_GPU();
  const support::CudaStream stream;
  int octets = 0;
  for (unsigned seed = 100; seed < 140; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const checks::BesideGrid grid(random);
    const PieceFinder find(grid.layout());
    std::vector<PieceSource> table(std::size_t(grid.count()) * 27);
    for (int k = 0; k < grid.count() * 9; ++k)
      find.row(grid.beside().data(), k / 9, k % 3 - 1, k / 3 % 3 - 1, &table[std::size_t(k) * 3]);
    const auto beside = checks::to_device(grid.beside(), stream);
    support::DeviceBuffer<PieceSource> made(table.size());
    launch_piece_sources(find, beside.data(), grid.count(), made.data(), stream);
    const std::vector<PieceSource> blocks = checks::to_host(made, stream);
    for (std::size_t k = 0; k < table.size(); ++k)
      ASSERT_TRUE(same(blocks[k], table[k])) << "block " << k / 27 << ", piece " << k % 27;

    std::vector<OctetPlace> places;  // any eight blocks in sequence will do
    for (int first = 0; first + 8 <= grid.count(); first += 8) {
      OctetPlace& place = places.emplace_back();
      place.first = first;
      std::iota(place.order.begin(), place.order.end(), std::uint8_t{0});
      std::shuffle(place.order.begin(), place.order.end(), random);
    }
    if (places.empty()) continue;
    octets += static_cast<int>(places.size());
    support::DeviceBuffer<PieceSource> octet_table(64 * places.size());
    const auto device_places = checks::to_device(places, stream);
    launch_octet_sources(device_places.data(), static_cast<int>(places.size()), made.data(), octet_table.data(),
                         stream);
    const std::vector<PieceSource> around = checks::to_host(octet_table, stream);
    for (std::size_t k = 0; k < around.size(); ++k) {
      const auto piece = static_cast<std::size_t>(places[k / 64].piece(static_cast<int>(k % 64)));
      ASSERT_TRUE(same(around[k], table[piece])) << "octet " << k / 64 << ", piece " << k % 64;
    }
  }
  EXPECT_GT(octets, 20);
}

}  // namespace
}  // namespace amrbench::kernels
