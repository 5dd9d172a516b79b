// Points, weights and parts, in text and as float64; the text of --input.
#include <algorithm>
#include <cmath>

#include "partitioners/inputs/point_input.hpp"
#include "tests/fuzz/targets.hpp"

namespace amrbench::fuzz {

namespace {

using partitioners::InputSpec;

template <class T>
void load(const InputSpec& spec) {
  partitioners::PointSlice<T> slice;
  if (!accepts([&] { slice = partitioners::load_slice<T>({}, spec, 1); })) return;
  promise(slice.size > 0 && slice.here() == slice.size && slice.dim >= 1 && slice.dim <= 16, "no points are there");
  promise(slice.points.size() == slice.size * static_cast<std::size_t>(slice.dim), "coordinates are missing");
  promise(std::all_of(slice.points.begin(), slice.points.end(), [](T x) { return std::isfinite(x); }),
          "a coordinate is not finite");
  promise(slice.weights.size() == (slice.weighted ? slice.size : 0), "weights are missing");
  promise(std::all_of(slice.weights.begin(), slice.weights.end(), [](double w) { return w >= 0 && std::isfinite(w); }),
          "a weight is none");
}

void load_file(InputSpec::Form form, int dim, std::string_view name, std::string_view bytes) {
  const ScratchFile file(name, bytes);
  InputSpec spec;
  spec.form = form;
  spec.text = spec.path = file.path();
  spec.dim = dim;
  load<double>(spec);
  load<float>(spec);
}

}  // namespace

void points_csv(std::string_view bytes) {
  load_file(InputSpec::Form::table, 0, "points.csv", bytes);
}

void blocks(std::string_view bytes) {
  load_file(InputSpec::Form::blocks, 0, "blocks.csv", bytes);
}

/// The first byte is the dimension.
void points_raw(std::string_view bytes) {
  if (bytes.empty()) return;
  load_file(InputSpec::Form::raw, 1 + static_cast<unsigned char>(bytes[0]) % 16, "points", bytes.substr(1));
}

/// The first byte is the number of points; text and float64.
void weights(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto n = static_cast<unsigned char>(bytes[0]);
  for (const char* name : {"weights.txt", "weights.csv", "weights"}) {
    const ScratchFile file(name, bytes.substr(1));
    accepts([&] { promise(partitioners::load_weights({}, file.path(), n, 0, n).size() == n, "weights are missing"); });
  }
}

/// The first byte is the number of points.
void parts(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto n = static_cast<unsigned char>(bytes[0]);
  const ScratchFile file("parts", bytes.substr(1));
  accepts([&] { promise(partitioners::load_parts({}, file.path(), n, n).size() == n, "parts are missing"); });
}

/// Small ones are made as well. Files are not opened: the text would name them.
void input(std::string_view bytes) {
  using Form = InputSpec::Form;
  InputSpec spec;
  if (!accepts([&] { spec = partitioners::parse_input(bytes); })) return;
  constexpr std::uint64_t kSmall = 1000;
  if ((spec.form == Form::generated || spec.form == Form::grid) && spec.n > 0 && spec.n <= kSmall) load<double>(spec);
}

}  // namespace amrbench::fuzz
