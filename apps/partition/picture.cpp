// png_picture (apps/partition/files.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "apps/partition/files.hpp"
#include "apps/partition/png_image.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

namespace {

using support::InputError;

/// Hue 0 .. 6 (red, yellow, green, cyan, blue, magenta) at full saturation, mixed with white.
Colour hue_colour(double hue, double saturation, double value) {
  const auto channel = [&](double centre) {
    const double distance = std::abs(std::fmod(hue - centre + 9.0, 6.0) - 3.0);
    const double strength = std::clamp(2.0 - distance, 0.0, 1.0);
    return static_cast<std::uint8_t>(std::lround(255.0 * value * (1.0 - saturation * (1.0 - strength))));
  };
  return {channel(0), channel(2), channel(4)};
}

/// Neighbouring numbers get distant hues: steps of the golden ratio never come close again soon.
Colour part_colour(std::int32_t part, double saturation) {
  constexpr double kGolden = 0.6180339887498949;
  const double turn = static_cast<double>(part) * kGolden;
  const double shade = 1.0 - 0.12 * static_cast<double>(part % 3);
  return hue_colour(6.0 * (turn - std::floor(turn)), saturation, saturation < 0.5 ? 1.0 : shade);
}

/// From the box of the points to pixels; equal scales, y upwards.
class Frame {
 public:
  Frame(const Drawing& drawing, int pixels) {
    if (drawing.grid != nullptr) {
      high_ = {static_cast<double>(drawing.grid->extent[0]), static_cast<double>(drawing.grid->extent[1])};
    } else {
      low_ = {HUGE_VAL, HUGE_VAL};
      high_ = {-HUGE_VAL, -HUGE_VAL};
      for (std::size_t i = 0; i < drawing.points.size(); ++i) {
        for (std::size_t d = 0; d < 2; ++d) {
          low_[d] = std::min(low_[d], drawing.points[i][d]);
          high_[d] = std::max(high_[d], drawing.points[i][d]);
        }
      }
    }
    const double longer = std::max(high_[0] - low_[0], high_[1] - low_[1]);
    scale_ = longer > 0 ? pixels / longer : 1.0;
    if (drawing.grid != nullptr && scale_ >= 1) scale_ = std::floor(scale_);  // cells of equal size
    width_ = std::clamp(static_cast<int>(std::ceil((high_[0] - low_[0]) * scale_)), 1, pixels);
    height_ = std::clamp(static_cast<int>(std::ceil((high_[1] - low_[1]) * scale_)), 1, pixels);
  }
  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }
  [[nodiscard]] double scale() const { return scale_; }
  [[nodiscard]] int x(double position) const {
    return std::clamp(static_cast<int>((position - low_[0]) * scale_), 0, width_ - 1);
  }
  [[nodiscard]] int y(double position) const {
    return height_ - 1 - std::clamp(static_cast<int>((position - low_[1]) * scale_), 0, height_ - 1);
  }

 private:
  std::array<double, 2> low_{0, 0};
  std::array<double, 2> high_{0, 0};
  double scale_ = 1;
  int width_ = 1;
  int height_ = 1;
};

/// dot_share: radius of a dot as a share of the points' distance.
void draw_parts(const Drawing& drawing, const Frame& frame, double saturation, double dot_share, Image& image) {
  if (drawing.grid != nullptr) {
    const std::int64_t nx = drawing.grid->extent[0];
    const std::int64_t ny = drawing.grid->extent[1];
    for (int row = 0; row < image.height; ++row) {
      const auto y =
          std::min<std::int64_t>(static_cast<std::int64_t>((image.height - 1 - row + 0.5) / frame.scale()), ny - 1);
      for (int column = 0; column < image.width; ++column) {
        const auto x = std::min<std::int64_t>(static_cast<std::int64_t>((column + 0.5) / frame.scale()), nx - 1);
        image.at(column, row) = part_colour(drawing.part[static_cast<std::size_t>(x + nx * y)], saturation);
      }
    }
    return;
  }
  // Dots shrink as points become many.
  const double area = static_cast<double>(image.width) * image.height /
                      std::max<double>(1.0, static_cast<double>(drawing.points.size()));
  const int radius = std::clamp(static_cast<int>(std::sqrt(area) * dot_share), 0, 4);
  for (std::size_t i = 0; i < drawing.points.size(); ++i) {
    const int x = frame.x(drawing.points[i][0]);
    const int y = frame.y(drawing.points[i][1]);
    for (int dy = -radius; dy <= radius; ++dy)
      for (int dx = -radius; dx <= radius; ++dx) image.set(x + dx, y + dy, part_colour(drawing.part[i], saturation));
  }
}

