#pragma once
// An image in memory, and its PNG form by libpng where the build has it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace amrbench::apps {

struct Colour {
  std::uint8_t red = 255;
  std::uint8_t green = 255;
  std::uint8_t blue = 255;
};

/// Pixels by rows from the top, white at first.
struct Image {
  Image(int w, int h) : width(w), height(h), pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h)) {}
  /// Within the image.
  Colour& at(int x, int y) {
    return pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
  }
  /// Nothing happens outside.
  void set(int x, int y, Colour colour) {
    if (x >= 0 && x < width && y >= 0 && y < height) at(x, y) = colour;
  }

  int width;
  int height;
  std::vector<Colour> pixels;
};

/// The bytes of a PNG file, 8 bits a channel. support::InputError in a build without libpng, RunError when it fails.
std::string encode_png(const Image& image);

}  // namespace amrbench::apps
