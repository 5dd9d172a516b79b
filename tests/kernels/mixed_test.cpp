// miniAMR's mixed work against a plain serial one: one array a variable, x outermost, formulas written out by group.
#include "kernels/mixed/mixed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <utility>

namespace amrbench::kernels {
namespace {

TEST(MixedConstants, AreTheFirstNumbersOfAnUnseededGenerator) {
  // As printed by a program that calls rand() on Debian 12.
  EXPECT_EQ(additive_feedback_numbers(6),
            (std::vector<std::uint32_t>{1804289383, 846930886, 1681692777, 1714636915, 1957747793, 424238335}));
  const MixedConstants c = mixed_constants(13);
  ASSERT_EQ(c.a0.size(), 3u);
  EXPECT_NEAR(c.a1, 0.840188, 5e-7);
  EXPECT_NEAR(c.a0[0], 0.394383, 5e-7);
  EXPECT_NEAR(c.a0[1], 0.783099, 5e-7);
  EXPECT_NEAR(c.a0[2], 0.798440, 5e-7);
  EXPECT_TRUE(mixed_constants(3).a0.empty());
}

/// The serial work. u(v)(i, j, k) with ghosts at 0 and n + 1.
class Serial {
 public:
  Serial(std::array<int, 3> n, int variables, const MixedConstants& c)
      : n_(n), m_(variables / 4), vars_(variables), a1_(c.a1), a0_(c.a0) {
    u_.assign(variables, std::vector<double>(std::size_t(n[0] + 2) * (n[1] + 2) * (n[2] + 2)));
  }
  double& at(int v, int i, int j, int k) { return u_[v][(std::size_t(i) * (n_[1] + 2) + j) * (n_[2] + 2) + k]; }

  void stage(std::int64_t number) {
    for (int v = 0; v < vars_; ++v) {
      if (v == 0 || v >= 4 * m_) {
        jacobi(v, [&](int i, int j, int k) {
          return (at(v, i - 1, j, k) + at(v, i, j - 1, k) + at(v, i, j, k - 1) + at(v, i, j, k) + at(v, i, j, k + 1) +
                  at(v, i, j + 1, k) + at(v, i + 1, j, k)) /
                 7.0;
        });
        continue;
      }
      const int kind = static_cast<int>(number % 6);
      if (kind == 0) react(v);
      if (kind >= 1 && kind <= 3) transport(v, kind - 1);
      if (kind == 4) couple7(v);
      if (kind == 5) couple27(v);
      for_cells([&](int i, int j, int k) {
        double& x = at(v, i, j, k);
        x = std::abs(x);
        if (x >= 1.0)
          x /= a1_ + a0_[0] + x;
        else if (x < 0.1)
          x *= 10.0 - a1_;
      });
    }
  }

 private:
  template <class F>
  void for_cells(F f) {
    for (int i = 1; i <= n_[0]; ++i) {
      for (int j = 1; j <= n_[1]; ++j) {
        for (int k = 1; k <= n_[2]; ++k) f(i, j, k);
      }
    }
  }
  template <class F>
  void jacobi(int v, F f) {
    std::vector<double> work;
    for_cells([&](int i, int j, int k) { work.push_back(f(i, j, k)); });
    std::size_t next = 0;
    for_cells([&](int i, int j, int k) { at(v, i, j, k) = work[next++]; });
  }

  void react(int v) {
    for_cells([&](int i, int j, int k) {
      const auto w = [&](int q) { return at(q, i, j, k); };
      double& x = at(v, i, j, k);
      if (v == 1) {
        for (int q = m_; q < 2 * m_; ++q) x += w(q) * w(0);
      } else if (v < m_) {
        x += x * (w(0) + w(1) - a1_ * x);
      } else if (v < 2 * m_) {
        x = x * (w(0) + x + a1_ * w(v + m_) + (1.0 - a1_) * w(v + 2 * m_)) / w(1);
      } else if (v < 3 * m_) {
        x += w(v - m_) * (a1_ * w(0) + a0_[v - 2 * m_] * x + (1.0 - a1_) * w(v + m_)) / w(1);
      } else {
        const double b = a0_[v - 3 * m_];
        x += w(v - 2 * m_) * (a1_ * w(0) + b * x + (1.0 - b) * w(v - m_) + (1.0 - a1_) * w(v - 2 * m_)) / (w(1) * w(1));
      }
    });
  }

