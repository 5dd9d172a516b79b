#include "amr/checkpoint/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <utility>

#include "amr/checkpoint/block_batches.hpp"
#include "support/error.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::amr {

namespace {

using Json = nlohmann::ordered_json;

/// `ranks`: blocks of each rank, as they follow each other in the part.
Json part_to_json(const PartInfo& part, const std::vector<std::int64_t>& ranks) {
  return {{"blocks", part.blocks},
          {"ranks", ranks},
          {"bytes", part.bytes},
          {"values_begin", part.values_begin},
          {"frame_xxh3", fmt::format("{:016x}", part.frame)}};
}

PartInfo part_from(const Json& json) {
  PartInfo part;
  part.blocks = whole_number(json.at("blocks"), 0, std::numeric_limits<std::int32_t>::max());
  part.bytes = whole_number(json.at("bytes"));
  part.values_begin = whole_number(json.at("values_begin"));
  const auto digits = json.at("frame_xxh3").get<std::string>();
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), part.frame, 16);
  if (error != std::errc{} || end != digits.data() + digits.size()) throw std::runtime_error("no digest");
  return part;
}

Json layout_to_json(const kernels::BlockLayout& l) {
  return {{"cells", l.cells}, {"variables", l.variables}, {"lanes", l.lanes}, {"chunks", l.chunks}};
}

/// What `work` throws when a checkpoint is damaged, as text.
template <class Work>
std::string damage_of(Work&& work) {
  try {
    work();
    return {};
  } catch (const DamagedError& error) {
    return error.what();
  }
}

/// The lowest rank's damage, on all. Collective.
void agree_on_damage(const support::Communicator& comm, const std::string& damage) {
  const int none = comm.size();
  const int first = -support::all_max(comm, damage.empty() ? -none : -comm.rank());
  if (first != none) throw DamagedError(support::broadcast_string(comm, damage, first));
}

template <int Dim>
Key key_of(const Place& place, const sfc::KeySpace<Dim>& space) {
  const int level = static_cast<int>(std::min<std::uint32_t>(place.level, 64));
  sfc::Coord<Dim> coord;
  for (int d = 0; d < Dim; ++d) coord[d] = place.coord[static_cast<std::size_t>(d)];
  if (level > space.max_level() || !space.contains(level, coord) || (Dim == 2 && place.coord[2] != 0))
    throw DamagedError("a block lies outside the mesh");
  return space.key(level, coord);
}

}  // namespace

// ---- Writing --------------------------------------------------------------------------------------------------------

CheckpointWriter::CheckpointWriter(const support::Communicator& comm, std::filesystem::path folder,
                                   std::optional<std::int64_t> good, int group)
    : comm_(comm),
      group_size_(group > 0 ? group : (comm.size() + kMostParts - 1) / kMostParts),
      folder_(std::move(folder)),
      before_(good.value_or(-1)) {
  if (group_size_ > 1) group_ = comm.split(comm.rank() / group_size_);
  if (comm.is_root()) {
    const std::vector<std::int64_t> there = list_slots(folder_);
    next_ = there.empty() ? 1 : there.back() + 1;
  }
  next_ = support::broadcast(comm, next_);
}

template <int Dim>
std::int64_t CheckpointWriter::save(const Mesh<Dim>& mesh, const Fields& fields, const RunState& state,
                                    const Json& more) {
  std::int64_t bytes = 0;
  try {
    write_slot(mesh, fields, state, more, bytes);
  } catch (const support::RunError&) {
    std::error_code ignored;
    if (comm_.is_root()) std::filesystem::remove_all(slot_folder(folder_, next_), ignored);
    throw;
  }
  before_ = std::exchange(next_, next_ + 1);
  return bytes;
}

template <int Dim>
void CheckpointWriter::write_slot(const Mesh<Dim>& mesh, const Fields& fields, const RunState& state, const Json& more,
                                  std::int64_t& bytes) {
  const std::filesystem::path slot = slot_folder(folder_, next_);
  support::run_on_root(comm_, [&] { make_slot(folder_, next_); });
  PartInfo part;
  support::agree_on_error(comm_, support::failure_of([&] {
                            part = write_part(part_file(slot, comm_.rank() / group_size_), mesh, fields, group_);
                          }));
  const std::vector<PartInfo> parts = support::all_gather(comm_, part);  // of the first rank of each group
  const std::vector<std::int64_t> blocks = support::all_gather(comm_, std::int64_t{mesh.size()});
  const auto ranks = static_cast<std::size_t>(comm_.size()), size = static_cast<std::size_t>(group_size_);
  support::run_on_root(comm_, [&] {
    Json manifest = {{"program", "amrbench"}, {"format", kCheckpointFormat}, {"step", state.totals.steps}};
    manifest["layout"] = layout_to_json(fields.layout());
    manifest["parts"] = Json::array();
    for (std::size_t first = 0; first < ranks; first += size) {
      const auto begin = blocks.begin() + std::ptrdiff_t(first);
      manifest["parts"].push_back(
          part_to_json(parts[first], {begin, begin + std::ptrdiff_t(std::min(size, ranks - first))}));
    }
    manifest["state"] = to_json(state);
    manifest.update(more);
    write_manifest(slot, manifest.dump(1, ' ', false, Json::error_handler_t::replace));
    write_last_good(folder_, next_);
    keep_slots(folder_, next_, before_);
  });
  for (std::size_t first = 0; first < ranks; first += size) bytes += parts[first].bytes;
}

