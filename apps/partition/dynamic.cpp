#include "apps/partition/dynamic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/output_file.hpp"
#include "apps/partition/dynamic_record.hpp"
#include "apps/partition/files.hpp"
#include "apps/partition/memory.hpp"
#include "apps/partition/run.hpp"
#include "apps/partition/study_tree.hpp"
#include "apps/thread_count.hpp"
#include "partitioners/check_together.hpp"
#include "partitioners/dynamic/neighbour_graph.hpp"
#include "partitioners/dynamic/rebuild_policy.hpp"
#include "partitioners/quality.hpp"
#include "support/atomic_file.hpp"
#include "support/error.hpp"
#include "support/metrics.hpp"
#include "support/mpi.hpp"

namespace amrbench::apps {

namespace {

using partitioners::TreeCurve;
using support::InputError;

TreeCurve curve_of(const PartitionArguments& arguments) {
  if (arguments.methods.size() == 1) {
    for (const TreeCurve curve : {TreeCurve::morton, TreeCurve::hilbert, TreeCurve::gensfc})
      if (arguments.methods[0] == tree_curve_name(curve)) return curve;
  }
  throw InputError("--dynamic keeps parts along one curve: --method must be morton, hilbert or gensfc");
}

void check_dynamic(const PartitionArguments& arguments) {
  if (arguments.parts.size() != 1) throw InputError("--dynamic takes one part count in --parts");
  const NamedFile others[] = {{"--graph", arguments.graph},
                              {"--weights", arguments.weights},
                              {"--previous", arguments.previous},
                              {"--parts-file", arguments.parts_file},
                              {"--vtk", arguments.vtk}};
  for (const NamedFile& other : others)
    if (!other.name.empty()) throw InputError(fmt::format("{} does not go with --dynamic: leave it out", other.option));
  if (arguments.nodes > 0) throw InputError("--nodes does not go with --dynamic: leave it out");
  if (arguments.parts[0].nodes > 0) throw InputError("--dynamic takes parts of one level: --parts N");
  if (arguments.refine > 0) throw InputError("--refine does not go with --dynamic: leave it out");
  if (!arguments.picture.empty() && arguments.draw != "parts")
    throw InputError(fmt::format("--draw {} does not go with --dynamic: its picture shows parts", arguments.draw));
  if (!arguments.picture.empty() && !pictures_available())
    throw InputError("--picture: this build has no libpng; install libpng-dev, then configure and build again");
  if (arguments.chart != "none") throw InputError("--chart does not go with --dynamic: leave it out");
}

/// The dynamic tree and its parts from round to round.
class DynamicStudy {
 public:
  DynamicStudy(const support::Communicator& comm, const PartitionArguments& arguments, ChangingPoints points)
      : comm_(comm),
        arguments_(arguments),
        curve_(curve_of(arguments)),
        rule_(partitioners::slice_rule_from_name(arguments.slices, "--slices")),
        points_(std::move(points)),
        ids_(points_.size()) {
    options_.splitter = partitioners::splitter_from_name(arguments.splitter);
    options_.bucket = arguments.bucket;
    options_.merge = arguments.dynamic_merge;
    options_.balance = arguments.balance;
    options_.threads = arguments.threads;
    std::iota(ids_.begin(), ids_.end(), std::uint64_t{0});
    tree_ = std::make_unique<StudyTree>(comm_, points_.points().dim, options_, curve_);
  }

  /// Points and the part of each, after the last round.
  [[nodiscard]] Drawing drawing() const { return {.points = points_.points(), .part = part_}; }

  /// The tree of the input: round 0.
  DynamicRow start() {
    DynamicRow row;
    row.inserted = points_.size();
    row.insert_s = timed([&] { tree_->insert({ids_, points_.points()}); });
    row.adjust_s = timed([&] { row.adjusted = tree_->adjust(); });
    new_part_.assign(points_.size(), -1);
    cut(*tree_, row.cut_s, part_);
    new_part_ = part_;
    finish(row);
    return row;
  }

