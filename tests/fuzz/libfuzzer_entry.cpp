// Entry of libFuzzer for the reader that AMRBENCH_FUZZ_READER names.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const amrbench::fuzz::Target& target =
      *std::ranges::find(amrbench::fuzz::targets(), AMRBENCH_FUZZ_READER, &amrbench::fuzz::Target::name);
  target.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
