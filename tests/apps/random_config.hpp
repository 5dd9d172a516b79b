#pragma once
// Random configurations over the whole range of the schema, edge values included.
#include <bit>
#include <cmath>
#include <random>

#include "apps/config_schema.hpp"

namespace amrbench::apps {

class RandomConfig {
 public:
  explicit RandomConfig(std::uint64_t seed) : random_(seed) {}

  Config make() {
    Config config;
    for (const Table& table : config_tables())
      for (const auto& key : table.keys) key.set(config, value(key.info));
    config.objects.resize(random_() % 4);
    for (amr::ObjectConfig& object : config.objects)
      for (const auto& key : object_keys()) key.set(object, value(key.info));
    return config;
  }

 private:
  Value value(const KeyInfo& info) {
    switch (info.kind) {
      case Kind::boolean:
        return random_() % 2 == 0;
      case Kind::integer:
        return integer(info);
      case Kind::number:
        return number(info);
      case Kind::text:
        return text();
      case Kind::choice:
        return std::string(info.choices[random_() % info.choices.size()].name);
      case Kind::integers3:
      case Kind::integers3_or_one:
        return std::array<std::int64_t, 3>{integer(info), integer(info), integer(info)};
      case Kind::numbers2:
        return std::array<double, 2>{number(info), number(info)};
      case Kind::numbers3:
        return std::array<double, 3>{number(info), number(info), number(info)};
      case Kind::booleans3:
        return std::array<bool, 3>{random_() % 2 == 0, random_() % 2 == 0, random_() % 2 == 0};
    }
    return false;
  }

  std::int64_t integer(const KeyInfo& info) {
    if (random_() % 8 == 0) return random_() % 2 ? info.integer_min : info.integer_max;
    return std::uniform_int_distribution<std::int64_t>(info.integer_min, info.integer_max)(random_);
  }

  /// Any bits that are in range: large, small, subnormal; -0 and the bounds now and then.
  double number(const KeyInfo& info) {
    if (random_() % 8 == 0) return random_() % 2 ? info.number_min : info.number_max;
    if (random_() % 8 == 0 && info.number_min <= 0) return -0.0;
    if (random_() % 4 == 0 && info.number_max >= 1000) return static_cast<double>(random_() % 1000);
    for (;;) {
      const double v = std::bit_cast<double>(random_());
      if (std::isfinite(v) && v >= info.number_min && v <= info.number_max) return v;
    }
  }

  std::string text() {
    static const std::string kPieces[] = {"a", "Z",  "0",  " ",    "\"",   "\\", "'", "#",
                                          "=", "\t", "\n", "\x01", "\x7f", "ü",  "𝄞"};
    std::string result;
    for (std::uint64_t n = random_() % 12; n > 0; --n) result += kPieces[random_() % std::size(kPieces)];
    return result;
  }

  std::mt19937_64 random_;
};

}  // namespace amrbench::apps
