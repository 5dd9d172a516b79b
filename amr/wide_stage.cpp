#include "amr/wide_stage.hpp"

#include <omp.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "kernels/stage_sum.hpp"

namespace amrbench::amr {

namespace {
/// Values of a block that a second-level cache keeps beside the one that is computed.
constexpr std::size_t kMostFetched = std::size_t{1} << 15;
}  // namespace

/// A thread's work space, and its sums while a summing stage runs.
struct WideStage::Scratch {
  support::PageBuffer<double> values, tile, staging;
  std::vector<kernels::Surroundings> ring;
  std::vector<std::int32_t> octets, singles;  ///< of a group, by first block
  std::optional<kernels::StageSum> sum;
};

kernels::TileLayout wide_tile_layout(WideStencil stencil, const kernels::BlockLayout& layout) {
  return stencil == WideStencil::mixed ? kernels::make_tile_layout_by_variable(layout)
                                       : kernels::make_tile_layout(layout);
}

int wide_conserved_variables(WideStencil stencil, const kernels::BlockLayout& layout, bool mesh_is_uniform) {
  if (stencil == WideStencil::mixed) return 1;
  return mesh_is_uniform ? layout.variables : 0;
}

WideStage::WideStage(WideStencil stencil, const kernels::BlockLayout& layout, const StageOptions& options)
    : stencil_(stencil),
      options_(options),
      layout_(layout),
      kernel_(kernels::select_average27(layout)),
      octet_kernel_(kernels::select_average27_octet(layout, first_level_bytes())),
      tile_(wide_tile_layout(stencil, layout)),
      constants_(kernels::mixed_constants(layout.variables)),
      halo_(layout),
      passes_(layout),
      stores_(options.stores, stencil == WideStencil::mixed ? static_cast<int>(pieces_.size()) : 1) {
  for (std::size_t stage = 0; stage < pieces_.size(); ++stage)
    for (int chunk = 0; chunk < layout.chunks; ++chunk)
      pieces_[stage].push_back(kernels::mixed_pieces(layout, static_cast<std::int64_t>(stage), chunk));
}

WideStage::~WideStage() = default;

void WideStage::mesh_changed(const Mesh<3>& mesh) {
  halo_.rebuild(mesh);
  all_.resize(static_cast<std::size_t>(mesh.size()));
  std::iota(all_.begin(), all_.end(), 0);
  if (stencil_ == WideStencil::average27 && octet_kernel_.scratch > 0) {
    octets_.rebuild(mesh);
    octets_.find_pieces(halo_.sources().sources());
  }
  rounds_ = work_rounds(mesh, options_.work);
  block_seconds_.assign(measures_ ? all_.size() : 0, 0.0);
  stores_.mesh_changed(thread_bytes(layout_, all_.size()));
}

/// Do `blocks` begin with an octet?
bool WideStage::is_octet(std::span<const std::int32_t> blocks) const {
  return blocks.size() >= 8 && blocks[7] == blocks[0] + 7 && octets_.begins(blocks[0]);
}

/// How many of `blocks` are a group: as many as fit, but no part of an octet.
std::size_t WideStage::group_size(std::span<const std::int32_t> blocks) const {
  std::size_t size = 0;
  while (size < blocks.size()) {
    const std::size_t more = is_octet(blocks.subspan(size)) ? 8 : 1;
    if (size > 0 && size + more > passes_.blocks) break;
    size += more;
  }
  return size;
}

/// scratch.octets, in the order of passes; the group begins with block `group`.
void WideStage::average_octets(FieldStore& fields, std::int32_t group, bool summing, Scratch& scratch) const {
  const std::span<const std::int32_t> octets = scratch.octets;
  const kernels::BlockLayout& l = layout_;
  const auto kernel = summing ? octet_kernel_.summing : octet_kernel_.plain;
  std::array<kernels::Octet, 2> ring;
  const auto find = [&](std::size_t k) {
    halo_.find_around(octets_.sources(octets[k]), {group, octets[k] + 8}, ring[k % 2]);
  };
  for (int chunk = 0; chunk < l.chunks; chunk += passes_.chunks) {
    find(0);
    for (std::size_t k = 0; k < octets.size(); ++k) {
      const bool more = k + 1 < octets.size();
      if (more) find(k + 1);
      kernels::Average27OctetArgs args{
          &ring[k % 2], &ring[(more ? k + 1 : k) % 2], {}, chunk, std::min(chunk + passes_.chunks, l.chunks),
          streaming_};
      const Octets::Sources& sources = octets_.sources(octets[k]);
      for (int b = 0; b < 8; ++b)
        args.out[b] = fields.output(sources[kernels::Octet::index(1 + b % 2, 1 + b / 2 % 2, 1 + b / 4)].index);
      kernel(l, args, scratch.values.data(), summing ? scratch.sum->raw(0) : nullptr,
             summing ? scratch.sum->magic() : kernels::SumMagic{});
    }
  }
}

/// scratch.singles, in the order of passes; the group begins with block `group`.
void WideStage::average_singles(FieldStore& fields, std::int32_t group, bool summing, Scratch& scratch) const {
  const std::span<const std::int32_t> blocks = scratch.singles;
  const kernels::BlockLayout& l = layout_;
  const auto kernel = summing ? kernel_.summing : kernel_.plain;
  // What lies around the blocks from that which is computed to that which is fetched.
  std::vector<kernels::Surroundings>& ring = scratch.ring;
  ring.resize(passes_.ahead + 1);
  for (int chunk = 0; chunk < l.chunks; chunk += passes_.chunks) {
    kernels::Average27Args args;
    args.first = chunk;
    args.last = std::min(chunk + passes_.chunks, l.chunks);
    args.streams = streaming_;
    std::size_t far = 0;
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      for (; far < blocks.size() && far <= k + passes_.ahead; ++far)
        // Blocks before it in the group are in the cache, the next few will be when it is computed.
        halo_.find_around(blocks[far], 0, 27, {group, blocks[far] + static_cast<std::int32_t>(passes_.ahead)},
                          ring[far % ring.size()]);
      args.around = &ring[k % ring.size()];
      args.next = &ring[(far - 1) % ring.size()];
      args.out = fields.output(blocks[k]);
      kernel(l, args, summing ? scratch.sum->raw(0) : nullptr, summing ? scratch.sum->magic() : kernels::SumMagic{});
    }
  }
}

