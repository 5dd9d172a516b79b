// Still water among islands.
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "workloads/shallow_water/make.hpp"
#include "workloads/shallow_water/require.hpp"

namespace amrbench::workloads::shallow_water {
namespace {

Setup lake_setup(const Lake& lake) {
  Setup setup;
  setup.high = {lake.side, lake.side};
  setup.end_time = lake.end_time;
  setup.steady = true;
  setup.closes = {true, true};
  return setup;
}

class LakeSolution final : public Solution {
 public:
  explicit LakeSolution(const Lake& lake) : Solution("lake", lake_setup(lake)), level_(lake.level) {
    require(lake.waves > 0 && lake.side > 0, "lake: at least one wave and a side > 0 wanted");
    std::mt19937_64 random(lake.seed);
    const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    const double unit = 2 * std::numbers::pi / lake.side;
    for (int i = 0; i < lake.waves; ++i) {
      Wave wave;
      wave.kx = unit * static_cast<double>(static_cast<int>(random() % 7) - 3);  // whole waves: the bed is periodic
      wave.ky = unit * static_cast<double>(1 + static_cast<int>(random() % 3));
      wave.phase = 2 * std::numbers::pi * uniform();
      wave.height = lake.relief * std::sqrt(2.0 / lake.waves) * (0.5 + uniform());
      waves_.push_back(wave);
    }
  }
  [[nodiscard]] State at(double x, double y, double) const override {
    return {std::max(level_ - bed(x, y), 0.0), 0, 0};
  }
  [[nodiscard]] double bed(double x, double y) const override {
    double z = 0;
    for (const Wave& w : waves_) z += w.height * std::cos(w.kx * x + w.ky * y + w.phase);
    return z;
  }

 private:
  struct Wave {
    double kx, ky, phase, height;
  };
  double level_;
  std::vector<Wave> waves_;
};

}  // namespace

std::unique_ptr<Solution> make_lake(const Lake& lake) {
  return std::make_unique<LakeSolution>(lake);
}

}  // namespace amrbench::workloads::shallow_water
