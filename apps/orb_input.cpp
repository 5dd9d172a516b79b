#include "apps/orb_input.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>

#include "partitioners/orb/inputs.hpp"
#include "partitioners/orb/rules.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

namespace {

using support::InputError;

std::uint64_t number(std::string_view text, const std::string& whole, std::string_view what) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    throw InputError(fmt::format("--input {}: {} must be a whole number, not \"{}\"", whole, what, text));
  return value;
}

std::ifstream open_file(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) throw InputError(fmt::format("{}: no such file", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(fmt::format("{}: cannot be read", path));
  return file;
}

std::vector<double> read_raw(const std::string& path) {
  std::ifstream file = open_file(path);
  const auto bytes = std::filesystem::file_size(path);
  if (bytes == 0 || bytes % sizeof(double) != 0)
    throw InputError(fmt::format("{}: {} bytes are not a whole number of 8-byte doubles", path, bytes));
  std::vector<double> values(bytes / sizeof(double));
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(bytes));
  if (!file) throw InputError(fmt::format("{}: cannot be read", path));
  return values;
}

std::vector<double> read_csv(const std::string& path, int dim) {
  std::ifstream file = open_file(path);
  std::vector<double> values;
  std::string line;
  for (std::size_t row = 1; std::getline(file, line); ++row) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    const char* at = line.data();
    const char* end = at + line.size();
    int found = 0;
    for (; found < dim; ++found) {
      while (at < end && (*at == ' ' || *at == '\t')) ++at;
      double value = 0;
      const auto [next, error] = std::from_chars(at, end, value);
      if (error != std::errc()) break;
      values.push_back(value);
      at = next;
      while (at < end && (*at == ' ' || *at == '\t')) ++at;
      if (found + 1 < dim && at < end && (*at == ',' || *at == ';')) ++at;
    }
    if (found == 0 && row == 1) continue;
    if (found < dim || at != end)
      throw InputError(fmt::format("{}, line {}: {} numbers with commas between them are needed", path, row, dim));
  }
  return values;
}

}  // namespace

OrbInputSpec parse_orb_input(const std::string& text) {
  OrbInputSpec spec;
  const std::size_t colon = text.find(':');
  spec.kind = text.substr(0, colon);
  if (spec.kind == "file") {
    if (colon == std::string::npos || colon + 1 == text.size())
      throw InputError("--input file:PATH: the path is missing");
    spec.path = text.substr(colon + 1);
    return spec;
  }
  (void)partitioners::orb_input_kind(spec.kind);
  const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  const std::size_t second = rest.find(':');
  spec.n = number(rest.substr(0, second), text, "the number of points");
  if (second != std::string::npos) spec.seed = number(rest.substr(second + 1), text, "the seed");
  if (spec.n == 0 || spec.n > partitioners::kOrbMaxPoints)
    throw InputError(fmt::format("--input {}: {} points; 1 to 2^32 are possible", text, spec.n));
  return spec;
}

template <class T, int Dim>
support::PageBuffer<T> load_orb_points(const OrbInputSpec& spec, int rank, int ranks) {
  const auto share = [&](std::uint64_t n, int r) {
    return n / static_cast<unsigned>(ranks) * static_cast<unsigned>(r) +
           n % static_cast<unsigned>(ranks) * static_cast<unsigned>(r) / static_cast<unsigned>(ranks);
  };
  if (spec.kind != "file") {
    const std::uint64_t first = share(spec.n, rank);
    support::PageBuffer<T> points((share(spec.n, rank + 1) - first) * Dim);
    partitioners::make_orb_points<T, Dim>(partitioners::orb_input_kind(spec.kind), spec.seed, first, points.span());
    return points;
  }
  const bool csv = spec.path.ends_with(".csv");
  const std::vector<double> values = csv ? read_csv(spec.path, Dim) : read_raw(spec.path);
  if (values.empty() || values.size() % Dim != 0)
    throw InputError(
        fmt::format("{}: {} numbers are no whole number of points of {} coordinates", spec.path, values.size(), Dim));
  const std::uint64_t first = share(values.size() / Dim, rank) * Dim;
  support::PageBuffer<T> points(share(values.size() / Dim, rank + 1) * Dim - first);
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = static_cast<T>(values[first + i]);
  return points;
}

std::vector<double> load_orb_weights(const std::string& text, std::uint64_t first, std::uint64_t n, std::uint64_t all) {
  if (text.empty()) return {};
  if (text.starts_with("file:")) {
    const std::vector<double> weights = read_raw(text.substr(5));
    if (weights.size() != all)
      throw InputError(
          fmt::format("{}: {} weights for {} points; one a point is needed", text.substr(5), weights.size(), all));
    const auto begin = weights.begin() + static_cast<std::ptrdiff_t>(first);
    return {begin, begin + static_cast<std::ptrdiff_t>(n)};
  }
  if (!text.starts_with("random:"))
    throw InputError(fmt::format("--weights {}: random:SEED or file:PATH is needed", text));
  std::uint64_t seed = 0;
  const std::string digits = text.substr(7);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
    throw InputError(fmt::format("--weights {}: the seed must be a whole number", text));
  std::vector<double> weights(n);
  partitioners::make_orb_weights(seed, first, weights);
  return weights;
}

template support::PageBuffer<float> load_orb_points<float, 2>(const OrbInputSpec&, int, int);
template support::PageBuffer<float> load_orb_points<float, 3>(const OrbInputSpec&, int, int);
template support::PageBuffer<double> load_orb_points<double, 2>(const OrbInputSpec&, int, int);
template support::PageBuffer<double> load_orb_points<double, 3>(const OrbInputSpec&, int, int);

}  // namespace amrbench::apps
