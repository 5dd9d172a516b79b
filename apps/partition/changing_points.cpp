#include <algorithm>
#include <cmath>
#include <limits>

#include "apps/partition/dynamic.hpp"
#include "partitioners/inputs/generated_points.hpp"
#include "support/hash.hpp"

namespace amrbench::apps {

namespace {

double longest_side(std::span<const double> x, std::size_t dim) {
  double longest = 0;
  for (std::size_t d = 0; d < dim; ++d) {
    double lo = std::numeric_limits<double>::infinity(), hi = -lo;
    for (std::size_t i = d; i < x.size(); i += dim) {
      lo = std::min(lo, x[i]);
      hi = std::max(hi, x[i]);
    }
    longest = std::max(longest, hi - lo);
  }
  return longest;
}

}  // namespace

ChangingPoints::ChangingPoints(std::vector<double> input, int dim, double share, double shift)
    : input_(std::move(input)), at_(input_), dim_(dim) {
  const auto n = static_cast<double>(size());
  const double side = longest_side(input_, static_cast<std::size_t>(dim));
  changes_ = std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(share * n)));
  drift_ = shift * side;
  step_ = side / std::pow(n, 1.0 / dim);  // the spacing of as many points on a grid
}

void ChangingPoints::write(std::uint64_t point, const double* x, std::vector<double>& from, std::vector<double>& to) {
  const auto dim = static_cast<std::size_t>(dim_);
  const auto first = at_.begin() + static_cast<std::ptrdiff_t>(point * dim);
  from.insert(from.end(), first, first + dim_);
  to.insert(to.end(), x, x + dim);
  std::copy_n(x, dim, first);
}

ChangingPoints::Change ChangingPoints::advance() {
  ++round_;
  const auto dim = static_cast<std::size_t>(dim_);
  const std::size_t n = size();
  Change change;
  std::vector<double> x(dim);
  // Draws are numbered: stream by round, then one after another.
  std::uint64_t draws = 0;
  const std::uint64_t stream = support::mix64(0x64796e616d6963U, round_);
  const auto unit = [&] { return partitioners::counter_uniform(stream, draws++); };
  const auto any = [&] { return std::min(n - 1, static_cast<std::size_t>(unit() * static_cast<double>(n))); };
  std::vector<std::uint64_t> chosen;
  std::vector<bool> taken(n);
  while (chosen.size() < std::min(2 * changes_, n)) {
    const std::size_t point = any();
    if (taken[point]) continue;
    taken[point] = true;
    chosen.push_back(point);
  }
  const std::size_t replaced = (chosen.size() + 1) / 2;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const bool stays = i >= replaced;
    const double* origin = stays ? at_.data() + chosen[i] * dim : input_.data() + any() * dim;
    const double drift = stays ? 0 : drift_ * static_cast<double>(round_);
    for (std::size_t d = 0; d < dim; ++d) x[d] = origin[d] + drift + step_ * (unit() - 0.5);
    (stays ? change.moved : change.replaced).push_back(chosen[i]);
    if (stays) {
      write(chosen[i], x.data(), change.moved_from, change.moved_to);
    } else {
      write(chosen[i], x.data(), change.replaced_from, change.replaced_to);
    }
  }
  return change;
}

}  // namespace amrbench::apps
