// Checkpoints. Digests stop nearly all that is tried on them, so that each half of a slot is also read behind sound
// ones: manifests beside the part that fits corpus/manifest/sound (sample/), and that part with other places, weights
// and values beside that manifest.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "amr/simulation.hpp"
#include "apps/config_check.hpp"
#include "apps/restart_point.hpp"
#include "apps/run_checkpoints.hpp"
#include "loadbalance/placement.hpp"
#include "tests/fuzz/single_process.hpp"
#include "tests/fuzz/targets.hpp"
#include "workloads/averages/averages.hpp"

namespace amrbench::fuzz {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  if (bytes.empty()) throw std::runtime_error("no " + file.string());
  return bytes;
}

/// A manifest and the part that it tells of.
struct Sample {
  std::string manifest = content_of(fs::path(AMRBENCH_SOURCE_DIR) / "tests/fuzz/corpus/manifest/sound");
  std::string part = content_of(fs::path(AMRBENCH_SOURCE_DIR) / "tests/fuzz/sample/part-00000.h5");
};

const Sample& sample() {
  static const Sample sound;
  return sound;
}

/// A slot of this process, gone with the object.
class ScratchSlot {
 public:
  ScratchSlot() : keeper_("slots", ""), folder_(keeper_.path() + "-folder") {
    fs::remove_all(folder_);
    fs::create_directories(path());
  }
  ~ScratchSlot() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  ScratchSlot(const ScratchSlot&) = delete;
  ScratchSlot& operator=(const ScratchSlot&) = delete;
  [[nodiscard]] fs::path path() const { return amr::slot_folder(folder_, 1); }
  void write(const fs::path& file, std::string_view bytes) const {
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!stream.flush()) throw std::runtime_error("no scratch file");
  }
  void write_part(std::string_view bytes) const { write(amr::part_file(path(), 0), bytes); }

 private:
  ScratchFile keeper_;
  fs::path folder_;
};

/// All that a restart does before its first step. False where the slot is refused, or its blocks are no mesh.
bool goes_on(const fs::path& slot) {
  const support::Communicator& comm = single_process();
  omp_set_num_threads(1);
  try {
    return accepts([&] {
      const apps::RestartPoint point = apps::find_restart(comm, slot);
      apps::Config config = point.config;
      config.device.backend = "cpu";
      static_cast<void>(apps::check_config(config));
      apps::check_same_problem(config, point);
      loadbalance::Balancer balancer(config.balance, config.partition, config.work);
      apps::RunSeries series;
      static_cast<void>(apps::load_past(point, comm, config, balancer, series));
      const auto space = loadbalance::make_key_space<3>(config.mesh, config.partition);
      const amr::Restart restart = point.checkpoint->restart(comm, space);
      promise(restart.keys.size() == restart.weights.size() && std::ranges::is_sorted(restart.keys),
              "blocks are out of order");
      support::Metrics metrics;
      workloads::Averages workload(config);
      const amr::Simulation simulation(comm, config, space, workload, balancer, metrics, &restart);
      promise(std::size_t(simulation.mesh().size()) == restart.keys.size(), "blocks are lost");
    });
  } catch (const support::RunError& error) {
    promise(*error.what() != '\0', "a refusal says nothing");
    return false;
  }
}

/// Where the tables of the sample's part lie in its file.
struct Tables {
  amr::PartInfo info;
  std::size_t places = 0, weights = 0, digests = 0, values = 0;
  std::size_t block_values = 0;

