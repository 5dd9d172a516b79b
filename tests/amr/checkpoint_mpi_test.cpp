// Checkpoints: a run that is saved on some ranks and goes on on others ends with the bits of one that was never
// interrupted; damage anywhere in a slot is found. The program's own side is tests/apps/checkpoint_cli_test.py.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "amr/checkpoint/checkpoint.hpp"
#include "amr/field_store.hpp"
#include "amr/random_runs.hpp"
#include "support/error.hpp"
#include "tests/temporary_folder.hpp"
#include "workloads/averages/averages.hpp"

namespace amrbench::amr {
namespace {

namespace fs = std::filesystem;
using checks::kSeed;
using checks::kSets;
using checks::random_config;
using checks::Result;
using support::Communicator;
using Json = nlohmann::ordered_json;

bool is_full() {
  const char* full = std::getenv("AMRBENCH_FULL");
  return full != nullptr && std::string(full) == "1";
}

/// How a run, or its second half, is carried out.
struct Half {
  int ranks = 1;
  int threads = 1;
  std::string method = "morton";
  std::string policy = "every";
  std::string weights = "uniform";
  int group = 0;  ///< ranks that share a file
};

apps::Config configured(int set, const Half& half) {
  apps::Config config = random_config(set);
  // Steps of length 1, steps of a given length, and steps by the speed of objects, which grow.
  if (set % 3 > 0) config.run.time = set % 3 == 1 ? 3.0 : 1.0;
  if (set % 3 == 2) config.run.steps = 0;
  config.partition.method = half.method;
  config.balance = {.policy = half.policy, .threshold = 0.3, .weights = half.weights};
  return config;
}

Result result_of(const Simulation<3>& simulation) {
  Result r;
  r.mesh = mesh_digest(simulation.mesh());
  const auto stats = simulation.statistics();
  for (std::size_t v = 0; v < stats.size(); ++v) {
    r.fields.at(v) = stats[v].hash().value();
    r.sums = support::mix64(r.sums, std::bit_cast<std::uint64_t>(stats[v].sum().to_double()));
  }
  const RunTotals& t = simulation.totals();
  r.blocks = t.blocks;
  r.block_stages = t.block_stages;
  r.split = t.blocks_split;
  r.merged = t.blocks_merged;
  r.most = t.blocks_max;
  // Numbers that Result has no place for.
  for (const std::int64_t n : {t.steps, t.stages, t.cell_updates, t.refine_steps, simulation.conservation().checks(),
                               std::int64_t(simulation.conservation().conserved())})
    r.history = support::mix64(r.history, std::uint64_t(n));
  r.history = support::mix64(r.history, std::bit_cast<std::uint64_t>(simulation.conservation().worst_drift()));
  r.conserved = simulation.conservation().passed();
  return r;
}

/// The whole run; after `step` steps a checkpoint in `folder` (none: empty).
Result run_and_save(const Communicator& comm, int set, const Half& half, const std::string& folder, std::int64_t step) {
  omp_set_num_threads(half.threads);
  const apps::Config config = configured(set, half);
  loadbalance::Balancer balancer(config.balance, config.partition, config.work);
  support::Metrics metrics;
  workloads::Averages workload(config);
  Simulation simulation(comm, config, loadbalance::make_key_space<3>(config.mesh, config.partition), workload, balancer,
                        metrics);
  simulation.run([&](std::int64_t now, double, const RunTotals&) {
    if (folder.empty() || now != step) return;
    CheckpointWriter writer(comm, folder, {}, half.group);
    const RunState state = simulation.state();
    const Json more = {{"balance", balancer.save(comm)}};
    EXPECT_GT(writer.save(simulation.mesh(), simulation.fields(), state, more), 0);
  });
  omp_set_num_threads(1);
  return result_of(simulation);
}

Result go_on(const Communicator& comm, int set, const Half& half, const std::string& folder, bool keeps_history) {
  omp_set_num_threads(half.threads);
  const apps::Config config = configured(set, half);
  const auto space = loadbalance::make_key_space<3>(config.mesh, config.partition);
  const Checkpoint checkpoint(comm, slot_folder(folder, 1));
  checkpoint.verify(comm, space);
  loadbalance::Balancer balancer(config.balance, config.partition, config.work);
  balancer.load(checkpoint.manifest().at("balance"), comm, keeps_history, checkpoint.state().totals.stages);
  support::Metrics metrics;
  const Restart restart = checkpoint.restart(comm, space);
  workloads::Averages workload(config);
  Simulation simulation(comm, config, space, workload, balancer, metrics, &restart);
  simulation.run([](std::int64_t, double, const RunTotals&) {});
  omp_set_num_threads(1);
  return result_of(simulation);
}

/// The first `ranks` of `world`; nothing on the others. Collective.
Communicator first_ranks(const Communicator& world, int ranks) {
  return world.split(world.rank() < ranks ? 0 : 1);
}

class Checkpoints : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_checkpoints()) GTEST_SKIP() << "built without HDF5 or xxHash";
  }
};

