#include "support/registry.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "support/error.hpp"

namespace amrbench::support {
namespace {

struct Entry {
  std::string_view name;
  int value;
};
constexpr std::array kEntries{Entry{"morton", 1}, Entry{"hilbert", 2}, Entry{"kd_parts", 3}};

std::string refusal(std::string_view name) {
  try {
    (void)find_entry(kEntries, name, "partition.method");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Registry, FindsEntriesByName) {
  for (const Entry& entry : kEntries) EXPECT_EQ(&find_entry(kEntries, entry.name, "x"), &entry);
}

TEST(Registry, SaysWhatThereIsAndWhatIsNear) {
  EXPECT_EQ(refusal("hilbrt"),
            "partition.method hilbrt: unknown; there are morton, hilbert, kd_parts (did you mean hilbert?)");
  EXPECT_EQ(refusal("kdparts"),
            "partition.method kdparts: unknown; there are morton, hilbert, kd_parts (did you mean kd_parts?)");
  EXPECT_EQ(refusal("zzz"), "partition.method zzz: unknown; there are morton, hilbert, kd_parts");
  EXPECT_EQ(refusal(""), "partition.method : unknown; there are morton, hilbert, kd_parts");
}

}  // namespace
}  // namespace amrbench::support