/// Bresenham's line.
void draw_line(int x, int y, int x1, int y1, Colour colour, Image& image) {
  const int dx = std::abs(x1 - x);
  const int dy = -std::abs(y1 - y);
  const int step_x = x < x1 ? 1 : -1;
  const int step_y = y < y1 ? 1 : -1;
  int error = dx + dy;
  while (true) {
    image.set(x, y, colour);
    if (x == x1 && y == y1) return;
    const int twice = 2 * error;
    if (twice >= dy) {
      error += dy;
      x += step_x;
    }
    if (twice <= dx) {
      error += dx;
      y += step_y;
    }
  }
}

void draw_curve(const Drawing& drawing, const Frame& frame, Image& image) {
  const std::size_t n = drawing.order.size();
  for (std::size_t k = 0; k + 1 < n; ++k) {
    const double* a = drawing.points[drawing.order[k]];
    const double* b = drawing.points[drawing.order[k + 1]];
    const Colour colour = hue_colour(4.0 - 4.0 * static_cast<double>(k) / static_cast<double>(n), 1.0, 0.75);
    draw_line(frame.x(a[0]), frame.y(a[1]), frame.x(b[0]), frame.y(b[1]), colour, image);
  }
}

/// The half of a sphere that faces a viewer far away at longitude and latitude 30 degrees, north upwards.
struct FacingHalf {
  std::vector<double> flat;
  std::vector<std::int32_t> part;
};
FacingHalf facing_half(const Drawing& drawing) {
  constexpr double kSin = 0.5, kCos = 0.86602540378443865;
  FacingHalf half;
  for (std::size_t i = 0; i < drawing.points.size(); ++i) {
    const double* p = drawing.points[i];
    const double ahead = kCos * p[0] + kSin * p[1];
    if (kCos * ahead + kSin * p[2] < 0) continue;
    half.flat.push_back(kCos * p[1] - kSin * p[0]);
    half.flat.push_back(kCos * p[2] - kSin * ahead);
    half.part.push_back(drawing.part[i]);
  }
  return half;
}

std::string sphere_picture(const Drawing& drawing, int pixels) {
  constexpr double kFilled = 0.6;
  if (drawing.curve) throw InputError("--draw curve: pictures of a sphere show its parts; --vtk shows its curve");
  const FacingHalf half = facing_half(drawing);
  const Drawing seen{.points = {half.flat, 2}, .part = half.part};
  const Frame frame(seen, pixels);
  Image image(frame.width(), frame.height());
  draw_parts(seen, frame, 0.7, kFilled, image);
  return encode_png(image);
}

}  // namespace

std::string png_picture(const Drawing& drawing, int pixels) {
  if (drawing.sphere && !drawing.points.empty()) return sphere_picture(drawing, pixels);
  if (drawing.points.dim != 2)
    throw InputError(
        fmt::format("--picture: points of {} dimensions; pictures show 2, --vtk shows 3", drawing.points.dim));
  if (drawing.curve && drawing.order.size() != drawing.points.size())
    throw InputError("--draw curve: this method has no curve; use --draw parts");
  if (drawing.points.empty()) throw InputError("--picture: there are no points");
  constexpr double kApart = 1.0 / 3;
  const Frame frame(drawing, pixels);
  Image image(frame.width(), frame.height());
  draw_parts(drawing, frame, drawing.curve ? 0.25 : 0.7, kApart, image);
  if (drawing.curve) draw_curve(drawing, frame, image);
  return encode_png(image);
}

}  // namespace amrbench::apps
