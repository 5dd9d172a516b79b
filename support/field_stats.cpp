#include "support/field_stats.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "support/mpi.hpp"

namespace amrbench::support {

void FieldHash::allreduce(const Communicator& comm) {
  sum_ = all_sum(comm, sum_);
}

std::string FieldHash::to_hex() const {
  return fmt::format("{:016x}", sum_);
}

void FieldStats::merge(const FieldStats& other) {
  sum_.merge(other.sum_);
  squares_.merge(other.squares_);
  hash_.merge(other.hash_);
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

void FieldStats::allreduce(const Communicator& comm, std::span<FieldStats> stats) {
  constexpr std::size_t kSum = ExactSum::kWords;
  constexpr std::size_t kWords = 2 * kSum + 1;
  std::vector<std::int64_t> words(stats.size() * kWords);
  std::vector<double> extremes;
  const auto part = [&](std::size_t i, std::size_t offset) {
    return std::span<std::int64_t, kSum>(words.data() + i * kWords + offset, kSum);
  };
  for (std::size_t i = 0; i < stats.size(); ++i) {
    stats[i].sum_.pack(part(i, 0));
    stats[i].squares_.pack(part(i, kSum));
    words[i * kWords + 2 * kSum] = std::bit_cast<std::int64_t>(stats[i].hash_.sum_);
    extremes.push_back(stats[i].min_);
    extremes.push_back(-stats[i].max_);
  }
  // Added as unsigned: hashes wrap, and two's complement limbs come out the same.
  std::vector<std::uint64_t> wrapped(words.begin(), words.end());
  all_sum(comm, std::span<std::uint64_t>(wrapped));
  std::copy(wrapped.begin(), wrapped.end(), words.begin());
  all_min(comm, std::span<double>(extremes));
  for (std::size_t i = 0; i < stats.size(); ++i) {
    stats[i].sum_.unpack(part(i, 0));
    stats[i].squares_.unpack(part(i, kSum));
    stats[i].hash_.sum_ = wrapped[i * kWords + 2 * kSum];
    stats[i].min_ = extremes[2 * i];
    stats[i].max_ = -extremes[2 * i + 1];
  }
}

}  // namespace amrbench::support