TEST_F(Checkpoints, SavedOnSomeRanksAndGoneOnWithOnOthersGiveTheSameBits) {
  const Communicator world = Communicator::world();
  constexpr const char* kMethods[] = {"morton", "hilbert", "gensfc", "orb", "kd_parts"};
  constexpr const char* kPolicies[] = {"every", "threshold", "never", "feedback", "auto", "amortized"};
  constexpr const char* kWeights[] = {"uniform", "measured", "level"};
  const int sets = is_full() ? kSets : 4;
  std::int64_t merged = 0;
  for (int set = 0; set < sets; ++set) {
    const Result expected = run_and_save(world, set, {}, "", 0);
    merged += expected.merged;
    for (int n = 1; n <= world.size(); ++n) {
      for (int m = 1; m <= world.size(); ++m) {
        const int k = set + 2 * n + 3 * m;
        const Half before{n, 1 + k % 2, kMethods[k % 5], kPolicies[k % 6], kWeights[k % 3], 1 + k % 4};
        // Method, policy and weights may all change at a restart, and the policy's memory may be kept.
        const bool same = n == m && k % 2 == 0;
        const Half after = same ? before : Half{m, 1 + n % 2, kMethods[n % 5], kPolicies[m % 6], kWeights[n % 3]};
        SCOPED_TRACE("set " + std::to_string(set) + ", " + std::to_string(n) + " to " + std::to_string(m) + " ranks, " +
                     before.method + " " + before.policy + " " + before.weights + " to " + after.method + " " +
                     after.policy + " " + after.weights + ", files of " + std::to_string(before.group));
        const tests::TemporaryFolder folder(world);
        const Communicator saving = first_ranks(world, n), going = first_ranks(world, m);
        const std::int64_t step = 1 + k % 5;
        if (world.rank() < n) {
          EXPECT_TRUE(run_and_save(saving, set, before, folder.path("c"), step) == expected);
        }
        support::barrier(world);
        if (world.is_root()) {
          const fs::directory_iterator files(slot_folder(folder.path("c"), 1));
          EXPECT_EQ(std::distance(begin(files), end(files)), 1 + (n + before.group - 1) / before.group);
        }
        if (world.rank() < m) {
          EXPECT_TRUE(go_on(going, set, after, folder.path("c"), same) == expected);
        }
        support::barrier(world);
      }
    }
  }
  EXPECT_GT(merged, 0);
}

/// A run before its first step.
struct Started {
  explicit Started(const Communicator& world)
      : simulation(world, config, loadbalance::make_key_space<3>(config.mesh, config.partition), workload, balancer,
                   metrics) {}
  apps::Config config = random_config(1);
  workloads::Averages workload{config};
  loadbalance::Balancer<3> balancer{config.balance, config.partition, config.work};
  support::Metrics metrics;
  Simulation<3> simulation;
};

