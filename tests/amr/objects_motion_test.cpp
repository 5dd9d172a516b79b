// The objects' motion, bounces, time step, names and refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "amr/objects.hpp"
#include "support/error.hpp"

namespace {

using namespace amrbench::amr;
using Vec = std::array<double, 3>;

Object body(int type, const Vec& center, const Vec& size) {
  return {.type = ObjectType{type}, .center = center, .size = size};
}

TEST(ObjectsMotion, MoveAndGrow) {
  std::vector<Object> objects{body(2, {0.5, 0.5, 0.5}, {0.1, 0.2, 0.3}), body(2, {1.5, -1.0, 0.0}, {1.0, 1.0, 1.0})};
  objects[0].velocity = {0.25, -0.125, 0.0};
  objects[0].growth = {0.5, 0.0, -1.0};
  objects[1].velocity = {1.0, -1.0, 0.0};
  move_objects(objects, 0.5);
  EXPECT_EQ(objects[0].center, (Vec{0.625, 0.4375, 0.5}));
  EXPECT_EQ(objects[0].size, (Vec{0.1 + 0.25, 0.2, 0.3 - 0.5}));
  EXPECT_EQ(objects[1].center, (Vec{2.0, -1.5, 0.0}));  // no bounce: leaves
  EXPECT_EQ(objects[1].velocity, (Vec{1.0, -1.0, 0.0}));
}

TEST(ObjectsMotion, CenterBounces) {
  Object object = body(2, {0.875, 0.25, 0.5}, {0.5, 0.5, 0.5});
  object.bounce = 1;
  object.velocity = {0.25, -0.25, 0.5};
  move_objects(std::span(&object, 1), 1.0);
  EXPECT_EQ(object.center, (Vec{0.875, 0.0, 1.0}));  // 1.125 reflected; 0 and 1 themselves count as reached
  EXPECT_EQ(object.velocity, (Vec{-0.25, 0.25, -0.5}));
  move_objects(std::span(&object, 1), 1.0);
  EXPECT_EQ(object.center, (Vec{0.625, 0.25, 0.5}));
  EXPECT_EQ(object.velocity, (Vec{-0.25, 0.25, -0.5}));
}

TEST(ObjectsMotion, BouncingCenterStaysInside) {
  for (std::uint64_t seed = 31; seed <= 35; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 engine(seed);
    const auto point = [&](double low, double high) {
      std::uniform_real_distribution<double> draw(low, high);
      return Vec{draw(engine), draw(engine), draw(engine)};
    };
    Object object = body(2, point(0.0, 1.0), {0.1, 0.1, 0.1});
    object.bounce = 1;
    object.velocity = point(-0.3, 0.3);
    const Vec speed = object.velocity;
    int turns = 0;
    for (int step = 0; step < 1000; ++step) {
      const Vec before = object.velocity;
      move_objects(std::span(&object, 1), 1.0);
      for (std::size_t a = 0; a < 3; ++a) {
        ASSERT_GE(object.center[a], 0.0);
        ASSERT_LE(object.center[a], 1.0);
        ASSERT_EQ(std::fabs(object.velocity[a]), std::fabs(speed[a]));
        turns += object.velocity[a] != before[a] ? 1 : 0;
      }
    }
    EXPECT_GT(turns, 10);
  }
}

TEST(ObjectsMotion, EdgeBounces) {
  Object object = body(2, {0.5, 0.5, 0.5}, {0.25, 0.25, 0.125});
  object.bounce = 2;
  object.velocity = {0.375, -0.375, 0.25};
  object.growth = {0.0, 0.0, 0.125};
  move_objects(std::span(&object, 1), 1.0);
  EXPECT_EQ(object.center, (Vec{0.75, 0.25, 0.75}));  // set back to touch; z touches by itself with its grown size
  EXPECT_EQ(object.size, (Vec{0.25, 0.25, 0.25}));
  EXPECT_EQ(object.velocity, (Vec{-0.375, 0.375, -0.25}));
  object.growth = {};
  move_objects(std::span(&object, 1), 1.0);
  EXPECT_EQ(object.center, (Vec{0.375, 0.625, 0.5}));
  EXPECT_EQ(object.velocity, (Vec{-0.375, 0.375, -0.25}));
}

TEST(ObjectsMotion, TimeStep) {
  const Vec cells{64.0, 32.0, 16.0};
  EXPECT_EQ(time_step({}, cells), 1.0);
  std::vector<Object> objects{body(2, {0.5, 0.5, 0.5}, {0.1, 0.1, 0.1})};
  EXPECT_EQ(time_step(objects, cells), 1.0);
  objects[0].velocity = {0.0, 0.25, -0.5};
  EXPECT_EQ(time_step(objects, cells), 1.0 / 8.0);
  objects[0].growth = {-0.5, 0.0, 0.0};
  EXPECT_EQ(time_step(objects, cells), 1.0 / 32.0);
  objects[0].growth = {1.0 / 256.0, 0.0, 0.0};
  objects[0].velocity = {};
  EXPECT_EQ(time_step(objects, cells), 4.0);  // slower than a cell a unit: longer steps
  objects.push_back(body(0, {0.2, 0.2, 0.2}, {0.1, 0.1, 0.1}));
  objects[1].velocity = {-1.0, 0.0, 0.0};
  EXPECT_EQ(time_step(objects, cells), 1.0 / 64.0);
}

TEST(ObjectsMotion, TimeStepStopsAtAnObjectOffOrOutsideAsMiniamr) {
  const Vec cells{64.0, 64.0, 64.0};
  Object moving = body(2, {0.5, 0.5, 0.5}, {0.1, 0.1, 0.1});
  moving.velocity = {1.0, 0.0, 0.0};
  const auto behind = [&](const Object& first) { return time_step(std::vector<Object>{first, moving}, cells); };
  EXPECT_EQ(behind(body(2, {0.5, 0.5, 0.5}, {0.1, 0.1, -0.1})), 1.0);
  EXPECT_EQ(behind(body(2, {0.5, -0.2, 0.5}, {0.1, 0.1, 0.1})), 1.0);
  EXPECT_EQ(behind(body(2, {0.5, 0.5, 1.2}, {0.1, 0.1, 0.1})), 1.0);
  EXPECT_EQ(behind(body(2, {-0.1, 0.5, 0.5}, {0.1, 0.1, 0.1})), 1.0 / 64.0);  // touches: is looked at
  EXPECT_EQ(behind(body(2, {1.25, 0.5, 0.5}, {0.25, 0.1, 0.1})), 1.0 / 64.0);
  const Object off = body(2, {0.5, 0.5, 0.5}, {0.1, -0.1, 0.1});
  EXPECT_EQ(time_step(std::vector<Object>{moving, off}, cells), 1.0 / 64.0);  // one before it counts
}

TEST(ObjectsNames, NamesAndNumbersThereAndBack) {
  EXPECT_EQ(shape_names().size(), 11u);
  for (int type = 0; type < 26; ++type) {
    if (type > 15 && type < 20) continue;
    const auto [shape, volume] = shape_of_type(type);
    EXPECT_EQ(static_cast<int>(object_type({.shape = shape, .volume = volume})), type);
    EXPECT_NE(std::find(shape_names().begin(), shape_names().end(), shape), shape_names().end());
    const ObjectConfig config = object_config(body(type, {1, 2, 3}, {4, 5, 6}));
    EXPECT_EQ(config.shape, shape);
    EXPECT_EQ(config.volume, volume);
    EXPECT_EQ(config.center, (Vec{1, 2, 3}));
    EXPECT_EQ(config.size, (Vec{4, 5, 6}));
    EXPECT_EQ(config.bounce, "none");
  }
  EXPECT_EQ(shape_of_type(7), std::pair(std::string("hemispheroid_xminus"), true));
  EXPECT_EQ(shape_of_type(12), std::pair(std::string("hemispheroid_zplus"), false));
  EXPECT_EQ(shape_of_type(23), std::pair(std::string("cylinder_y"), true));
  for (const char* alias : {"sphere", "ellipsoid", "spheroid"}) {
    EXPECT_EQ(static_cast<int>(object_type({.shape = alias, .volume = true})), 3);
  }
  EXPECT_EQ(bounce_of_option(0), "none");
  EXPECT_EQ(bounce_of_option(1), "center");
  EXPECT_EQ(bounce_of_option(2), "none");
}

TEST(ObjectsNames, MakeObjectsKeepsEverything) {
  const ObjectConfig config{.shape = "cylinder_z",
                            .volume = true,
                            .center = {1, 2, 3},
                            .velocity = {4, 5, 6},
                            .size = {7, 8, -9},
                            .growth = {10, 11, 12},
                            .bounce = "edge"};
  const std::vector<Object> objects = make_objects(std::vector<ObjectConfig>{ObjectConfig{}, config});
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(static_cast<int>(objects[0].type), 2);
  EXPECT_EQ(objects[0].bounce, 0);
  EXPECT_EQ(static_cast<int>(objects[1].type), 25);
  EXPECT_EQ(objects[1].bounce, 2);
  EXPECT_EQ(objects[1].center, config.center);
  EXPECT_EQ(objects[1].velocity, config.velocity);
  EXPECT_EQ(objects[1].size, config.size);
  EXPECT_EQ(objects[1].growth, config.growth);
  EXPECT_EQ(object_config(objects[1]).bounce, "edge");
}

/// The message of the InputError that `call` must throw.
template <typename Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const amrbench::support::InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST(ObjectsNames, BadInputIsRefusedByName) {
  for (const int type : {-1, 16, 17, 18, 19, 26, 1000}) {
    SCOPED_TRACE(testing::Message() << "type " << type);
    EXPECT_NE(refusal([&] { (void)shape_of_type(type); }).find(std::to_string(type)), std::string::npos);
  }
  const std::vector<ObjectConfig> shape{ObjectConfig{}, ObjectConfig{.shape = "cube"}};
  std::string message = refusal([&] { (void)make_objects(shape); });
  EXPECT_NE(message.find("object[1].shape"), std::string::npos) << message;
  EXPECT_NE(message.find("\"cube\""), std::string::npos) << message;
  EXPECT_NE(message.find("hemispheroid_xplus"), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_NE(refusal([] { (void)object_type({.shape = ""}); }).find("object.shape"), std::string::npos);
  message = refusal([] { (void)make_objects(std::vector{ObjectConfig{.bounce = "both"}}); });
  EXPECT_NE(message.find("object[0].bounce"), std::string::npos) << message;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const std::array<ObjectConfig, 4> bad{ObjectConfig{.center = {0, nan, 0}}, ObjectConfig{.velocity = {inf, 0, 0}},
                                        ObjectConfig{.size = {0, 0, -inf}}, ObjectConfig{.growth = {nan, 0, 0}}};
  const std::array<std::string, 4> keys{"center", "velocity", "size", "growth"};
  for (std::size_t i = 0; i < bad.size(); ++i) {
    message = refusal([&] { (void)make_objects(std::span(&bad[i], 1)); });
    EXPECT_NE(message.find("object[0]." + keys[i]), std::string::npos) << message;
  }
}

}  // namespace