  DynamicRow round(int number, bool measured) {
    DynamicRow row;
    row.round = number;
    const ChangingPoints::Change change = points_.advance();
    const int dim = points_.points().dim;
    row.inserted = change.replaced.size();
    row.erase_s = timed([&] { row.erased = tree_->erase({change.replaced, {change.replaced_from, dim}}); });
    row.insert_s = timed([&] { tree_->insert({change.replaced, {change.replaced_to, dim}}); });
    row.move_s = timed([&] {
      row.moved = tree_->move({change.moved, {change.moved_from, dim}}, {change.moved_to, dim});
    });
    row.adjust_s = timed([&] { row.adjusted = tree_->adjust(); });
    const std::vector<std::int32_t> before = part_;
    cut(*tree_, row.cut_s, part_);
    maybe_rebuild(row);
    row.moved_weight = moved(before, part_, change.replaced);
    if (arguments_.dynamic_compare || measured) compare(row, change);
    finish(row);
    if (measured && arguments_.neighbours > 0) measure_cuts(row);
    return row;
  }

 private:
  /// Seconds that `work` takes on the slowest rank, the same on all.
  template <class Work>
  double timed(Work&& work) const {
    support::barrier(comm_);
    const double start = support::Metrics::steady_seconds();
    work();
    return support::all_max(comm_, support::Metrics::steady_seconds() - start);
  }

  void cut(StudyTree& tree, double& seconds, std::vector<std::int32_t>& part) {
    part.resize(points_.size());
    std::vector<std::int64_t> cuts;
    seconds += timed([&] { cuts = tree.part_cuts(arguments_.parts[0].parts, rule_); });
    tree.write_parts(cuts, part);  // for measures: who only wants parts has them as stretches of leaves
  }

  void maybe_rebuild(DynamicRow& row) {
    if (arguments_.dynamic_rebuild != "cost") return;
    if (rebuild_cost_ < 0) rebuild_cost_ = new_tree_seconds();
    if (!policy_.after_round(row.update_s() + row.cut_s, rebuild_cost_)) return;
    row.rebuild_s = timed([&] { tree_->rebuild(); });
    rebuild_cost_ = row.rebuild_s;
    cut(*tree_, row.cut_s, part_);
  }

  /// A tree over ranks of the points, made anew, and its parts.
  double new_spread_seconds() {
    new_before_.swap(new_part_);
    std::unique_ptr<StudyTree> tree;
    double cut_s = 0;
    const double seconds = timed([&] {
      tree = std::make_unique<StudyTree>(comm_, points_.points().dim, options_, curve_);
      tree->insert({ids_, points_.points()});
    });
    cut(*tree, cut_s, new_part_);
    return seconds + cut_s;
  }

  /// A static tree of the points and its leaves along the curve.
  double new_tree_seconds() {
    if (comm_.size() > 1) return new_spread_seconds();
    partitioners::KdTreeOptions options;
    options.rule.below = options_.splitter;
    options.bucket = options_.bucket;
    options.threads = options_.threads;
    partitioners::KdTree<std::uint32_t> tree;
    std::vector<std::uint32_t> leaves;
    std::vector<std::int64_t> cuts;
    const double seconds = timed([&] {
      tree = partitioners::build_kd_tree(points_.points(), {}, options);
      leaves = partitioners::leaf_order(tree, curve_, options.threads);
      std::vector<std::uint64_t> weight(leaves.size());
      for (std::size_t i = 0; i < leaves.size(); ++i) weight[i] = tree.nodes[leaves[i]].count;
      cuts = partitioners::slice_on_ranks(support::Communicator(), weight, weight.size(), arguments_.parts[0].parts,
                                          rule_);
    });
    new_before_.swap(new_part_);
    new_part_.resize(points_.size());
    std::int32_t part = 0;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      while (static_cast<std::int64_t>(i) >= cuts[static_cast<std::size_t>(part) + 1]) ++part;
      const auto& leaf = tree.nodes[leaves[i]];
      for (std::uint32_t k = 0; k < leaf.count; ++k) new_part_[tree.order[leaf.first + k]] = part;
    }
    return seconds;
  }

