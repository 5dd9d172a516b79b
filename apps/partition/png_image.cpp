#include "apps/partition/png_image.hpp"

#include "apps/partition/files.hpp"
#include "support/error.hpp"

#ifdef AMRBENCH_HAVE_PNG
#include <fmt/format.h>
#include <png.h>
#endif

namespace amrbench::apps {

#ifdef AMRBENCH_HAVE_PNG

bool pictures_available() {
  return true;
}

std::string encode_png(const Image& image) {
  static_assert(sizeof(Colour) == 3, "rows are handed to libpng as they lie");
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = PNG_FORMAT_RGB;
  // libpng's simplified interface: asked for the size first, then for the bytes.
  png_alloc_size_t size = 0;
  if (png_image_write_to_memory(&png, nullptr, &size, 0, image.pixels.data(), 0, nullptr) == 0)
    throw support::RunError(fmt::format("libpng: {}", png.message));
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&png, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr) == 0)
    throw support::RunError(fmt::format("libpng: {}", png.message));
  bytes.resize(size);
  return bytes;
}

#else

bool pictures_available() {
  return false;
}

std::string encode_png(const Image&) {
  throw support::InputError(
      "--picture: this build has no libpng; install libpng-dev, then configure and build again (cmake --preset "
      "release)");
}

#endif

}  // namespace amrbench::apps
