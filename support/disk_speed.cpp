#include "support/disk_speed.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "support/hash.hpp"
#include "support/metrics.hpp"

namespace amrbench::support {

namespace {

/// False when not all could be written.
bool write_and_flush(int file, std::int64_t bytes) {
  constexpr std::int64_t kPiece = std::int64_t{4} << 20;
  // No zeros: some disks do not store them.
  std::vector<std::uint64_t> piece(std::size_t(kPiece) / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = splitmix64(i);
  while (bytes > 0) {
    const ssize_t n = ::write(file, piece.data(), std::size_t(std::min(bytes, kPiece)));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes -= n;
  }
  return ::fsync(file) == 0;
}

}  // namespace

double measure_disk_speed(const Communicator& comm, const std::filesystem::path& folder, std::int64_t bytes) {
  std::string name = (folder / ".disk-speed-XXXXXX").string();
  const int file = ::mkstemp(name.data());
  if (file >= 0) ::unlink(name.c_str());
  const std::int64_t share = bytes / comm.size();
  barrier(comm);
  const double start = Metrics::steady_seconds();
  const bool written = file >= 0 && write_and_flush(file, share);
  const double seconds = all_max(comm, Metrics::steady_seconds() - start);
  if (file >= 0) ::close(file);
  return all_of_ranks(comm, written) && seconds > 0 ? static_cast<double>(share * comm.size()) / seconds : 0.0;
}

}  // namespace amrbench::support
