// For builds without HDF5 or xxHash (amr/CMakeLists.txt): part.cpp is the other one.
#include "amr/checkpoint/part.hpp"
#include "support/error.hpp"

namespace amrbench::amr {

namespace {

[[noreturn]] void refuse() {
  throw support::RunError("this build has no checkpoints: HDF5 or xxHash was not found when it was configured");
}

}  // namespace

struct PartReader::File {};

bool has_checkpoints() {
  return false;
}
std::uint64_t digest_of(std::span<const std::byte> /*bytes*/) {
  refuse();
}
std::uint64_t block_digest(const Place& /*place*/, double /*weight*/, const double* /*values*/, std::size_t /*count*/) {
  refuse();
}
template <int Dim>
PartInfo write_part(const std::filesystem::path& /*file*/, const Mesh<Dim>& /*mesh*/, const Fields& /*fields*/,
                    const support::Communicator& /*group*/) {
  refuse();
}
template PartInfo write_part(const std::filesystem::path&, const Mesh<2>&, const Fields&, const support::Communicator&);
template PartInfo write_part(const std::filesystem::path&, const Mesh<3>&, const Fields&, const support::Communicator&);
PartReader::PartReader(const std::filesystem::path& /*file*/, const PartInfo& /*info*/,
                       const kernels::BlockLayout& /*layout*/) {
  refuse();
}
PartReader::~PartReader() = default;
std::span<const Place> PartReader::places() const {
  refuse();
}
std::span<const double> PartReader::weights() const {
  refuse();
}
void PartReader::read_values(std::int64_t /*first*/, std::int64_t /*count*/, double* /*to*/) const {
  refuse();
}

}  // namespace amrbench::amr
