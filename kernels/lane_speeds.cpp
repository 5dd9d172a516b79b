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

// The kernel alone; whole runs of 27 points below.
constexpr Measured kAverage7[] = {
    {4, false, {71, 79, 71, 81, 72, 81, 74, 88}},  {6, false, {76, 85, 82, 87, 83, 87, 82, 88}},
    {8, true, {85, 82, 85, 86, 91, 86, 90, 88}},   {10, false, {81, 86, 82, 87, 85, 85, 85, 88}},
    {12, false, {83, 87, 87, 87, 86, 89, 87, 88}}, {14, false, {82, 87, 82, 87, 85, 88, 86, 88}},
    {16, true, {86, 82, 84, 86, 91, 84, 87, 90}},  {18, false, {80, 83, 82, 86, 84, 84, 84, 86}},
    {20, false, {81, 83, 84, 86, 84, 86, 85, 87}}, {22, false, {76, 83, 83, 85, 84, 85, 83, 85}},
    {24, false, {79, 83, 84, 85, 86, 84, 87, 84}}, {26, false, {76, 83, 83, 85, 83, 82, 83, 85}},
    {28, false, {80, 84, 85, 86, 85, 86, 85, 85}}, {30, false, {76, 82, 83, 84, 83, 83, 83, 84}},
    {32, false, {80, 82, 84, 84, 85, 83, 85, 84}},
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