  void transport(int v, int axis) {
    const int di = axis == 0, dj = axis == 1, dk = axis == 2;
    for_cells([&](int i, int j, int k) {
      const auto w = [&](int q) { return at(q, i, j, k); };
      const auto before = [&](int q) { return at(q, i - di, j - dj, k - dk); };
      const auto behind = [&](int q) { return at(q, i + di, j + dj, k + dk); };
      double& x = at(v, i, j, k);
      if (v == 1) {
        for (int q = 2; q < m_ + 2; ++q) x += w(q) * w(0);
        x /= a1_ + x;
        return;
      }
      if (v < m_) {
        x += x * (w(0) + w(1) - a1_ * x) / (a0_[v] + w(1));
        return;
      }
      const int group = v / m_, driver = group == 1 ? v : v - (group - 1) * m_;
      const double s = std::abs(w(driver) - before(driver)), t = std::abs(w(driver) - behind(driver));
      const double difference = s > t ? s - t : t - s;
      const double top = s * before(v) + difference * (x + w(1)) + t * behind(v);
      double bottom = 0.0;
      if (group == 1) bottom = a1_ + a0_[v - m_] + before(v) + x + behind(v) + w(0) + w(1);
      if (group == 2) bottom = a1_ + a0_[v - 2 * m_] + w(v - m_) + w(v + m_) + before(v) + x + behind(v);
      if (group == 3) bottom = a1_ + a0_[v - 3 * m_] + w(v - m_) + w(v - 2 * m_) + before(v) + x + behind(v);
      x = top / bottom;
    });
  }

  /// The variable `groups` groups further, counted round.
  int shifted(int v, int groups) const { return (v + groups * m_) % (4 * m_); }

  void couple7(int v) {
    const int p = shifted(v, 1), q = shifted(v, 2), r = shifted(v, 3);
    jacobi(v, [&](int i, int j, int k) {
      double sum = at(v, i - 1, j, k) * at(p, i - 1, j, k);
      sum += at(v, i, j - 1, k) * at(q, i, j - 1, k);
      sum += at(v, i, j, k - 1) * at(r, i, j, k - 1);
      sum += at(v, i, j, k) * at(v, i, j, k);
      sum += at(v, i, j, k + 1) * at(r, i, j, k + 1);
      sum += at(v, i, j + 1, k) * at(q, i, j + 1, k);
      sum += at(v, i + 1, j, k) * at(p, i + 1, j, k);
      return sum / 7.0 * (a1_ + at(v, i, j, k));
    });
  }

  void couple27(int v) {
    jacobi(v, [&](int i, int j, int k) {
      double sum = 0.0;
      for (int c = 0; c < 27; ++c) {
        const int x = c / 9 - 1, y = c / 3 % 3 - 1, z = c % 3 - 1;
        const double value = at(shifted(v, std::abs(x) + std::abs(y) + std::abs(z)), i + x, j + y, k + z);
        sum = c == 0 ? value : sum + value;
      }
      return sum / (a1_ + 27.0);
    });
  }

