#pragma once
// Trace: which blocks a run split and merged, refinement by refinement, in a file (docs/trace-format.md).
//
// A trace holds what the workload determines and no strategy changes: the grid, the changes of each pass of each
// refinement, and what blocks cost where the workload tells that. Whoever follows it from the root cells has every mesh
// of the run. Blocks are named by level and Morton code of their coordinates, whatever curve the run used, so one trace
// serves every partitioner and every number of ranks. scripts/amrbench_trace.py reads it too.
//
// File: the line "amrbench-trace 2", a line of JSON (TraceHeader), then frames: a letter (R refinement, E end), the
// bytes of the payload before and after compression and the CRC-32 of the compressed one (32 bits each, low byte
// first), and the payload, compressed by zlib. Payload of R: step, stages, passes; of each pass and level the number of
// blocks that split, their codes, the number of families that merge, their parents' codes; costs of the blocks before
// the passes and after them (CostRuns): the number of runs, of each its blocks and its cost (64 bits, low byte first).
// All others are variable-length numbers (7 bits a byte, low ones first, the top bit set while more follow); codes
// ascend and are written as differences to the one before. Payload of E: steps, stages, refinements. Version 1 is read
// too: it has three dimensions and no costs.
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "amr/config.hpp"
#include "amr/halo_shape.hpp"
#include "kernels/layout.hpp"

namespace amrbench::loadbalance {

/// What all refinements of a trace have in common.
struct TraceHeader {
  std::array<int, 3> root{1, 1, 1};        ///< root cells a direction
  int max_level = 0;                       ///< deepest level
  std::array<int, 3> block{8, 8, 8};       ///< cells of a block a direction
  int variables = 1;                       ///< values of a cell
  std::int64_t steps = 0;                  ///< there will be, or 0: not known beforehand
  std::string name;                        ///< of the run
  std::vector<amr::WorkConfig> work = {};  ///< artificial work, in 3-D
  int dim = 3;                             ///< of the mesh; in 2-D root and block are 1 along the third axis
  amr::HaloShape halo = {};                ///< what a stage exchanges
  std::array<bool, 3> periodic{};          ///< directions in which the domain closes on itself
  /// As the CPU back end stores blocks: some numbers of variables are padded.
  [[nodiscard]] kernels::BlockLayout layout() const { return kernels::make_layout(block, variables); }
  /// Bytes that a block's values and its entry take in a message.
  [[nodiscard]] std::int64_t block_bytes() const;
};

/// Codes of blocks by level: Morton codes of coordinates at that level, x in the lowest bit. Ascending.
using LevelCodes = std::vector<std::vector<std::uint64_t>>;

struct TracePass {
  LevelCodes splits;  ///< blocks that become eight, in 2-D four
  LevelCodes merges;  ///< parents that as many become
};

/// What blocks cost in a stage, beside one that is computed (1): in order of levels, then codes, so many alike, and
/// their cost. Empty: all cost 1.
using CostRuns = std::vector<std::pair<std::uint64_t, double>>;

struct TraceRefinement {
  std::int64_t step = 0;    ///< steps done
  std::int64_t stages = 0;  ///< stages done
  std::vector<TracePass> passes;
  CostRuns costs = {};        ///< of the blocks before the passes, at this time
  CostRuns costs_after = {};  ///< and of those after them, where there are any
};

/// Writes a trace beside its name; it gets the name when it is whole. RunError names the file that cannot be written.
class TraceWriter {
 public:
  TraceWriter(std::filesystem::path file, const TraceHeader& header);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  void write(const TraceRefinement& refinement);
  /// The run is over, after so many steps and stages.
  void finish(std::int64_t steps, std::int64_t stages);

 private:
  void frame(char kind, const std::string& payload);
  std::filesystem::path file_, unfinished_;
  std::ofstream out_;
  std::int64_t refinements_ = 0;
};

/// Reads a trace front to back. InputError names the file and what is wrong with it; sizes are checked before memory is
/// taken.
class TraceReader {
 public:
  explicit TraceReader(std::filesystem::path file);
  [[nodiscard]] const TraceHeader& header() const { return header_; }
  /// The next refinement; false at the end, whose steps and stages are then known.
  bool next(TraceRefinement& refinement);
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] std::int64_t stages() const { return stages_; }

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  void read_header();
  bool read_frame(char& kind, std::string& payload);
  std::filesystem::path file_;
  std::ifstream in_;
  std::uint64_t left_ = 0;  ///< bytes of the file that are still to come
  bool has_costs_ = false;  ///< has its version?
  TraceHeader header_;
  std::int64_t refinements_ = 0, steps_ = 0, stages_ = 0;
};

}  // namespace amrbench::loadbalance
