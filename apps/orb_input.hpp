#pragma once
// The points of `amrbench orb`: generated or read.
#include <cstdint>
#include <string>
#include <vector>

#include "support/page_buffer.hpp"

namespace amrbench::apps {

/// What --input names, taken apart. support::InputError when it is none of uniform:N:SEED, cluster:N:SEED,
/// plummer:N:SEED, field:N:SEED and file:PATH, or N is 0 or above 2^32.
struct OrbInputSpec {
  std::string kind;
  std::uint64_t n = 0;
  std::uint64_t seed = 1;
  std::string path;
};
OrbInputSpec parse_orb_input(const std::string& text);

/// Coordinates of the points that rank `rank` of `ranks` holds, an even share in order; a file ending in .csv has one
/// point a line (a first line that does not start with a number is a heading), any other file raw doubles in this
/// machine's byte order. support::InputError that names the file, and the line where there is one.
template <class T, int Dim>
support::PageBuffer<T> load_orb_points(const OrbInputSpec& spec, int rank = 0, int ranks = 1);

/// Weights of points first .. first + n - 1 that --weights names (`random:SEED`, or `file:PATH` of raw doubles); empty
/// when the text is. `all`: points over all ranks.
std::vector<double> load_orb_weights(const std::string& text, std::uint64_t first, std::uint64_t n, std::uint64_t all);

}  // namespace amrbench::apps