  std::array<int, 3> n_;
  int m_, vars_;
  double a1_;
  std::vector<double> a0_;
  std::vector<std::vector<double>> u_;
};

/// Offset of a cell in a tile whose x and y may be exchanged.
std::size_t place(const TileLayout& t, bool swapped, int v, int x, int y, int z) {
  return swapped ? t.offset(v, y, x, z) : t.offset(v, x, y, z);
}

/// Fills a tile and the serial arrays with the same random values, ghosts included.
void fill(const TileLayout& t, unsigned seed, bool swapped, std::vector<double>& tile, Serial& serial) {
  std::mt19937 engine(seed);
  std::array<int, 3> n = t.block.cells;
  if (swapped) std::swap(n[0], n[1]);
  for (int v = 0; v < t.block.variables; ++v) {
    for (int z = -1; z <= n[2]; ++z) {
      for (int y = -1; y <= n[1]; ++y) {
        for (int x = -1; x <= n[0]; ++x) {
          const double value = std::uniform_real_distribution<double>(0.0, 2.0)(engine);
          tile[place(t, swapped, v, x, y, z)] = value;
          serial.at(v, x + 1, y + 1, z + 1) = value;
        }
      }
    }
  }
}

TEST(Mixed, AgreesWithTheSerialWorkBitForBit) {
  unsigned seed = 100;
  for (const auto& n : {std::array{2, 2, 2}, {4, 4, 4}, {8, 8, 8}, {6, 2, 10}, {12, 4, 6}}) {
    for (const int variables : {2, 5, 8, 9, 12, 18, 41}) {
      for (std::int64_t run = 0; run < 12; ++run) {
        const std::int64_t stage = run % 6;
        const bool swapped = run >= 6;
        SCOPED_TRACE(testing::Message() << "seed " << ++seed << ", " << n[0] << "x" << n[1] << "x" << n[2] << ", "
                                        << variables << " variables, stage " << stage << (swapped ? ", swapped" : ""));
        const std::array<int, 3> cells{n[swapped ? 1 : 0], n[swapped ? 0 : 1], n[2]};
        const TileLayout t = make_tile_layout_by_variable(make_layout(cells, variables));
        const MixedConstants constants = mixed_constants(variables);
        Serial serial(n, variables, constants);
        std::vector<double> tile(t.values() + kPadding), scratch(mixed_scratch(t) + kPadding);
        fill(t, seed, swapped, tile, serial);
        // Twice: the second stage starts from values that the first brought into range, with stale ghosts.
        for (int repeat = 0; repeat < 2; ++repeat) {
          advance_mixed(t, constants, stage + 6 * repeat, swapped, tile.data(), scratch.data());
          serial.stage(stage);
        }
        for (int v = 0; v < variables; ++v) {
          for (int z = -1; z <= n[2]; ++z) {
            for (int y = -1; y <= n[1]; ++y) {
              for (int x = -1; x <= n[0]; ++x)
                ASSERT_EQ(tile[place(t, swapped, v, x, y, z)], serial.at(v, x + 1, y + 1, z + 1))
                    << "variable " << v << " at " << x << " " << y << " " << z;
            }
          }
        }
      }
    }
  }
}

/// What mixed_pieces() does not name may hold anything: the values inside are the same.
TEST(Mixed, ReadsOnlyThePiecesThatItNames) {
  unsigned seed = 900;
  for (const auto& n : {std::array{2, 2, 2}, {8, 8, 8}, {6, 4, 10}}) {
    for (const int variables : {2, 3, 8, 9, 10, 12, 18, 41}) {
      for (std::int64_t stage = 0; stage < 6; ++stage) {
        const bool swapped = mixed_swaps_axes(stage);
        SCOPED_TRACE(testing::Message() << "seed " << ++seed << ", " << n[0] << "x" << n[1] << "x" << n[2] << ", "
                                        << variables << " variables, stage " << stage);
        const BlockLayout block = make_layout(n, variables);
        BlockLayout turned = block;
        if (swapped) std::swap(turned.cells[0], turned.cells[1]);
        const TileLayout t = make_tile_layout_by_variable(turned);
        const MixedConstants constants = mixed_constants(variables);
        Serial serial(n, variables, constants);
        std::vector<double> tile(t.values() + kPadding), scratch(mixed_scratch(t) + kPadding);
        fill(t, seed, swapped, tile, serial);
        const auto side = [&](int axis, int c) { return c < 0 ? -1 : c < n[axis] ? 0 : 1; };
        const auto each = [&](auto f) {
          for (int v = 0; v < variables; ++v)
            for (int z = -1; z <= n[2]; ++z)
              for (int y = -1; y <= n[1]; ++y)
                for (int x = -1; x <= n[0]; ++x)
                  f(v, Surroundings::index(side(0, x), side(1, y), side(2, z)), place(t, swapped, v, x, y, z));
        };
        std::vector<double> part = tile;
        int unset = 0;
        each([&](int v, int piece, std::size_t at) {
          if ((mixed_pieces(block, stage, v / block.lanes) >> piece & 1U) != 0) return;
          part[at] = std::numeric_limits<double>::quiet_NaN();
          ++unset;
        });
        EXPECT_EQ(unset > 0, stage < 5 || variables < 4);
        advance_mixed(t, constants, stage, swapped, tile.data(), scratch.data());
        advance_mixed(t, constants, stage, swapped, part.data(), scratch.data());
        const int own = Surroundings::index(0, 0, 0);
        each([&](int v, int piece, std::size_t at) {
          if (piece != own) return;
          ASSERT_EQ(part[at], tile[at]) << "variable " << v;
        });
      }
    }
  }
}

TEST(Mixed, BringsValuesBackIntoRange) {
  const TileLayout t = make_tile_layout_by_variable(make_layout({4, 4, 4}, 8));
  const MixedConstants constants = mixed_constants(8);
  std::vector<double> tile(t.values() + kPadding, 50.0), scratch(mixed_scratch(t) + kPadding);
  advance_mixed(t, constants, 5, false, tile.data(), scratch.data());
  EXPECT_EQ(tile[t.offset(0, 1, 1, 1)], 50.0) << "the average of a constant";
  for (int v = 1; v < 8; ++v) {
    const double x = tile[t.offset(v, 1, 1, 1)];
    EXPECT_GT(x, 0.0) << v;
    EXPECT_LT(x, 1.0) << v;
  }
}

}  // namespace
}  // namespace amrbench::kernels
