#include "apps/names.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "partitioners/partitioner.hpp"

namespace amrbench::apps {
namespace {

TEST(Nearest, FindsMisspellings) {
  constexpr std::string_view kWords[] = {"morton", "hilbert", "block", "root", "dim"};
  EXPECT_EQ(nearest("hilbret", kWords), "hilbert");  // swap
  EXPECT_EQ(nearest("blok", kWords), "block");       // missing letter
  EXPECT_EQ(nearest("roott", kWords), "root");       // letter too many
  EXPECT_EQ(nearest("mortan", kWords), "morton");    // other letter
  EXPECT_EQ(nearest("dum", kWords), "dim");
  EXPECT_EQ(nearest("gensfc", kWords), std::nullopt);
  EXPECT_EQ(nearest("", kWords), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'x'), kWords), std::nullopt);
}

TEST(Shapes, OfMiniamrTypes) {
  const std::map<int, std::string_view> expected{{0, "rectangle"},
                                                 {1, "rectangle"},
                                                 {2, "spheroid"},
                                                 {3, "spheroid"},
                                                 {4, "hemispheroid_xplus"},
                                                 {5, "hemispheroid_xplus"},
                                                 {6, "hemispheroid_xminus"},
                                                 {7, "hemispheroid_xminus"},
                                                 {8, "hemispheroid_yplus"},
                                                 {9, "hemispheroid_yplus"},
                                                 {10, "hemispheroid_yminus"},
                                                 {11, "hemispheroid_yminus"},
                                                 {12, "hemispheroid_zplus"},
                                                 {13, "hemispheroid_zplus"},
                                                 {14, "hemispheroid_zminus"},
                                                 {15, "hemispheroid_zminus"},
                                                 {20, "cylinder_x"},
                                                 {21, "cylinder_x"},
                                                 {22, "cylinder_y"},
                                                 {23, "cylinder_y"},
                                                 {24, "cylinder_z"},
                                                 {25, "cylinder_z"}};
  const auto known = names_of(object_shapes());
  for (int type = -2; type < 30; ++type) {
    SCOPED_TRACE(type);
    const auto shape = shape_of_miniamr_type(type);
    const auto found = expected.find(type);
    ASSERT_EQ(shape.has_value(), found != expected.end());
    if (!shape) continue;
    EXPECT_EQ(*shape, found->second);
    EXPECT_NE(std::find(known.begin(), known.end(), *shape), known.end());
  }
}

TEST(Choices, ThereIsOneListOfPartitioners) {
  const auto known = names_of(partition_methods());
  ASSERT_EQ(known.size(), partitioners::partitioner_registry().size());
  for (const char* name : {"morton", "hilbert", "gensfc", "orb", "kd_parts", "linear"})
    EXPECT_EQ(std::count(known.begin(), known.end(), name), 1) << name;
  EXPECT_EQ(known.front(), "morton");
  EXPECT_EQ(names_of(balance_policies()).front(), "every");
  EXPECT_EQ(names_of(balance_weights()).front(), "uniform");
  EXPECT_EQ(names_of(splitters()).front(), "octree");
}

TEST(Choices, EachHasAOneLineMeaningAndADistinctName) {
  for (const auto group : {partition_methods(), balance_policies(), stencils(), initial_fields(), object_shapes(),
                           bounce_modes(), backends(), transports(), splitters(), slice_rules(), balance_weights()}) {
    ASSERT_FALSE(group.empty());
    std::map<std::string_view, int> count;
    for (const Choice& choice : group) {
      EXPECT_EQ(++count[choice.name], 1) << choice.name;
      EXPECT_GT(choice.line.size(), 10u) << choice.name;
      EXPECT_EQ(choice.line.find('\n'), std::string_view::npos) << choice.name;
    }
  }
}

}  // namespace
}  // namespace amrbench::apps