void WideStage::average_group(FieldStore& fields, std::span<const std::int32_t> blocks, bool summing,
                              Scratch& scratch) const {
  if (summing) scratch.sum->reserve(blocks.size() * layout_.block_cells());
  scratch.octets.clear();
  scratch.singles.clear();
  for (std::size_t k = 0; k < blocks.size();) {
    const bool octet = is_octet(blocks.subspan(k));
    (octet ? scratch.octets : scratch.singles).push_back(blocks[k]);
    k += octet ? 8 : 1;
  }
  if (!scratch.octets.empty()) average_octets(fields, blocks.front(), summing, scratch);
  average_singles(fields, blocks.front(), summing, scratch);
}

void WideStage::mix_block(FieldStore& fields, std::int64_t stage, std::int32_t i, const kernels::Surroundings& around,
                          const kernels::Surroundings& next, Scratch& scratch) const {
  const bool swapped = kernels::mixed_swaps_axes(stage);
  kernels::TileLayout layout = tile_;
  if (swapped) std::swap(layout.block.cells[0], layout.block.cells[1]);
  kernels::PieceSteps steps = kernels::piece_steps(layout);
  if (swapped) std::swap(steps.cell[0], steps.cell[1]);
  kernels::CellBox all{{-1, -1, -1}, layout_.cells};
  for (int& high : all.high) ++high;
  double* const tile = scratch.tile.data();
  kernels::gather_cells(layout_, around, all, steps, layout.lanes, tile, &next, pieces_[std::size_t(stage % 6)].data());
  if (!streaming_ && layout_.block_values() <= kMostFetched)  // stores that find their lines do not wait for them
    for (std::size_t k = 0; k < layout_.block_values(); k += 8) __builtin_prefetch(fields.output(i) + k, 1, 2);
  kernels::advance_mixed(layout, constants_, stage, swapped, tile, scratch.values.data());
  kernels::store_tile(tile_, tile, steps, fields.output(i), streaming_ ? scratch.staging.data() : nullptr);
}