// ---- Reading --------------------------------------------------------------------------------------------------------

Checkpoint::Checkpoint(const support::Communicator& comm, std::filesystem::path slot) : slot_(std::move(slot)) {
  std::string text;
  agree_on_damage(comm, damage_of([&] {
                    if (comm.is_root()) text = read_manifest(slot_);
                  }));
  text = support::broadcast_string(comm, text);
  try {
    manifest_ = Json::parse(text);
    const std::int64_t format = whole_number(manifest_.at("format"));
    if (format != kCheckpointFormat)
      throw support::InputError(fmt::format("checkpoint {}: format {}; this version of the program reads format {}",
                                            slot_.string(), format, kCheckpointFormat));
    read_parts(manifest_);
    state_ = run_state_from_json(manifest_.at("state"));
  } catch (const support::InputError&) {
    throw;
  } catch (const std::exception&) {
    // Its digest is right, so that it was written like this: by no version of this program.
    throw DamagedError("manifest.json: it does not hold what a manifest holds");
  }
}

void Checkpoint::read_parts(const Json& manifest) {
  const Json& layout = manifest.at("layout");
  constexpr int kMostVariables = 65536;
  std::array<int, 3> cells{};
  for (std::size_t d = 0; d < 3; ++d)
    cells[d] = static_cast<int>(whole_number(layout.at("cells").at(d), 1, kernels::kMaxBlockEdge));
  const auto variables = static_cast<int>(whole_number(layout.at("variables"), 1, kMostVariables));
  const auto lanes = static_cast<int>(whole_number(layout.at("lanes"), 1, kernels::kMaxLanes));
  layout_ = {cells, variables, lanes, (variables + lanes - 1) / lanes};
  if (layout_.chunks != whole_number(layout.at("chunks"))) throw std::runtime_error("values of other chunks");
  for (const Json& part : manifest.at("parts")) {
    parts_.push_back(part_from(part));
    std::int64_t left = parts_.back().blocks, at = 0;
    for (const Json& of_rank : part.value("ranks", Json::array({left}))) {  // a rank's own file says no more
      const std::int64_t count = whole_number(of_rank, 0, left);
      ranks_.push_back({parts_.size() - 1, at, count});
      at += count;
      left -= count;
    }
    if (left != 0) throw std::runtime_error("blocks of no rank");
    blocks_ += parts_.back().blocks;
  }
  if (parts_.empty() || blocks_ == 0) throw std::runtime_error("no blocks");
}

std::vector<Checkpoint::Stretch> Checkpoint::share(int rank, int ranks) const {
  if (ranks == this->ranks()) return {ranks_[std::size_t(rank)]};
  const std::int64_t begin = blocks_ * rank / ranks, end = blocks_ * (rank + 1) / ranks;
  std::vector<Stretch> stretches;
  std::int64_t at = 0;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const std::int64_t first = std::max(begin, at), last = std::min(end, at + parts_[p].blocks);
    if (first < last) stretches.push_back({p, first - at, last - first});
    at += parts_[p].blocks;
  }
  return stretches;
}