TEST_F(Checkpoints, ValuesComeIntoBlocksOfAnotherLayout) {
  const Communicator world = Communicator::world();
  const tests::TemporaryFolder folder(world);
  const std::string path = folder.path("c");
  Started started(world);
  Simulation<3>& simulation = started.simulation;
  CheckpointWriter(world, path).save(simulation.mesh(), simulation.fields(), simulation.state(), Json::object());
  const Checkpoint checkpoint(world, slot_folder(path, 1));
  const Restart restart =
      checkpoint.restart(world, loadbalance::make_key_space<3>(started.config.mesh, started.config.partition));
  const FieldStore& saved = host_fields(simulation.fields());
  const auto& [nx, ny, nz] = saved.layout().cells;
  for (const int most_lanes : {1, 2, kernels::kMaxLanes}) {
    FieldStore taken(kernels::make_layout(saved.layout().cells, saved.layout().variables, most_lanes));
    taken.reset(saved.size());
    restart.fill(taken);
    std::int64_t differ = 0, compared = 0;
    for (std::int32_t i = 0; i < saved.size(); ++i)
      for (int v = 0; v < saved.layout().variables; ++v)
        for (int k = 0; k < nx * ny * nz; ++k, ++compared) {
          const int x = k % nx, y = k / nx % ny, z = k / nx / ny;
          differ +=
              saved.block(i)[saved.layout().offset(v, x, y, z)] != taken.block(i)[taken.layout().offset(v, x, y, z)];
        }
    EXPECT_EQ(differ, 0) << "lanes " << taken.layout().lanes;
    EXPECT_EQ(compared, std::int64_t{saved.size()} * nx * ny * nz * saved.layout().variables);
    EXPECT_GT(support::all_sum(world, compared), 0);
  }
}

TEST_F(Checkpoints, TwoSlotsAreKeptAndThePointerNamesTheNewest) {
  const Communicator world = Communicator::world();
  const tests::TemporaryFolder folder(world);
  const std::string path = folder.path("c");
  Started started(world);
  Simulation<3>& simulation = started.simulation;
  CheckpointWriter writer(world, path);
  simulation.run([&](std::int64_t step, double, const RunTotals&) {
    const RunState state = simulation.state();
    writer.save(simulation.mesh(), simulation.fields(), state, Json::object());
    if (!world.is_root()) return;
    EXPECT_EQ(read_last_good(path), step + 1);
    const std::vector<std::int64_t> kept = step == 0 ? std::vector<std::int64_t>{1} : std::vector{step, step + 1};
    EXPECT_EQ(list_slots(path), kept);
  });
  // A run that goes on from the older one keeps that, not the newer one, of which nobody knows whether it is good.
  CheckpointWriter next(world, path, started.config.run.steps);
  next.save(simulation.mesh(), simulation.fields(), simulation.state(), Json::object());
  if (world.is_root()) {
    EXPECT_EQ(list_slots(path), (std::vector{started.config.run.steps, started.config.run.steps + 2}));
  }
}

TEST_F(Checkpoints, ADiskThatIsFullLeavesTheSlotBefore) {
  const Communicator world = Communicator::world();
  const tests::TemporaryFolder folder(world);
  const std::string path = folder.path("c");
  Started started(world);
  Simulation<3>& simulation = started.simulation;
  CheckpointWriter writer(world, path);
  const RunState state = simulation.state();
  writer.save(simulation.mesh(), simulation.fields(), state, Json::object());
  // In the way of one rank's file.
  const int last = world.size() - 1;
  EXPECT_EQ(slot_number(slot_folder(path, 2)), 2);
  if (world.is_root()) fs::create_directories(slot_folder(path, 2));
  support::barrier(world);
  try {
    writer.save(simulation.mesh(), simulation.fields(), state, Json::object());
    ADD_FAILURE() << "saved, rank " << last;
  } catch (const support::RunError& error) {
    EXPECT_NE(std::string(error.what()).find("slot-000002"), std::string::npos) << error.what();
  }
  support::barrier(world);
  const Checkpoint left(world, slot_folder(path, 1));
  left.verify(world, loadbalance::make_key_space<3>(started.config.mesh, started.config.partition));
  if (world.is_root()) {
    EXPECT_EQ(read_last_good(path), 1);
  }
}

/// Files of this process end after so many bytes, as on a disk that is full, while this lives.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(Checkpoints, AFileThatCannotGrowEndsItsWholeGroup) {
  const Communicator world = Communicator::world();
  Started started(world);
  Simulation<3>& simulation = started.simulation;
  const RunState state = simulation.state();
  for (int group = 1; group <= world.size(); ++group) {
    const tests::TemporaryFolder folder(world);
    CheckpointWriter writer(world, folder.path("c"), {}, group);
    writer.save(simulation.mesh(), simulation.fields(), state, Json::object());
    for (const rlim_t bytes : {rlim_t{0}, rlim_t{8192}}) {
      SCOPED_TRACE("files of " + std::to_string(group) + ", " + std::to_string(bytes) + " bytes");
      std::optional<SmallFiles> small;
      if (world.rank() % group == 0) small.emplace(bytes);
      try {
        writer.save(simulation.mesh(), simulation.fields(), state, Json::object());
        ADD_FAILURE() << "saved";
      } catch (const support::RunError& error) {
        EXPECT_NE(std::string(error.what()).find("cannot write checkpoint"), std::string::npos) << error.what();
      }
    }
    writer.save(simulation.mesh(), simulation.fields(), state, Json::object());
    Checkpoint(world, slot_folder(folder.path("c"), 2))
        .verify(world, loadbalance::make_key_space<3>(started.config.mesh, started.config.partition));
  }
}