  void compare(DynamicRow& row, const ChangingPoints::Change& change) {
    row.new_tree_s = new_tree_seconds();
    row.new_quality =
        partitioners::measure_quality(new_part_, arguments_.parts[0].parts, {}, nullptr, arguments_.threads);
    row.new_moved_weight = moved(new_before_, new_part_, change.replaced);
  }

  void measure_cuts(DynamicRow& row) {
    const partitioners::Graph graph =
        partitioners::neighbour_graph(points_.points(), arguments_.neighbours, arguments_.threads);
    const int parts = arguments_.parts[0].parts;
    row.quality = partitioners::measure_quality(part_, parts, {}, &graph, arguments_.threads);
    row.new_quality = partitioners::measure_quality(new_part_, parts, {}, &graph, arguments_.threads);
  }

  void finish(DynamicRow& row) {
    row.depth = tree_->depth();
    row.depth_bound = tree_->depth_bound();
    row.leaves = tree_->leaf_count();
    row.memory_bytes = tree_->memory_bytes();
    row.quality = partitioners::measure_quality(part_, arguments_.parts[0].parts, {}, nullptr, arguments_.threads);
  }

  /// Points in another part than before, newcomers not counted.
  [[nodiscard]] static std::size_t moved(std::span<const std::int32_t> before, std::span<const std::int32_t> now,
                                         std::span<const std::uint64_t> newcomers) {
    std::size_t all = 0;
    for (std::size_t i = 0; i < now.size(); ++i) all += now[i] != before[i] ? 1 : 0;
    for (const std::uint64_t i : newcomers) all -= now[i] != before[i] ? 1 : 0;
    return all;
  }

  const support::Communicator& comm_;
  const PartitionArguments& arguments_;
  TreeCurve curve_;
  partitioners::SliceRule rule_;
  ChangingPoints points_;
  std::vector<std::uint64_t> ids_;
  partitioners::DynamicTreeOptions options_;
  std::unique_ptr<StudyTree> tree_;
  partitioners::RebuildPolicy policy_;
  double rebuild_cost_ = -1;  ///< seconds; -1: not known yet
  std::vector<std::int32_t> part_, new_part_, new_before_;
};

void print_rows(std::span<const DynamicRow> rows) {
  constexpr std::string_view kForm = "{:>5} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10} {:>5} {:>8} {:>9} {:>9} {:>9}\n";
  const DynamicRow& r = rows.back();
  if (rows.size() == 1)
    fmt::print(fmt::runtime(kForm), "round", "erase s", "insert s", "move s", "adjust s", "cut s", "rebuild s",
               "updates/s", "depth", "leaves", "load max", "moved", "new tree");
  const auto seconds = [](double s) { return fmt::format("{:.4g}", s); };
  fmt::print(fmt::runtime(kForm), r.round, seconds(r.erase_s), seconds(r.insert_s), seconds(r.move_s),
             seconds(r.adjust_s), seconds(r.cut_s), seconds(r.rebuild_s), fmt::format("{:.3g}", r.updates_per_s()),
             r.depth, r.leaves, fmt::format("{:.8g}", r.quality.load_max), r.moved_weight,
             r.new_tree_s ? seconds(*r.new_tree_s) : "-");
  std::fflush(stdout);
}

/// What the study was for, in three lines.
void print_summary(std::span<const DynamicRow> rows) {
  double own = 0, anew = 0, updates = 0, update_s = 0;
  int compared = 0;
  for (const DynamicRow& r : rows.subspan(1)) {
    updates += r.updates();
    update_s += r.update_s();
    own += r.new_tree_s ? r.all_s() : 0;
    anew += r.new_tree_s.value_or(0);
    compared += r.new_tree_s ? 1 : 0;
  }
  if (update_s > 0) fmt::print("updates: {:.4g} in {:.4g} s, {:.4g} a second\n", updates, update_s, updates / update_s);
  if (own > 0)
    fmt::print("of {} rounds compared: {:.4g} s, new trees {:.4g} s, ratio {:.4g}\n", compared, own, anew, own / anew);
  double cut = 0, new_cut = 0;
  int measured = 0;
  for (const DynamicRow& r : rows) {
    cut += static_cast<double>(r.quality.edge_cut_max);
    new_cut += static_cast<double>(r.new_quality.edge_cut_max);
    measured += r.quality.has_graph ? 1 : 0;
  }
  if (measured > 0 && new_cut > 0)
    fmt::print("largest cut, mean of {} rounds: {:.6g}, of new trees {:.6g}, ratio {:.4g}\n", measured, cut / measured,
               new_cut / measured, cut / new_cut);
}

}  // namespace