template <int Dim>
void Checkpoint::verify(const support::Communicator& comm, const sfc::KeySpace<Dim>& space) const {
  const std::size_t values = layout_.block_values();
  const std::int64_t batch = checkpoint_batch(layout_);
  // In cells of the deepest level: the blocks must fill the domain, exactly once by their number and place. Where one
  // is twice there, the mesh will miss another and say so.
  std::int64_t domain = std::int64_t{1} << (Dim * space.max_level());
  for (const std::uint32_t extent : space.root()) domain *= extent;
  std::int64_t volume = 0;
  agree_on_damage(comm, damage_of([&] {
                    support::PageBuffer<double> buffer;
                    for (const Stretch& stretch : share(comm.rank(), comm.size())) {
                      const PartReader part(part_file(slot_, std::int64_t(stretch.part)), parts_[stretch.part],
                                            layout_);
                      const std::int64_t end = stretch.first + stretch.count;
                      for (std::int64_t i = stretch.first; i < end; ++i) {
                        const Key key = key_of(part.places()[std::size_t(i)], space);
                        volume += std::int64_t{1} << (Dim * (space.max_level() - space.level(key)));
                        if (volume > domain) throw DamagedError("its blocks are more than the domain");
                      }
                      // The reader has found that the file is as large as it is said to be.
                      buffer.resize_discard(std::size_t(std::min(batch, stretch.count)) * values);
                      for (std::int64_t i = stretch.first; i < end; i += batch)
                        part.read_values(i, std::min(batch, end - i), buffer.data());
                    }
                  }));
  if (support::all_sum(comm, volume) != domain) throw DamagedError("its blocks do not fill the domain");
}

template <int Dim>
Restart Checkpoint::restart(const support::Communicator& comm, const sfc::KeySpace<Dim>& space) const {
  Restart restart;
  restart.state = state_;
  restart.is_placed = comm.size() == ranks();
  const std::vector<Stretch> stretches = share(comm.rank(), comm.size());
  std::vector<Key> keys;
  std::vector<double> weights;
  for (const Stretch& stretch : stretches) {
    const PartReader part(part_file(slot_, std::int64_t(stretch.part)), parts_[stretch.part], layout_);
    for (std::int64_t i = stretch.first; i < stretch.first + stretch.count; ++i) {
      keys.push_back(key_of(part.places()[std::size_t(i)], space));
      weights.push_back(part.weights()[std::size_t(i)]);
    }
  }
  // The order of another curve, or parts that are no stretches of it.
  std::vector<std::int32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return keys[a] < keys[b]; });
  std::vector<std::int32_t> place(keys.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[std::size_t(order[i])] = static_cast<std::int32_t>(i);
    restart.keys.push_back(keys[std::size_t(order[i])]);
    restart.weights.push_back(weights[std::size_t(order[i])]);
  }
  restart.fill = [this, stretches, place](Fields& fields) { fill(fields, stretches, place); };
  return restart;
}

/// Block k of the stretches, one after another, is block place[k] of the fields.
void Checkpoint::fill(Fields& fields, std::span<const Stretch> stretches, std::span<const std::int32_t> place) const {
  const std::size_t values = layout_.block_values();
  const std::int64_t batch = checkpoint_batch(layout_);
  const kernels::BlockLayout& to = fields.layout();
  support::PageBuffer<double> buffer, changed;
  std::size_t done = 0;
  for (const Stretch& stretch : stretches) {
    const PartReader part(part_file(slot_, std::int64_t(stretch.part)), parts_[stretch.part], layout_);
    buffer.resize_discard(std::size_t(std::min(batch, stretch.count)) * values);
    const std::int64_t end = stretch.first + stretch.count;
    for (std::int64_t i = stretch.first; i < end; i += batch) {
      const std::int64_t count = std::min(batch, end - i);
      part.read_values(i, count, buffer.data());
      const double* blocks = buffer.data();
      if (to.lanes != layout_.lanes) {  // written by another back end
        changed.grow(std::size_t(count) * to.block_values());
        for (std::size_t k = 0; k < std::size_t(count); ++k)
          kernels::change_layout(layout_, buffer.data() + k * values, to, changed.data() + k * to.block_values());
        blocks = changed.data();
      }
      for (std::int64_t k = 0, run = 1; k < count; k += run, done += std::size_t(run)) {
        // Blocks that follow each other here and there.
        for (run = 1; k + run < count && place[done + std::size_t(run)] == place[done] + run;) ++run;
        fields.write(place[done], static_cast<std::int32_t>(run), blocks + std::size_t(k) * to.block_values());
      }
    }
  }
}

template std::int64_t CheckpointWriter::save(const Mesh<2>&, const Fields&, const RunState&, const Json&);
template std::int64_t CheckpointWriter::save(const Mesh<3>&, const Fields&, const RunState&, const Json&);
template void Checkpoint::verify(const support::Communicator&, const sfc::KeySpace<2>&) const;
template void Checkpoint::verify(const support::Communicator&, const sfc::KeySpace<3>&) const;
template Restart Checkpoint::restart(const support::Communicator&, const sfc::KeySpace<2>&) const;
template Restart Checkpoint::restart(const support::Communicator&, const sfc::KeySpace<3>&) const;

}  // namespace amrbench::amr
