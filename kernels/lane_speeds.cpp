#include "kernels/lane_speeds.hpp"

#include <cmath>
#include <span>

namespace amrbench::kernels {

namespace {

/// What was measured with cubes of an edge; the first row of a table is not special. special: a kernel serves cubes of
/// this edge alone.
struct Measured {
  int edge;
  bool special;
  LaneSpeeds speeds;
};

constexpr Measured kAverage7[] = {
    {4, false, {69, 78, 68, 80, 70, 77, 70, 85}},  {6, false, {59, 70, 64, 73, 66, 73, 66, 74}},
    {8, true, {81, 76, 75, 85, 89, 77, 76, 87}},   {10, false, {61, 69, 73, 85, 73, 74, 72, 85}},
    {12, false, {73, 77, 77, 84, 77, 77, 80, 85}}, {14, false, {67, 74, 73, 84, 77, 79, 71, 85}},
    {16, true, {82, 80, 81, 84, 89, 84, 82, 89}},  {18, false, {71, 75, 72, 83, 77, 76, 79, 83}},
    {20, false, {72, 76, 80, 84, 75, 81, 80, 84}}, {24, false, {76, 79, 80, 82, 82, 82, 82, 82}},
    {30, false, {75, 76, 81, 81, 79, 81, 79, 81}},
};

constexpr Measured kAverage27[] = {
    {4, false, {42, 55, 53, 57, 51, 57, 55, 60}},  {6, false, {48, 56, 52, 56, 55, 53, 52, 56}},
    {8, false, {60, 65, 64, 65, 63, 64, 67, 65}},  {10, false, {60, 67, 65, 68, 66, 66, 69, 68}},
    {12, false, {66, 70, 71, 67, 65, 70, 68, 63}}, {14, false, {63, 70, 65, 69, 69, 66, 64, 67}},
    {16, false, {71, 74, 73, 75, 74, 72, 76, 73}}, {18, false, {68, 73, 72, 77, 68, 72, 70, 74}},
    {20, false, {71, 76, 74, 77, 75, 75, 76, 76}}, {24, false, {76, 78, 80, 76, 74, 80, 77, 71}},
};

/// What one lane has less where levels meet: faces across x are read a sector a cell.
constexpr int kOneLaneLoss = 5;

/// The row of the nearest edge; of two as near the first.
LaneSpeeds nearest(std::span<const Measured> rows, const std::array<int, 3>& cells) {
  const double edge = std::cbrt(double(cells[0]) * cells[1] * cells[2]);
  const bool cube = cells[0] == cells[1] && cells[1] == cells[2];
  const Measured* best = &rows.front();
  for (const Measured& row : rows) {
    const bool serves = !row.special || (cube && cells[0] == row.edge);
    if (serves && std::abs(row.edge - edge) < std::abs(best->edge - edge)) best = &row;
  }
  LaneSpeeds speeds = best->speeds;
  speeds[0] -= kOneLaneLoss;
  return speeds;
}

}  // namespace

LaneSpeeds average7_lane_speeds(const std::array<int, 3>& cells) {
  return nearest(kAverage7, cells);
}

LaneSpeeds average27_lane_speeds(const std::array<int, 3>& cells) {
  return nearest(kAverage27, cells);
}

}  // namespace amrbench::kernels