int dynamic_command(const PartitionArguments& arguments) {
  const auto comm = support::Communicator::world();
  check_dynamic(arguments);
  (void)curve_of(arguments);
  (void)partitioners::splitter_from_name(arguments.splitter);
  const partitioners::InputSpec spec = partitioners::parse_input(arguments.input, arguments.dim);
  const NamedFile outputs[] = {{"--csv", arguments.csv}, {"--json", arguments.json}, {"--picture", arguments.picture}};
  const NamedFile inputs[] = {{"--input", spec.path}};
  partitioners::check_together(comm, [&] {
    if (comm.is_root()) check_output_files(outputs, inputs, arguments.force);
  });
  set_threads_and_tell(comm, arguments.threads);
  std::vector<double> start;
  DynamicInput made;
  {
    PartitionInput size;
    size.spec = spec;
    if (spec.n > 0) check_partition_size(comm, arguments, spec.n, size);
    const auto input = partitioners::load_slice<double>(support::Communicator(), spec, arguments.threads);
    if (input.dim == 0) throw InputError(fmt::format("--dynamic works on points, and {} has none", input.name));
    if (input.weighted)
      throw InputError(
          fmt::format("--dynamic counts every point as 1, and {} has weights: use points without", input.name));
    if (!arguments.picture.empty() && input.dim != 2)
      throw InputError(
          fmt::format("--picture: {} has {} dimensions; with --dynamic pictures show 2", input.name, input.dim));
    if (comm.is_root())
      for (const std::string& note : input.notes) fmt::print(stderr, "amrbench: note: {}\n", note);
    start.assign(input.points.begin(), input.points.end());
    made = {input.name, input.size, input.dim, input.notes};
  }
  DynamicStudy study(comm, arguments, ChangingPoints(std::move(start), made.dim, arguments.batch, arguments.shift));
  std::vector<DynamicRow> rows{study.start()};
  if (comm.is_root()) print_rows(rows);
  for (int round = 1; round <= arguments.dynamic_rounds; ++round) {
    const bool measured =
        round == arguments.dynamic_rounds || (arguments.cut_every > 0 && round % arguments.cut_every == 0);
    rows.push_back(study.round(round, measured));
    if (comm.is_root()) print_rows(rows);
  }
  const support::Json record = dynamic_record(comm, arguments, made, rows);
  if (!comm.is_root()) return 0;
  print_summary(rows);
  const auto existing = arguments.force ? support::Existing::replace : support::Existing::refuse;
  if (!arguments.picture.empty())
    support::write_file_atomically(arguments.picture, png_picture(study.drawing(), arguments.pixels), existing);
  if (!arguments.csv.empty()) support::write_file_atomically(arguments.csv, dynamic_csv(rows), existing);
  if (!arguments.json.empty())
    support::write_file_atomically(
        arguments.json, record.dump(2, ' ', false, support::Json::error_handler_t::replace) + "\n", existing);
  return 0;
}

}  // namespace amrbench::apps
