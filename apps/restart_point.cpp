#include "apps/restart_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "apps/config_check.hpp"
#include "apps/config_schema.hpp"
#include "apps/config_toml.hpp"
#include "loadbalance/placement.hpp"
#include "support/error.hpp"

namespace amrbench::apps {

namespace {

namespace fs = std::filesystem;
using support::InputError;

/// What may differ without a bit of the answer: tables, and keys of [run].
constexpr std::string_view kFreeTables[] = {"partition", "balance", "device", "output"};
constexpr std::string_view kFreeKeys[] = {"name", "steps", "checksum_every", "tolerance", "overlap"};

bool is_free(std::string_view table, std::string_view key, const Config& config) {
  if (std::ranges::find(kFreeTables, table) != std::end(kFreeTables)) return true;
  if (key == "steps" && config.run.time > 0.0) return false;  // they say how long a step is
  return table == "run" && std::ranges::find(kFreeKeys, key) != std::end(kFreeKeys);
}

/// A slot, verified. Throws amr::DamagedError, support::InputError. Collective.
RestartPoint open_slot(const support::Communicator& comm, const fs::path& slot) {
  RestartPoint point;
  auto checkpoint = std::make_shared<amr::Checkpoint>(comm, slot);
  const std::string name = (slot / "manifest.json").string();
  try {
    point.config = parse_toml(checkpoint->manifest().at("config").get<std::string>(), name);
  } catch (const nlohmann::json::exception&) {
    throw InputError(fmt::format("checkpoint {}: its manifest holds no configuration", slot.string()));
  }
  const auto& state = checkpoint->state();
  const auto variables = static_cast<std::size_t>(point.config.fields.variables);
  const kernels::BlockLayout layout = kernels::make_layout(point.config.mesh.block, point.config.fields.variables);
  if (state.objects.size() != point.config.objects.size() || state.check.baseline.size() != variables ||
      checkpoint->layout().cells != layout.cells || checkpoint->layout().variables != layout.variables)
    throw InputError(fmt::format("checkpoint {}: its manifest contradicts its configuration", slot.string()));
  // The curve of a large grid takes memory before a block is looked at; every root cell holds a block at least.
  const auto& root = point.config.mesh.root;
  if (static_cast<double>(root[0]) * root[1] * root[2] > static_cast<double>(checkpoint->blocks()))
    throw InputError(fmt::format("checkpoint {}: fewer blocks than mesh.root has cells", slot.string()));
  if (point.config.mesh.dim == 2) {
    checkpoint->verify(comm, loadbalance::make_key_space<2>(point.config.mesh, point.config.partition));
  } else {
    checkpoint->verify(comm, loadbalance::make_key_space<3>(point.config.mesh, point.config.partition));
  }
  point.checkpoint = std::move(checkpoint);
  const fs::path folder = fs::path(slot).parent_path();
  if (folder.filename() == amr::kCheckpointFolder) point.result_folder = folder.parent_path();
  return point;
}

/// What rank 0 sees of a folder.
struct Listing {
  std::vector<std::int64_t> slots;  ///< that count, ascending
  std::string note;                 ///< empty, or what is wrong with last-good
};

Listing list_good(const fs::path& folder) {
  Listing listing;
  listing.slots = amr::list_slots(folder);
  if (listing.slots.empty()) return listing;
  try {
    // Newer ones were not complete when their run ended.
    std::erase_if(listing.slots, [last = amr::read_last_good(folder)](std::int64_t slot) { return slot > last; });
  } catch (const amr::DamagedError& error) {
    listing.note =
        fmt::format("checkpoint {}: {}; all slots are tried, the newest first", folder.string(), error.what());
  }
  return listing;
}

/// The newest good slot of a folder of slots, or none. Collective.
std::optional<RestartPoint> newest_good(const support::Communicator& comm, const fs::path& folder,
                                        std::vector<std::string>& notes) {
  Listing listing;
  if (comm.is_root()) listing = list_good(folder);
  listing.note = support::broadcast_string(comm, listing.note);
  if (!listing.note.empty()) notes.push_back(listing.note);
  auto left = support::broadcast(comm, static_cast<std::int64_t>(listing.slots.size()));
  for (; left > 0; --left) {
    const auto number = support::broadcast(comm, comm.is_root() ? listing.slots[std::size_t(left) - 1] : 0);
    const fs::path slot = amr::slot_folder(folder, number);
    try {
      return open_slot(comm, slot);
    } catch (const amr::DamagedError& error) {
      notes.push_back(
          fmt::format("checkpoint {} is damaged ({}); the one before it is tried", slot.string(), error.what()));
    }
  }
  return {};
}

enum class Named : int { missing, slot, folder };

Named named_kind(const support::Communicator& comm, const fs::path& path) {
  Named kind = Named::missing;
  std::error_code error;
  if (comm.is_root() && fs::is_directory(path, error)) kind = amr::slot_number(path) ? Named::slot : Named::folder;
  return support::broadcast(comm, kind);
}

template <class Owner>
void check_keys(const std::vector<Key<Owner>>& keys, const std::string& table, const Owner& here, const Owner& there,
                const Config& config, const std::string& slot) {
  for (const Key<Owner>& key : keys) {
    if (is_free(table, key.info.name, config) || key.get(here) == key.get(there)) continue;
    throw InputError(fmt::format(
        "--restart {}: another problem: {}.{} is {} here and {} in the checkpoint, and the answer depends on it", slot,
        table, key.info.name, format_value(key.get(here)), format_value(key.get(there))));
  }
}

}  // namespace

bool RestartPoint::lies_in(const fs::path& folder) const {
  // With and without a slash at the end alike.
  return !result_folder.empty() && (result_folder / "").lexically_normal() == (folder / "").lexically_normal();
}

RestartPoint find_restart(const support::Communicator& comm, const fs::path& folder) {
  if (!amr::has_checkpoints())
    throw InputError(
        "--restart: this build has no checkpoints; install libhdf5-dev and libxxhash-dev and configure again");
  fs::path path = folder.has_filename() ? folder : folder.parent_path();
  const Named kind = named_kind(comm, path);
  if (kind == Named::missing)
    throw InputError(
        fmt::format("--restart {}: no such folder; name the result folder of a run, or a slot in its "
                    "folder checkpoint",
                    folder.string()));
  if (kind == Named::slot) {
    try {
      return open_slot(comm, path);
    } catch (const amr::DamagedError& error) {
      throw InputError(fmt::format("--restart {}: the checkpoint is damaged: {}", folder.string(), error.what()));
    }
  }
  if (path.filename() != amr::kCheckpointFolder) path /= amr::kCheckpointFolder;
  std::vector<std::string> notes;
  std::optional<RestartPoint> point = newest_good(comm, path, notes);
  if (!point)
    throw InputError(fmt::format("--restart {}: no good checkpoint in it{}{}", folder.string(),
                                 notes.empty() ? "" : "; ", notes.empty() ? "" : notes.front()));
  point->notes = std::move(notes);
  return std::move(*point);
}

std::optional<RestartPoint> find_newest(const support::Communicator& comm, const fs::path& result_folder,
                                        std::vector<std::string>& notes) {
  if (!amr::has_checkpoints())
    throw InputError(
        "--restart: this build has no checkpoints; install libhdf5-dev and libxxhash-dev and configure again");
  std::optional<RestartPoint> point = newest_good(comm, result_folder / amr::kCheckpointFolder, notes);
  if (!point)
    notes.push_back(
        fmt::format("--restart auto: no good checkpoint under {}; the run begins anew", result_folder.string()));
  return point;
}

void check_same_problem(const Config& config, const RestartPoint& restart) {
  const std::string slot = restart.checkpoint->slot().string();
  const Config& there = restart.config;
  for (const Table& table : config_tables())
    check_keys(table.keys, std::string(table.name), config, there, config, slot);
  if (config.objects.size() != there.objects.size())
    throw InputError(fmt::format("--restart {}: another problem: {} tables [[object]] here and {} in the checkpoint",
                                 slot, config.objects.size(), there.objects.size()));
  for (std::size_t i = 0; i < config.objects.size(); ++i)
    check_keys(object_keys(), fmt::format("object.{}", i), config.objects[i], there.objects[i], config, slot);
  const std::int64_t done = restart.checkpoint->state().totals.steps;
  if (config.run.time == 0.0 && config.run.steps < done)
    throw InputError(fmt::format("--restart {}: run.steps = {}: the checkpoint has done {} steps already", slot,
                                 config.run.steps, done));
  if (!config.output.trace.empty())
    throw InputError("output.trace: a trace begins with its run and cannot be gone on with; --set output.trace=\"\"");
}

}  // namespace amrbench::apps
