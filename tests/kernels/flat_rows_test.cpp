// Masks where rows end, and loads by them: every value from where it should be, none read from elsewhere.
#include "kernels/flat_rows.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <span>

namespace amrbench::kernels {
namespace {

/// A page of doubles between two pages that must not be touched.
class GuardedPage {
 public:
  GuardedPage() : bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    start_ = mmap(nullptr, 3 * bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    usable_ =
        start_ != MAP_FAILED && mprotect(static_cast<char*>(start_) + bytes_, bytes_, PROT_READ | PROT_WRITE) == 0;
  }
  ~GuardedPage() { munmap(start_, 3 * bytes_); }
  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;
  [[nodiscard]] bool usable() const { return usable_; }
  [[nodiscard]] std::span<double> values() const {
    return {reinterpret_cast<double*>(static_cast<char*>(start_) + bytes_), bytes_ / sizeof(double)};
  }

 private:
  std::size_t bytes_;
  void* start_;
  bool usable_;
};

TEST(FlatRows, LoadsByMaskReadOnlyWhatTheyTake) {
  const GuardedPage page;
  ASSERT_TRUE(page.usable());
  const std::span<double> values = page.values();
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<double>(k + 1);
  const FlatRows rows({{4, 4, 4}, 1, 1, 1});
  for (int n = 1; n < kFlatLength; ++n) {
    SCOPED_TRACE(n);
    // The first n values end the page, the others begin it.
    const double *const q = values.data() + values.size() - n, *const p = values.data() - n;
    const SimdDouble<8> either = load_either(rows.behind[n], p, q);
    const SimdDouble<8> some = load_where(rows.behind[n], p, SimdDouble<8>{} - 1.0);
    for (int k = 0; k < kFlatLength; ++k) {
      EXPECT_EQ(either[k], k < n ? q[k] : p[k]) << "value " << k;
      EXPECT_EQ(some[k], k < n ? -1.0 : p[k]) << "value " << k;
    }
  }
}

TEST(FlatRows, MasksMarkTheEndsOfRowsAndStripsAreWholePeriods) {
  const std::array<double, kFlatLength> ones{1, 1, 1, 1, 1, 1, 1, 1};
  for (int nx = 2; nx <= kMaxBlockEdge; nx += 2) {
    for (int lanes = 1; lanes <= kMaxLanes; ++lanes) {
      SCOPED_TRACE(testing::Message() << nx << " cells, " << lanes << " lanes");
      const FlatRows rows({{nx, 6, 2}, lanes, lanes, 1});
      const std::size_t row = rows.layout.row_values(), period = rows.masks.size() * kFlatLength;
      EXPECT_EQ(period % row, 0U);
      EXPECT_EQ(rows.strip * row % period, 0U);
      EXPECT_LE(rows.strip * row, kMostStripValues);
      for (std::size_t t = 0; t < period; ++t) {
        const EdgeMasks& mask = rows.masks[t / kFlatLength];
        const std::size_t e = t % kFlatLength, in_row = t % row;
        const bool first = load_where(mask.first, ones.data(), SimdDouble<8>{})[e] != 0.0;
        const bool last = load_where(mask.last, ones.data(), SimdDouble<8>{})[e] != 0.0;
        ASSERT_EQ(first, in_row < rows.layout.row_values() / nx) << "value " << t;
        ASSERT_EQ(last, in_row + lanes >= row) << "value " << t;
        ASSERT_TRUE(mask.any || !(first || last)) << "value " << t;
      }
    }
  }
}

}  // namespace
}  // namespace amrbench::kernels