// ---- Damage: each rank has a slot of its own --------------------------------------------------------------------

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

class DamagedCheckpoints : public Checkpoints {
 protected:
  void SetUp() override {
    Checkpoints::SetUp();
    if (IsSkipped()) return;
    path_ = folder_.path("c");
    run_and_save(self_, kSet, {}, path_, 3);
    for (const auto& entry : fs::directory_iterator(slot_folder(path_, 1))) files_.push_back(entry.path());
    std::sort(files_.begin(), files_.end());
    ASSERT_EQ(files_.size(), 2U);
    ASSERT_TRUE(is_good());
  }
  /// Not good must mean: said to be damaged. Any other exception, or none at all, fails.
  [[nodiscard]] bool is_good() const {
    const apps::Config config = configured(kSet, {});
    try {
      const Checkpoint checkpoint(self_, slot_folder(path_, 1));
      checkpoint.verify(self_, loadbalance::make_key_space<3>(config.mesh, config.partition));
      return true;
    } catch (const DamagedError&) {
      return false;
    }
  }
  /// Places where a structure ends and another begins: those of HDF5 begin with four letters.
  static std::vector<std::size_t> bounds_of(const std::string& bytes) {
    std::vector<std::size_t> bounds{0, bytes.size() - 1};
    for (const char* mark : {"\x89HDF", "OHDR", "TREE", "HEAP", "SNOD", "GCOL", "place", "weight", "digest", "value"})
      for (std::size_t at = bytes.find(mark); at != std::string::npos; at = bytes.find(mark, at + 1))
        for (const std::size_t near : {at - std::min<std::size_t>(at, 1), at, at + 4, at + 8, at + 16})
          if (near < bytes.size()) bounds.push_back(near);
    return bounds;
  }

  static constexpr int kSet = 1;
  const Communicator world_ = Communicator::world();
  const Communicator self_ = Communicator::duplicate(MPI_COMM_SELF);
  const tests::TemporaryFolder folder_{self_};
  std::string path_;
  std::vector<fs::path> files_;  ///< manifest.json, part-00000.h5
};

TEST_F(DamagedCheckpoints, EveryFlippedBitIsFound) {
  constexpr int kFlips = 1000;
  std::mt19937_64 random(kSeed + std::uint64_t(world_.rank()));
  for (const fs::path& file : files_) {
    const std::string good = bytes_of(file);
    const std::vector<std::size_t> bounds = bounds_of(good);
    for (int flip = 0; flip < kFlips / 2; ++flip) {
      const std::size_t at = flip % 2 == 0 ? random() % good.size() : bounds[random() % bounds.size()];
      const int bit = int(random() % 8);
      std::string bad = good;
      bad[at] = char(bad[at] ^ (1 << bit));
      write_bytes(file, bad);
      EXPECT_FALSE(is_good()) << file << ", bit " << bit << " of byte " << at << " of " << good.size();
    }
    write_bytes(file, good);
    EXPECT_TRUE(is_good());
  }
}

TEST_F(DamagedCheckpoints, EveryTruncationIsFound) {
  constexpr int kCuts = 200;
  std::mt19937_64 random(kSeed + std::uint64_t(world_.rank()));
  for (const fs::path& file : files_) {
    const std::string good = bytes_of(file);
    const std::vector<std::size_t> bounds = bounds_of(good);
    for (int cut = 0; cut < kCuts / 2; ++cut) {
      const std::size_t left = cut % 2 == 0 ? random() % good.size() : bounds[random() % bounds.size()];
      write_bytes(file, good.substr(0, left));
      EXPECT_FALSE(is_good()) << file << ", " << left << " bytes of " << good.size();
    }
    write_bytes(file, good + '\0');
    EXPECT_FALSE(is_good()) << file << ", a byte too many";
    fs::remove(file);
    EXPECT_FALSE(is_good()) << file << " missing";
    fs::create_directory(file);
    EXPECT_FALSE(is_good()) << file << " is a folder";
    fs::remove(file);
    write_bytes(file, good);
  }
  EXPECT_TRUE(is_good());
}