void WideStage::run_group(FieldStore& fields, std::int64_t stage, std::span<const std::int32_t> blocks, bool summing,
                          Scratch& scratch) const {
  if (stencil_ == WideStencil::average27) return average_group(fields, blocks, summing, scratch);
  scratch.ring.resize(2);
  scratch.ring[0] = halo_.around(blocks.front());
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    const kernels::Surroundings& around = scratch.ring[k % 2];
    kernels::Surroundings& next = scratch.ring[(k + 1) % 2];
    next = k + 1 < blocks.size() ? halo_.around(blocks[k + 1]) : around;
    mix_block(fields, stage, blocks[k], around, next, scratch);
    if (summing) kernels::sum_block(layout_, fields.output(blocks[k]), *scratch.sum);
  }
}

void WideStage::compute(FieldStore& fields, std::int64_t stage, std::span<const std::int32_t> blocks, bool summing) {
#pragma omp parallel
  {
    const std::size_t threads = omp_get_num_threads(), me = omp_get_thread_num();
    const std::size_t begin = blocks.size() * me / threads, end = blocks.size() * (me + 1) / threads;
    for (std::size_t k = begin; k < end;) {
      const auto group = blocks.subspan(k, group_size(blocks.subspan(k, end - k)));
      k += group.size();
      const double start = measures_ ? support::Metrics::steady_seconds() : 0.0;
      run_group(fields, stage, group, summing, *scratch_[me]);
      if (!measures_) continue;
      const double each = (support::Metrics::steady_seconds() - start) / static_cast<double>(group.size());
      for (const std::int32_t i : group) block_seconds_[i] += each;
    }
    if (streaming_) kernels::stream_fence();
  }
}

void WideStage::advance(const Mesh<3>& mesh, Fields& fields_of_run, std::int64_t stage,
                        const support::FixedPointScale* scale, support::Metrics& metrics) {
  FieldStore& fields = host_fields(fields_of_run);
  const bool summing = scale != nullptr, mixed = stencil_ == WideStencil::mixed;
  while (scratch_.size() < std::size_t(omp_get_max_threads())) {
    scratch_.push_back(std::make_unique<Scratch>());
    scratch_.back()->values.grow((mixed ? kernels::mixed_scratch(tile_) : octet_kernel_.scratch) + kernels::kPadding);
    if (!mixed) continue;
    scratch_.back()->tile.grow(tile_.values() + kernels::kPadding);
    scratch_.back()->staging.grow(kernels::store_staging(layout_));
  }
  if (summing) {
    const int patterns = kernels::block_sum_patterns(layout_.lanes);
    for (auto& scratch : scratch_) scratch->sum.emplace(layout_, kernels::kBlockSumLength, patterns, *scale);
  }
  fields.prepare_output();
  {
    support::PhaseTimer timer(metrics, support::Phase::halo);
    count_wait(metrics, halo_.exchange(mesh, fields, options_.overlap));
  }
  {
    support::PhaseTimer timer(metrics, support::Phase::stencil);
    streaming_ = stores_.streams();
    const double start = support::Metrics::steady_seconds();
    // Artificial work first: it writes the same results without sums.
    for (const WorkRound& round : rounds_)
      for (int again = 0; again < round.times; ++again) compute(fields, stage, round.blocks, false);
    compute(fields, stage, all_, summing);
    stores_.took(support::Metrics::steady_seconds() - start);
  }
  fields.swap_buffers();
}

std::vector<support::FixedPointSum> WideStage::sums() {
  std::vector<support::FixedPointSum> totals = scratch_.at(0)->sum.value().totals();
  for (std::size_t t = 1; t < scratch_.size(); ++t) {
    const auto& more = scratch_[t]->sum->totals();
    for (std::size_t v = 0; v < totals.size(); ++v) totals[v].merge(more[v]);
  }
  return totals;
}

HaloSize WideStage::halo_size() const {
  return halo_.size();
}

std::size_t WideStage::memory_bytes() const {
  std::size_t bytes = halo_.memory_bytes() + octets_.memory_bytes() + all_.capacity() * sizeof(std::int32_t);
  for (const auto& scratch : scratch_)
    bytes += scratch->values.bytes() + scratch->tile.bytes() + scratch->staging.bytes();
  return bytes;
}

}  // namespace amrbench::amr
