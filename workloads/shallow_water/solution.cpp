#include "workloads/shallow_water/solution.hpp"

#include <cmath>

#include "workloads/shallow_water/require.hpp"

namespace amrbench::workloads::shallow_water {

CellValues cell_values(const Solution& solution, double x, double y, double dx, double dy, double t, int points) {
  require(points >= 1 && points <= 3, "cell_values: 1 to 3 points");
  const double far2 = 0.5 / std::sqrt(3.0), far3 = 0.5 * std::sqrt(0.6);
  const double place[3][3] = {{0, 0, 0}, {-far2, far2, 0}, {-far3, 0, far3}};
  const double weight[3][3] = {{1, 0, 0}, {0.5, 0.5, 0}, {5.0 / 18, 8.0 / 18, 5.0 / 18}};
  CellValues values{};
  for (int j = 0; j < points; ++j)
    for (int i = 0; i < points; ++i) {
      const double px = x + dx * place[points - 1][i], py = y + dy * place[points - 1][j];
      const double share = weight[points - 1][i] * weight[points - 1][j];
      const State s = solution.at(px, py, t);
      const CellValues here{s.h, s.h * s.u, s.h * s.v, solution.bed(px, py), solution.roughness(px, py)};
      for (int v = 0; v < 5; ++v) values[v] += share * here[v];
    }
  return values;
}

}  // namespace amrbench::workloads::shallow_water