TEST_F(DamagedCheckpoints, AManifestThatLiesIsRefusedBeforeMemoryIsTaken) {
  // Sealed anew after each change, so that its digest is right.
  const std::string good = read_manifest(slot_folder(path_, 1));
  const auto lie = [&](const std::function<void(Json&)>& change) {
    Json json = Json::parse(good);
    json.erase("xxh3");
    change(json);
    fs::remove(files_[0]);
    write_manifest(slot_folder(path_, 1), json.dump());
    return is_good();
  };
  EXPECT_TRUE(lie([](Json&) {}));
  EXPECT_TRUE(lie([](Json& json) { json["parts"][0].erase("ranks"); }));
  const auto blocks = Json::parse(good)["parts"][0]["blocks"].get<std::int64_t>();
  EXPECT_TRUE(lie([&](Json& json) { json["parts"][0]["ranks"] = {1, 0, blocks - 1}; }));
  for (const auto& ranks : {Json::array(), Json::array({blocks - 1}), Json::array({blocks + 1}),
                            Json::array({-1, blocks + 1}), Json::array({"all"})}) {
    EXPECT_FALSE(lie([&](Json& json) { json["parts"][0]["ranks"] = ranks; })) << ranks;
  }
  for (const std::int64_t n : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1} << 20, std::int64_t{1} << 40,
                               std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max()}) {
    for (const char* name : {"blocks", "bytes", "values_begin"}) {
      EXPECT_FALSE(lie([&](Json& json) {
        json["parts"][0].erase("ranks");  // which would not fit
        json["parts"][0][name] = n;
      })) << name
          << " " << n;
    }
    EXPECT_FALSE(lie([&](Json& json) { json["layout"]["variables"] = n; })) << n;
    EXPECT_FALSE(lie([&](Json& json) { json["layout"]["cells"][1] = n; })) << n;
  }
  for (const std::int64_t type : {std::int64_t{-1}, std::int64_t{16}, std::int64_t{26}, std::int64_t{1} << 32})
    EXPECT_FALSE(lie([&](Json& json) { json["state"]["objects"][0]["type"] = type; })) << type;
  for (const char* name : {"format", "layout", "parts", "state"}) {
    EXPECT_FALSE(lie([&](Json& json) { json.erase(name); })) << name;
    EXPECT_FALSE(name != std::string("format") && lie([&](Json& json) { json[name] = "no"; })) << name;
  }
  for (const char* name : {"time", "totals", "objects", "check"})
    EXPECT_FALSE(lie([&](Json& json) { json["state"].erase(name); })) << name;
  EXPECT_FALSE(lie([](Json& json) { json["state"]["check"]["scale_exponent"] = 100000; }));
  EXPECT_THROW(lie([](Json& json) { json["format"] = kCheckpointFormat + 1; }), support::InputError);
  EXPECT_TRUE(lie([](Json&) {}));
}

TEST_F(DamagedCheckpoints, PartsOfAnotherMeshAreFound) {
  // Good files, each for itself; but the mesh is not whole, or not that of the configuration.
  const apps::Config other = configured(2, {});
  const Checkpoint checkpoint(self_, slot_folder(path_, 1));
  EXPECT_THROW(checkpoint.verify(self_, loadbalance::make_key_space<3>(other.mesh, other.partition)), DamagedError);
}

TEST_F(DamagedCheckpoints, ThePointersFlipsAreFound) {
  const fs::path file = fs::path(path_) / "last-good";
  const std::string good = bytes_of(file);
  EXPECT_EQ(read_last_good(path_), 1);
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = char(bad[bit / 8] ^ (1 << (bit % 8)));
    write_bytes(file, bad);
    EXPECT_THROW(static_cast<void>(read_last_good(path_)), DamagedError) << bit;
  }
  for (std::size_t left = 0; left < good.size(); ++left) {
    write_bytes(file, good.substr(0, left));
    EXPECT_THROW(static_cast<void>(read_last_good(path_)), DamagedError) << left;
  }
  fs::remove(file);
  EXPECT_THROW(static_cast<void>(read_last_good(path_)), DamagedError);
}

}  // namespace
}  // namespace amrbench::amr
