#pragma once
// One result of miniAMR to be met.
#include <cstdint>
#include <vector>

namespace amrbench::amr::checks {

/// ones: 1 everywhere. hash: a hash of the global cell of the root grid and the variable (hash_value in the test).
enum class Initial { ones, hash };

/// Options that stand before `options`; common: kCommonOptions.
enum class Defaults { none, common };

inline constexpr const char* kCommonOptions =
    "--nx 4 --ny 4 --nz 4 --num_vars 1 --stages_per_ts 5 --npx 1 --npy 1 --npz 1 --init_x 2 --init_y 2 --init_z 2 ";

struct FieldFigures {
  double sum, squares, min, max;
};

struct MiniamrCase {
  const char* name;
  Initial initial;
  Defaults defaults;
  const char* options;
  std::int64_t steps;
  double time;                             ///< simulated
  std::int64_t split, merged;              ///< blocks split, families merged
  std::int64_t block_stages;               ///< blocks present, summed over stages
  std::int64_t blocks_least, blocks_most;  ///< over stages and after refinements
  std::vector<std::int64_t> levels;        ///< blocks at the end, by level
  std::uint64_t mesh;                      ///< sum over blocks of a hash of level and position, at the end
  std::uint64_t history;                   ///< the same of the meshes after every refinement, chained
  std::vector<FieldFigures> fields;        ///< one a variable, at the end
};

}  // namespace amrbench::amr::checks
