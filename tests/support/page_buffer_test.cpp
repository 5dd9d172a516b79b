// support/page_buffer.hpp, over both kinds of memory.
#include "support/page_buffer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "support/error.hpp"

namespace amrbench::support {
namespace {

template <class Region>
class PageBufferTest : public ::testing::Test {};

#ifdef AMRBENCH_HAS_MMAP
using Regions = ::testing::Types<MmapRegion, HeapRegion>;
#else
using Regions = ::testing::Types<HeapRegion>;
#endif
TYPED_TEST_SUITE(PageBufferTest, Regions, );

template <class Buffer>
std::uintptr_t address(const Buffer& buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer.data());
}

std::uint64_t stamp(std::size_t i) {
  return i * 0x9e3779b97f4a7c15U + 1;
}

TYPED_TEST(PageBufferTest, EmptyHoldsNothing) {
  PageBuffer<double, TypeParam> buffer;
  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_EQ(buffer.bytes(), 0U);
  EXPECT_EQ(buffer.data(), nullptr);
  buffer.grow(0);
  buffer.resize_discard(0);
  EXPECT_EQ(buffer.bytes(), 0U);
}

TYPED_TEST(PageBufferTest, GrowKeepsContentsAndAlignment) {
  // Sizes cross 64 B, 4 KiB, 2 MiB and several huge pages, with odd ends, and random ones after that.
  std::vector<std::size_t> sizes{1, 7, 512, 513, 100'000, 262'143, 262'144, 262'145, 1'000'000, 3'000'001};
  const std::uint64_t seed = 20240611;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 8; ++i) sizes.push_back(sizes.back() + random() % 300'000);
  PageBuffer<std::uint64_t, TypeParam> buffer;
  std::size_t written = 0;
  for (const std::size_t n : sizes) {
    buffer.grow(n);
    ASSERT_EQ(buffer.size(), n);
    ASSERT_GE(buffer.bytes(), n * 8);
    ASSERT_GE(buffer.capacity(), n);
    ASSERT_EQ(address(buffer) % 64, 0U);
    if (n * 8 >= kHugePage) {
      ASSERT_EQ(address(buffer) % kHugePage, 0U) << n;
      ASSERT_EQ(buffer.bytes() % kHugePage, 0U) << n;
    }
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < written; ++i) wrong += buffer[i] != stamp(i) ? 1 : 0;
    ASSERT_EQ(wrong, 0U) << "after growing to " << n;
    for (; written < n; ++written) buffer[written] = stamp(written);
  }
  buffer.grow(3);
  EXPECT_EQ(buffer.size(), sizes.back());
  buffer.truncate(3);
  EXPECT_EQ(buffer.size(), 3U);
  EXPECT_EQ(buffer.span().size(), 3U);
  buffer.grow(5);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(buffer[i], stamp(i));
}

TYPED_TEST(PageBufferTest, DiscardFitsTheSize) {
  PageBuffer<double, TypeParam> buffer(1'000'000);
  for (double& x : buffer) x = 1.0;
  buffer.resize_discard(1'000'000);
  EXPECT_EQ(buffer.size(), 1'000'000U);
  for (double& x : buffer) x = 2.0;  // all of it is usable
  buffer.resize_discard(100);
  EXPECT_EQ(buffer.size(), 100U);
  EXPECT_LE(buffer.bytes(), 65536U);
  buffer.resize_discard(2'000'000);
  EXPECT_EQ(address(buffer) % kHugePage, 0U);
  buffer[1'999'999] = 3.0;
  buffer.clear();
  EXPECT_EQ(buffer.bytes(), 0U);
  EXPECT_TRUE(buffer.empty());
}

TYPED_TEST(PageBufferTest, MovesAndSwaps) {
  PageBuffer<int, TypeParam> a(1000);
  PageBuffer<int, TypeParam> b(10);
  a[999] = 7;
  b[9] = 8;
  const int* data = a.data();
  swap(a, b);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b[999], 7);
  EXPECT_EQ(a[9], 8);
  a = std::move(b);
  EXPECT_EQ(a.data(), data);
  EXPECT_EQ(a.size(), 1000U);
  const PageBuffer<int, TypeParam> c(std::move(a));
  EXPECT_EQ(c[999], 7);
}

TYPED_TEST(PageBufferTest, OutOfMemoryNamesTheBytesAndKeepsContents) {
  PageBuffer<std::uint64_t, TypeParam> buffer(1000);
  buffer[999] = 5;
  // More than the system gives. Address Sanitizer ends the program at such a request: there, one that is never made.
#ifdef __SANITIZE_ADDRESS__
  const std::size_t impossible = std::size_t{1} << 57;
  const std::string bytes = "1152921504606846976 bytes";
#else
  const std::size_t impossible = std::size_t{1} << 47;
  const std::string bytes = "1125899906842624 bytes";
#endif
  for (const bool overflow : {false, true}) {
    try {
      buffer.grow(overflow ? ~std::size_t{0} / 2 : impossible);
      FAIL() << "no error";
    } catch (const RunError& error) {
      EXPECT_NE(std::string(error.what()).find("out of memory: 1"), std::string::npos) << error.what();
      if (!overflow) {
        EXPECT_NE(std::string(error.what()).find(bytes), std::string::npos) << error.what();
      }
    }
    EXPECT_EQ(buffer.size(), 1000U);
    EXPECT_EQ(buffer[999], 5U);
  }
  EXPECT_THROW(buffer.resize_discard(impossible), RunError);
  EXPECT_EQ(buffer.size(), 0U);
}

#ifdef AMRBENCH_HAS_MMAP
/// Bytes of this process in memory now.
std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

TEST(MmapRegion, PagesComeAtFirstTouchAndGoWithDiscard) {
  const std::size_t n = std::size_t{64} << 20;
  const std::size_t before = resident_bytes();
  PageBuffer<char> buffer(n);
  EXPECT_LT(resident_bytes(), before + n / 4);
  for (std::size_t i = 0; i < n; i += 4096) buffer[i] = 1;
  EXPECT_GE(resident_bytes(), before + n * 3 / 4);
  buffer.grow(8 * n);  // no copy: only what was touched is there
  EXPECT_LT(resident_bytes(), before + 2 * n);
  buffer.resize_discard(8 * n);
  EXPECT_LT(resident_bytes(), before + n / 4);
}
#endif

}  // namespace
}  // namespace amrbench::support
