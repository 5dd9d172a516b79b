#include "amr/dictionary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sfc/key.hpp"

namespace amrbench::amr {
namespace {

using Keys = std::vector<std::uint64_t>;

/// Every key of the list is found at its place, and of `others` only those in the list.
void expect_finds(const Dictionary& dictionary, const Keys& keys, const Keys& others) {
  std::unordered_map<std::uint64_t, std::int32_t> reference;
  for (std::size_t i = 0; i < keys.size(); ++i) reference[keys[i]] = static_cast<std::int32_t>(i);
  for (const auto& [key, index] : reference) ASSERT_EQ(dictionary.find(key), index) << "key " << key;
  for (const auto key : others) {
    const auto found = reference.find(key);
    ASSERT_EQ(dictionary.find(key), found == reference.end() ? Dictionary::kNone : found->second) << "key " << key;
  }
}

/// Splits a block with a chance of `percent`, which must keep the mean number of split children low for deep meshes.
template <int Dim>
void refine(const sfc::KeySpace<Dim>& space, unsigned percent, std::mt19937_64& rng, std::uint64_t key, Keys& leaves) {
  if (space.level(key) < space.max_level() && rng() % 100 < percent) {
    for (int i = 0; i < space.kChildren; ++i) refine<Dim>(space, percent, rng, space.child(key, i), leaves);
  } else if (rng() % 10 != 0) {  // leave some out, as where other ranks' blocks are
    leaves.push_back(key);
  }
}

/// The neighbours of all leaves with their parents and children.
template <int Dim>
Keys around(const sfc::KeySpace<Dim>& space, const Keys& leaves) {
  Keys keys;
  for (const auto leaf : leaves) {
    for (const auto neighbor : space.neighbors(leaf)) {
      keys.push_back(neighbor);
      if (neighbor == space.kNone) continue;
      const int level = space.level(neighbor);
      if (level > 0) keys.push_back(space.parent(neighbor));
      for (int i = 0; i < space.kChildren && level < space.max_level(); ++i) keys.push_back(space.child(neighbor, i));
    }
  }
  return keys;
}

template <int Dim>
void check_meshes(int max_level, unsigned percent, std::uint64_t seeds) {
  Dictionary dictionary;  // one for all, so that leftovers of larger builds would show
  std::size_t total = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("dim " + std::to_string(Dim) + ", seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    sfc::Coord<Dim> root{};
    for (auto& r : root) r = 1 + static_cast<std::uint32_t>(rng() % 5);
    const sfc::KeySpace<Dim> space(seed % 2 == 0 ? sfc::Curve::morton : sfc::Curve::hilbert, root, max_level);
    Keys leaves;
    for (std::uint32_t x = 0; x < root[0]; ++x) {
      for (std::uint32_t y = 0; y < root[1]; ++y) {
        sfc::Coord<Dim> c{};
        c[0] = x;
        c[1] = y;
        refine<Dim>(space, percent, rng, space.key(0, c), leaves);
        if (leaves.size() > 4000) break;
      }
    }
    std::sort(leaves.begin(), leaves.end());
    dictionary.build(leaves);
    ASSERT_NO_FATAL_FAILURE(expect_finds(dictionary, leaves, around<Dim>(space, leaves)));
    total += leaves.size();
  }
  EXPECT_GT(total, 100 * seeds);
}

TEST(Dictionary, FindsTheBlocksOfMeshesIn3D) {
  check_meshes<3>(5, 30, 60);
}
TEST(Dictionary, FindsTheBlocksOfMeshesIn2D) {
  check_meshes<2>(12, 35, 60);
}

TEST(Dictionary, FindsTheBlocksOfADeepMesh) {
  check_meshes<3>(17, 17, 40);
}

TEST(Dictionary, FindsNothingWhenNewOrEmpty) {
  Dictionary dictionary;
  const Keys some{0, 1, 2, 3, 5, std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{0} - 1};
  expect_finds(dictionary, {}, some);
  dictionary.build({});
  expect_finds(dictionary, {}, some);
  dictionary.build(Keys{1, 8, 9});
  expect_finds(dictionary, {1, 8, 9}, some);
  dictionary.build({});
  expect_finds(dictionary, {}, Keys{1, 8, 9});
}

/// Some keys are added, others erased, and they come back under other numbers: few, and enough for a team of threads.
TEST(Dictionary, IsChanged) {
  for (const std::uint32_t root : {2U, 32U}) {
    const sfc::KeySpace<3> space(sfc::Curve::morton, {root, root, root}, 2);
    std::mt19937_64 rng(root);
    Keys keys, removed;
    for (std::uint32_t at = 0; at < root * root * root; ++at)
      refine<3>(space, 90, rng, space.key(0, {at % root, at / root % root, at / root / root}), keys);
    std::sort(keys.begin(), keys.end());
    Keys late(keys.begin() + static_cast<std::ptrdiff_t>(keys.size() / 20 * 19), keys.end());
    keys.resize(keys.size() - late.size());
    Dictionary dictionary;
    dictionary.build(keys);
    ASSERT_LE(late.size(), dictionary.room());
    dictionary.add(late, static_cast<std::int32_t>(keys.size()));
    keys.insert(keys.end(), late.begin(), late.end());
    expect_finds(dictionary, keys, around(space, keys));
    const auto stays = [&](const auto key) { return key % 41 != 0; };
    std::ranges::remove_copy_if(keys, std::back_inserter(removed), stays);
    ASSERT_FALSE(removed.empty());
    for (const auto key : removed) dictionary.erase(key);
    for (const auto key : removed) ASSERT_EQ(dictionary.find(key), Dictionary::kNone);
    dictionary.add(removed, 7);
    for (std::size_t i = 0; i < removed.size(); ++i)
      ASSERT_EQ(dictionary.find(removed[i]), 7 + static_cast<std::int32_t>(i));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (stays(keys[i])) {
        ASSERT_EQ(dictionary.find(keys[i]), static_cast<std::int32_t>(i));
      }
    }
  }
}

TEST(Dictionary, TakesAnyKeys) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    // From dense small numbers (whole families, long chains) to the full range, with any number of trailing zeros.
    const int bits = std::uniform_int_distribution<int>(3, 63)(rng);
    std::set<std::uint64_t> drawn;
    for (int n = 0; n < 3000; ++n) {
      const std::uint64_t key = (rng() >> (63 - bits) >> (rng() % 8)) << (rng() % 8);
      if (key != 0 && key != ~std::uint64_t{0}) drawn.insert(key);
    }
    for (int shift = 0; shift < 64; ++shift) drawn.insert(std::uint64_t{1} << shift);
    const Keys keys(drawn.begin(), drawn.end());
    Keys others{0, ~std::uint64_t{0}};
    for (const auto key : keys) {
      for (int bit = 0; bit < 64; ++bit) others.push_back(key ^ std::uint64_t{1} << bit);
    }
    Dictionary dictionary;
    dictionary.build(keys);
    ASSERT_NO_FATAL_FAILURE(expect_finds(dictionary, keys, others));
  }
}

/// Families whose tags share their home bucket fill it and run over into the next ones, round the table's end too.
TEST(Dictionary, SurvivesFullBuckets) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
  std::uint64_t inverse = kGolden;  // of an odd number modulo 2^64, by Newton's iteration
  for (int i = 0; i < 6; ++i) inverse *= 2 - kGolden * inverse;
  ASSERT_EQ(inverse * kGolden, 1U);
  Keys keys;
  // Products with all upper bits set, so the last bucket is home whatever the table's size; kept where the key is its
  // own family's tag.
  for (std::uint64_t low = 0; keys.size() < 200; ++low) {
    const std::uint64_t key = (~std::uint64_t{0} - low) * inverse;
    if ((key & ((key & (0 - key)) * 14)) == 0 && key != 0) keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  Keys others;
  for (const auto key : keys) {
    const std::uint64_t marker = key & (0 - key);
    for (std::uint64_t member = 1; member < 8; ++member) others.push_back(key | marker * 2 * member);
  }
  Dictionary dictionary;
  dictionary.build(keys);
  expect_finds(dictionary, keys, others);
}

}  // namespace
}  // namespace amrbench::amr