  Tables() {
    const Json manifest = Json::parse(sample().manifest);
    const Json& part = manifest.at("parts").at(0);
    info.blocks = part.at("blocks").get<std::int64_t>();
    info.bytes = part.at("bytes").get<std::int64_t>();
    info.values_begin = part.at("values_begin").get<std::int64_t>();
    values = static_cast<std::size_t>(info.values_begin);
    const auto cells = manifest.at("layout").at("cells").get<std::array<int, 3>>();
    const kernels::BlockLayout layout = kernels::make_layout(cells, manifest.at("layout").at("variables").get<int>());
    block_values = layout.block_values();
    info.frame = frame(sample().part);
    const ScratchFile file("part.h5", sample().part);
    const amr::PartReader reader(file.path(), info, layout);
    places = find(std::as_bytes(reader.places()));
    weights = find(std::as_bytes(reader.weights()));
    const std::uint64_t first = digest(sample().part, 0);
    digests = find(std::as_bytes(std::span(&first, 1)));
  }
  [[nodiscard]] static std::size_t find(std::span<const std::byte> bytes) {
    const std::size_t at =
        sample().part.find(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    if (at == std::string::npos) throw std::runtime_error("the sample lacks a table");
    return at;
  }
  /// Of the bytes beside the values.
  [[nodiscard]] std::uint64_t frame(const std::string& file) const {
    const auto length = static_cast<std::size_t>(info.blocks) * block_values * sizeof(double);
    const std::string rest = file.substr(0, values) + file.substr(values + length);
    return amr::digest_of(std::as_bytes(std::span(rest)));
  }
  /// Of a block (amr/checkpoint/part.hpp).
  [[nodiscard]] std::uint64_t digest(const std::string& file, std::size_t block) const {
    const std::string bytes = file.substr(places + 16 * block, 16) + file.substr(weights + 8 * block, 8) +
                              file.substr(values + 8 * block_values * block, 8 * block_values);
    return amr::digest_of(std::as_bytes(std::span(bytes)));
  }
};

/// What a fuzzer wrote, number by number; zeros behind its end.
class Script {
 public:
  explicit Script(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool is_over() const { return bytes_.empty(); }
  template <class T>
  T next() {
    T value{};
    const std::size_t n = std::min(sizeof(T), bytes_.size());
    std::memcpy(&value, bytes_.data(), n);
    bytes_.remove_prefix(n);
    return value;
  }

 private:
  std::string_view bytes_;
};

void write_manifest_of(const ScratchSlot& slot, const amr::PartInfo& info) {
  Json manifest = Json::parse(sample().manifest);
  manifest["parts"][0] = {{"blocks", info.blocks},
                          {"bytes", info.bytes},
                          {"values_begin", info.values_begin},
                          {"frame_xxh3", fmt::format("{:016x}", info.frame)}};
  fs::remove(slot.path() / "manifest.json");
  amr::write_manifest(slot.path(), manifest.dump());
}

/// A byte of a table at a time: which table, where, what. With new digests of blocks the change is believed.
void change_tables(const ScratchSlot& slot, const Tables& tables, Script script, bool digests_too) {
  std::string file = sample().part;
  const auto blocks = static_cast<std::size_t>(tables.info.blocks);
  while (!script.is_over()) {
    const std::size_t begins[] = {tables.places, tables.weights, tables.digests, tables.values};
    const std::size_t sizes[] = {16, 8, 8, 8 * tables.block_values};
    const std::size_t table = script.next<std::uint8_t>() % 4;
    const std::size_t at = script.next<std::uint16_t>() % (sizes[table] * blocks);
    file[begins[table] + at] = script.next<char>();
  }
  for (std::size_t block = 0; digests_too && block < blocks; ++block) {
    const std::uint64_t digest = tables.digest(file, block);
    std::memcpy(file.data() + tables.digests + 8 * block, &digest, 8);
  }
  amr::PartInfo info = tables.info;
  info.frame = tables.frame(file);
  write_manifest_of(slot, info);
  slot.write_part(file);
  const bool went_on = goes_on(slot.path());
  promise(!went_on || digests_too || file == sample().part, "a block with another digest is believed");
}

}  // namespace

void manifest(std::string_view bytes) {
  if (!amr::has_checkpoints()) return;
  const ScratchSlot slot;
  slot.write_part(sample().part);
  const fs::path file = slot.path() / "manifest.json";
  slot.write(file, bytes);
  goes_on(slot.path());
  if (!bytes.starts_with('{')) return;
  fs::remove(file);
  amr::write_manifest(slot.path(), bytes);
  goes_on(slot.path());
}

/// The first byte says what the others are: the file; changes of its tables, with or without new digests of blocks; or
/// what the manifest says of it.
void part(std::string_view bytes) {
  if (!amr::has_checkpoints() || bytes.empty()) return;
  static const Tables tables;
  const ScratchSlot slot;
  const int kind = static_cast<unsigned char>(bytes[0]) % 4;
  bytes.remove_prefix(1);
  Script script(bytes);
  if (kind == 0) {
    write_manifest_of(slot, tables.info);
    slot.write_part(bytes);
    promise(goes_on(slot.path()) == (bytes == sample().part), "a damaged part is believed, or a sound one is not");
  } else if (kind < 3) {
    change_tables(slot, tables, script, kind == 2);
  } else {
    amr::PartInfo info = tables.info;
    info.blocks = script.next<std::int64_t>();
    info.bytes = script.next<std::int64_t>();
    info.values_begin = script.next<std::int64_t>();
    info.frame ^= script.next<std::uint64_t>();
    write_manifest_of(slot, info);
    slot.write_part(sample().part);
    promise(!goes_on(slot.path()) || (info.blocks == tables.info.blocks && info.frame == tables.info.frame),
            "a part that is not as the manifest says is believed");
  }
}

}  // namespace amrbench::fuzz
