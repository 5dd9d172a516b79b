#include "apps/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iostream>
#include <limits>
#include <memory>

#include "apps/calibrate_command.hpp"
#include "apps/commands.hpp"
#include "apps/names.hpp"
#include "apps/orb_command.hpp"
#include "apps/partition/command.hpp"
#include "apps/replay_command.hpp"
#include "loadbalance/config.hpp"
#include "partitioners/orb/orb.hpp"
#include "partitioners/partitioner.hpp"
#include "support/error.hpp"
#include "support/provenance.hpp"

// Every option stands in this one file because CLI11 takes ten seconds of each source that includes it.
namespace amrbench::apps {

namespace {

constexpr std::int64_t kMostParts = 1 << 30;

/// Subcommands that do real work.
constexpr std::string_view kWork[] = {"run", "partition", "orb", "trace", "replay", "calibrate"};

/// Accepts whole numbers in decimal digits alone: the parser would read 010 as 8, 0x10 as 16, nothing as 0, and -1 as
/// the largest number that there is.
CLI::Validator whole(std::int64_t low, std::int64_t high) {
  return {[=](std::string& word) {
            std::int64_t value = 0;
            const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
            const bool is_octal = word.size() > 1 && word.front() == '0';
            if (error != std::errc{} || end != word.data() + word.size() || is_octal || value < low || value > high)
              return fmt::format("must be a whole number from {} to {}, not '{}'", low, high, word);
            return std::string();
          },
          fmt::format("{} to {}", low, high)};
}

/// Numbers of an entry of --parts: one, or nodes and tasks of "6x8".
std::vector<std::string> split_part_count(const std::string& word) {
  const std::size_t cross = word.find('x');
  if (cross == std::string::npos) return {word};
  return {word.substr(0, cross), word.substr(cross + 1)};
}

/// Accepts N and NODESxTASKS.
CLI::Validator part_count() {
  return {[](std::string& word) {
            std::int64_t parts = 1;
            for (std::string& number : split_part_count(word)) {
              std::string wrong = whole(1, kMostParts)(number);
              if (!wrong.empty()) return number == word ? wrong : fmt::format("{}, in '{}'", wrong, word);
              parts *= std::stoll(number);
              if (parts > kMostParts) return fmt::format("must be at most {} parts, not '{}'", kMostParts, word);
            }
            return std::string();
          },
          fmt::format("1 to {}", kMostParts)};
}

PartCount to_part_count(const std::string& word) {
  const std::vector<std::string> numbers = split_part_count(word);
  const int first = std::stoi(numbers[0]);
  return numbers.size() == 1 ? PartCount{first} : PartCount{first * std::stoi(numbers[1]), first};
}

/// Accepts finite decimal numbers alone: nan is in every range for the parser.
CLI::Validator real(double low, double high) {
  const bool bounded = high < std::numeric_limits<double>::max();
  const std::string range = bounded ? fmt::format("{} to {}", low, high) : fmt::format("{} or more", low);
  return {[=](std::string& word) {
            double value = 0;
            const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
            if (error != std::errc{} || end != word.data() + word.size() || !(value >= low && value <= high))
              return fmt::format("must be a number {}{}, not '{}'", bounded ? "from " : "of ", range, word);
            return std::string();
          },
          range};
}

/// A file, name or form that is given and empty is a variable of a script that was not set.
CLI::Validator filled() {
  return {[](std::string& word) { return word.empty() ? std::string("must not be empty") : std::string(); }, ""};
}

/// An option with a value that is not empty.
CLI::Option* add_word(CLI::App& command, const std::string& name, std::string& to, const char* type,
                      const std::string& text) {
  return command.add_option(name, to, text)->type_name(type)->check(filled());
}

template <class T>
CLI::Option* add_number(CLI::App& command, const std::string& name, T& to, const char* type,
                        const CLI::Validator& range, const std::string& text) {
  return command.add_option(name, to, text)->type_name(type)->check(range);
}

/// The parser would say only that a subcommand is required.
void refuse_unknown_first_word(int argc, char** argv) {
  constexpr std::string_view kWords[] = {"run",  "partition", "orb",    "trace", "replay",   "calibrate",
                                         "list", "info",      "--help", "-h",    "--version"};
  if (argc < 2) return;
  const std::string_view word(argv[1]);
  if (std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords)) return;
  const auto near = nearest(word, kWords);
  throw support::InputError(fmt::format("{}: unknown {}; {}", word, word.starts_with('-') ? "option" : "subcommand",
                                        near ? fmt::format("did you mean {}?", *near) : "see amrbench --help"));
}

std::shared_ptr<RunArguments> add_run(CLI::App& app) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* run = app.add_subcommand("run", "Run a configuration, verify and time it");
  run->add_option("CONFIG", arguments->config_path, "Configuration file (TOML, docs/config.md)");
  run->add_option_function<std::string>(
         "--miniamr",
         [arguments](const std::string& line) {
           arguments->miniamr = line;
           arguments->miniamr_given = true;
         },
         "Options as given to miniAMR, in quotes, instead of CONFIG (docs/miniamr.md)")
      ->type_name("OPTIONS");
  run->add_option("--set", arguments->settings, "Change one key: table.key=value, object.0.size=[1,1,1] (repeatable)")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_number(*run, "--threads", arguments->threads, "N", whole(0, 4096),
             "OpenMP threads a rank; 0 = all the rank may use");
  add_word(*run, "--out", arguments->out, "DIR", "Result folder; default results/<name>-<time>");
  add_word(*run, "--trace", arguments->trace, "FILE", "Record which blocks change, for amrbench replay");
  add_word(*run, "--restart", arguments->restart, "FOLDER",
           "Go on from the newest good checkpoint of a result folder, or from one slot; auto: of --out, else begin");
  run->add_flag("--dry-run", arguments->dry_run, "Check, print the resolved configuration and its memory, run nothing");
  run->add_flag("--quiet", arguments->quiet, "No progress and no notes");
  run->add_option("--progress", arguments->progress, "auto, live (one line rewritten), plain (lines) or none")
      ->type_name("MODE")
      ->check(CLI::IsMember({"auto", "live", "plain", "none"}));
  run->footer(
      "Exit status: 0 valid, 1 failed or not valid, 2 bad input, 75 not finished (SIGTERM) and to be restarted.");
  return arguments;
}

void add_inputs(CLI::App& command, PartitionArguments& arguments) {
  add_word(command, "--input", arguments.input, "INPUT",
           "grid:768x1152:9, grid:200x100x150:7; KIND:N[:SEED] or KIND:N:D:SEED of uniform, cluster, plummer, "
           "field, corner; sphere:K, sphere-adaptive:K, tetrahedra:N[:SEED]; blocks:PATH, file:PATH.csv, "
           "file:PATH.graph, file:PATH.ele, file:PATH[:D] (float64)")
      ->required();
  command.add_option("--method", arguments.methods, "Method, or several with commas; `amrbench list` names them")
      ->type_name("NAME")
      ->check(filled())
      ->delimiter(',')
      ->required();
  command
      .add_option_function<std::vector<std::string>>(
          "--parts",
          [&arguments](const std::vector<std::string>& words) {
            for (const std::string& word : words) arguments.parts.push_back(to_part_count(word));
          },
          "Number of parts, or NODESxTASKS: nodes first, tasks inside; several with commas")
      ->type_name("N")
      ->delimiter(',')
      ->check(part_count())
      ->required();
  add_word(command, "--weights", arguments.weights, "WEIGHTS",
           "random:SEED, or a file with a weight a point: .txt, .csv, else float64");
  add_word(command, "--graph", arguments.graph, "FILE", "METIS graph of points that have none");
  add_word(command, "--previous", arguments.previous, "FILE",
           "Previous part of each point, a line each: tells the weight moved");
  add_number(command, "--dim", arguments.dim, "D", whole(1, 16), "Dimensions; where the input does not tell, 3");
  add_word(command, "--splitter", arguments.splitter, "NAME", "How methods on a tree split nodes");
  add_word(command, "--slices", arguments.slices, "NAME", "How methods along a curve cut it: midpoint or exact");
  add_number(command, "--side-tolerance", arguments.side_tolerance, "X", real(0.0, 0.999),
             "orb: sides this near to the longest count as equal");
  add_word(command, "--chart", arguments.chart, "NAME",
           "Plane of curves and kd_parts over a sphere: none, hemispheres or conformal");
  add_number(command, "--bucket", arguments.bucket, "N", whole(1, std::numeric_limits<std::uint32_t>::max()),
             "Most points in a leaf of a tree");
  add_number(command, "--threads", arguments.threads, "N", whole(0, 4096),
             "OpenMP threads a rank; 0 = all the rank may use");
  add_number(command, "--repetitions", arguments.repetitions, "N", whole(1, 100000),
             "Calls of each method; time_s is their median");
  add_number(command, "--message-bytes", arguments.message_bytes, "N", whole(1, 1 << 30),
             "Methods on trees and keys over ranks: longest message of the transfer of points");
  add_number(command, "--nodes", arguments.nodes, "N", whole(1, kMostParts),
             "Group parts into so many nodes and measure between nodes");
  add_word(command, "--machine", arguments.machine, "FILE",
           "Model of a machine (TOML, docs/replay.md): seconds of a stage by update_s, latency_s and byte_s");
  add_number(command, "--edge-bytes", arguments.edge_bytes, "X", real(0.0, 1e12),
             "Of it: bytes sent across a cut edge");
  command.add_option("--phases", arguments.phases, "Of it: phases of computing, of communicating, of both at once")
      ->type_name("A,B,R")
      ->delimiter(',')
      ->expected(3)
      ->check(whole(0, 1 << 30));
  command
      .add_option(
          "--thread-costs", arguments.thread_costs,
          "Of it: threads of a part, bytes a unit of weight, seconds to fill a thread's cache, waits, seconds each")
      ->type_name("T,BYTES,FILL,WAITS,WAIT")
      ->delimiter(',')
      ->expected(5)
      ->check(real(0.0, 1e12));
  add_number(command, "--refine", arguments.refine, "ROUNDS", whole(0, 1000000),
             "Rounds of boundary refinement after the method; 0 = none");
  command.add_option("--refine-goal", arguments.refine_goal, "What refinement lowers: cut or volume")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"cut", "volume"}));
  add_number(command, "--refine-tolerance", arguments.refine_tolerance, "X", real(0.0, 1.0),
             "Refined parts may be so much heavier than the mean; 0 = no heavier than the heaviest was");
}

void add_outputs(CLI::App& command, PartitionArguments& arguments) {
  add_word(command, "--json", arguments.json, "FILE", "Record of the run, a row a method and part count");
  add_word(command, "--csv", arguments.csv, "FILE", "The rows alone");
  add_word(command, "--parts-file", arguments.parts_file, "FILE", "The part of each point, a line each");
  add_word(command, "--picture", arguments.picture, "FILE.png", "PNG picture, two dimensions");
  add_word(command, "--vtk", arguments.vtk, "FILE.vtk", "Legacy VTK file for ParaView");
  command.add_option("--draw", arguments.draw, "What --picture and --vtk show: parts or curve")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"parts", "curve"}));
  add_number(command, "--pixels", arguments.pixels, "N", whole(16, 16384), "Longer side of the picture");
  command.add_flag("--force", arguments.force, "Replace output files that exist");
}

/// Points that change (apps/partition/dynamic.hpp); the other options say what they need.
void add_dynamic(CLI::App& command, PartitionArguments& arguments) {
  CLI::Option* dynamic =
      add_number(command, "--dynamic", arguments.dynamic_rounds, "ROUNDS", whole(1, 1000000),
                 "So many rounds of points that come, go and move, in a tree that changes with them");
  add_number(command, "--batch", arguments.batch, "X", real(1e-9, 0.5),
             "Share of the points that is replaced, and as many that move, a round")
      ->needs(dynamic);
  add_number(command, "--shift", arguments.shift, "X", real(-1.0, 1.0),
             "How far newcomers drift a round, in longest sides of the input's box")
      ->needs(dynamic);
  add_number(command, "--merge", arguments.dynamic_merge, "X", real(0.0, 0.999),
             "Nodes of fewer than this share of --bucket points become leaves")
      ->needs(dynamic);
  command
      .add_option("--rebuild", arguments.dynamic_rebuild,
                  "parts: subtrees out of balance; cost: the whole too, when rounds have cost more than that")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"parts", "cost"}))
      ->needs(dynamic);
  command
      .add_flag("--compare", arguments.dynamic_compare, "Build a new tree every round, not after the last one alone")
      ->needs(dynamic);
  add_number(command, "--balance", arguments.balance, "X", real(0.55, 1.0),
             "Largest share of a node's points in one child; 1: any")
      ->needs(dynamic);
  add_number(command, "--neighbours", arguments.neighbours, "K", whole(0, 64),
             "Cuts are those of the graph of so many nearest neighbours; 0: not measured")
      ->needs(dynamic);
  add_number(command, "--cut-every", arguments.cut_every, "ROUNDS", whole(0, 1000000),
             "Rounds from one such measure to the next; 0: the last one alone")
      ->needs(dynamic);
}

std::shared_ptr<PartitionArguments> add_partition(CLI::App& app) {
  auto arguments = std::make_shared<PartitionArguments>();
  arguments->side_tolerance = partitioners::kOrbSideTolerance;
  arguments->message_bytes = partitioners::kMessageBytes;
  CLI::App* command = app.add_subcommand("partition", "Cut points or a graph into parts and measure them");
  add_inputs(*command, *arguments);
  add_dynamic(*command, *arguments);
  add_outputs(*command, *arguments);
  command->footer("docs/partition-command.md explains inputs and columns. Exit status: 0 done, 1 failed, 2 bad input.");
  return arguments;
}

std::shared_ptr<OrbArguments> add_orb(CLI::App& app) {
  auto arguments = std::make_shared<OrbArguments>();
  arguments->side_tolerance = partitioners::kOrbSideTolerance;
  CLI::App* command = app.add_subcommand("orb", "Orthogonal recursive bisection of points, timed");
  command
      ->add_option("--input", arguments->input,
                   "KIND:N[:SEED] or KIND:N:D:SEED of uniform, cluster, plummer, field, corner; "
                   "grid:NXxNY[xNZ], blocks:PATH, file:PATH.csv, file:PATH[:D] (float64)")
      ->required()
      ->type_name("INPUT")
      ->check(filled());
  command->add_option("--leaves", arguments->leaves, "Leaves of the tree")
      ->required()
      ->type_name("D")
      ->check(whole(1, std::numeric_limits<std::uint32_t>::max()));
  add_number(*command, "--dim", arguments->dim, "DIM", whole(2, 3), "2 or 3; where the input does not tell, 3");
  command->add_flag("--float", arguments->single, "Single-precision coordinates");
  add_word(*command, "--weights", arguments->weights, "WEIGHTS",
           "random:SEED, or a file with a weight a point: .txt, .csv, else float64");
  std::string methods;
  for (const partitioners::OrbMethod& method : partitioners::orb_methods())
    methods += fmt::format("{}{}", methods.empty() ? "" : ", ", method.name);
  command->add_option("--method", arguments->method, methods)->type_name("NAME")->check(filled());
  command->add_option("--backend", arguments->backend, "cpu, or cuda: on GPUs, one a rank as far as there are")
      ->type_name("NAME")
      ->check(filled())
      ->check(CLI::IsMember({"cpu", "cuda"}));
  add_number(*command, "--threads", arguments->threads, "N", whole(0, 4096),
             "OpenMP threads a rank; 0 = all the rank may use");
  add_number(*command, "--repeat", arguments->repeat, "K", whole(1, 1000), "Times to run; the median is reported");
  add_number(*command, "--side-tolerance", arguments->side_tolerance, "X", real(0.0, 0.999),
             "Sides this near to the longest count as equal");
  command->add_flag("--roofline", arguments->roofline, "Measure counting and show each level against the memory");
  add_word(*command, "--json", arguments->json, "FILE", "Write the record there");
  add_word(*command, "--labels", arguments->labels_file, "FILE", "Write the leaf of each point there, raw 32-bit");
  add_word(*command, "--permutation", arguments->permutation_file, "FILE",
           "Write the points' numbers by leaf, raw 32-bit");
  command->add_flag("--force", arguments->force, "Replace output files that exist");
  return arguments;
}

std::shared_ptr<TraceArguments> add_trace(CLI::App& app) {
  auto arguments = std::make_shared<TraceArguments>();
  CLI::App* command = app.add_subcommand("trace", "Record for replay how a configuration's mesh changes");
  command->add_option("CONFIG", arguments->config_path, "Configuration file (TOML, docs/config.md)")->required();
  add_word(*command, "-o,--output", arguments->file, "FILE", "The trace")->required();
  command->add_option("--set", arguments->settings, "Change one key: table.key=value (repeatable)")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_flag("--force", arguments->force, "Replace a file that exists");
  return arguments;
}

std::shared_ptr<ReplayArguments> add_replay(CLI::App& app) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* command = app.add_subcommand("replay", "Strategies on the meshes of a trace, at any number of ranks");
  command->add_option("TRACE", arguments->trace, "Trace of `amrbench run --trace` or `amrbench trace`")->required();
  command->add_option("--ranks", arguments->ranks, "Numbers of ranks, with commas")
      ->type_name("N")
      ->delimiter(',')
      ->check(whole(1, 1 << 20))
      ->required();
  const auto names = [&](const char* option, std::vector<std::string>& to, const char* text) {
    return command->add_option(option, to, text)->type_name("NAME")->check(filled())->delimiter(',');
  };
  names("--partition", arguments->partitions, "Partitioners, with commas; `amrbench list` names them")->required();
  names("--policy", arguments->policies, "Balance policies, with commas")->required();
  names("--weights", arguments->weights, "Cost models, with commas");
  names("--slices", arguments->slices, "Rules of slices, with commas");
  add_word(*command, "--splitter", arguments->splitter, "NAME", "How methods on a tree split nodes");
  command->add_flag("--rename", arguments->rename, "Parts take the numbers of the ranks where most of them is");
  command
      ->add_option("--nodes", arguments->nodes,
                   "Nodes that blocks are placed over first, with commas; 0 = one level, "
                   "-1 = those of the machine")
      ->type_name("N")
      ->delimiter(',')
      ->check(whole(loadbalance::kNodesOfRun, 1 << 20));
  add_number(*command, "--ranks-per-node", arguments->ranks_per_node, "N", whole(1, 1 << 20),
             "Of the machine, in place of its model's");
  add_number(*command, "--threshold", arguments->threshold, "X", real(0.0, std::numeric_limits<double>::max()),
             "Of policy threshold");
  add_number(*command, "--every", arguments->every, "N", whole(1, 1 << 30), "Of policy every_n");
  add_word(*command, "--machine", arguments->machine, "FILE", "Model of a machine (TOML, docs/replay.md)");
  add_number(*command, "--threads", arguments->threads, "N", whole(0, 4096),
             "OpenMP threads a rank; 0 = all the rank may use");
  command->add_option("--export", arguments->exported, "lbaf PREFIX: one combination as LBAF reads it, a file a rank")
      ->type_name("FORMAT PREFIX")
      ->expected(2);
  command->add_flag("--no-optimum", arguments->no_optimum, "Do not search the best schedule");
  add_word(*command, "--json", arguments->json, "FILE", "Record of the replay, a row a combination");
  add_word(*command, "--csv", arguments->csv, "FILE", "The rows alone");
  add_word(*command, "--series", arguments->series, "FILE", "CSV, a row a combination and refinement");
  command->add_flag("--force", arguments->force, "Replace output files that exist");
  command->footer("docs/replay.md explains model and columns. Exit status: 0 done, 1 failed, 2 bad input.");
  return arguments;
}

std::shared_ptr<CalibrateArguments> add_calibrate(CLI::App& app) {
  auto arguments = std::make_shared<CalibrateArguments>();
  CLI::App* command = app.add_subcommand("calibrate", "Fit the model of a machine, for replay, to runs on this one");
  command->add_option("CONFIG", arguments->config_path,
                      "Time its blocks, variables and stencil (TOML); without it, blocks of several shapes");
  command->add_option("--set", arguments->settings, "Change one key of CONFIG: table.key=value (repeatable)")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_word(*command, "-o,--output", arguments->file, "FILE", "The model (TOML, docs/replay.md)")->required();
  add_number(*command, "--threads", arguments->threads, "N", whole(0, 4096),
             "OpenMP threads a rank; 0 = all the rank may use");
  add_number(*command, "--repetitions", arguments->repetitions, "N", whole(1, 1000),
             "How often each case is run; the quickest counts");
  add_number(*command, "--checks", arguments->checks, "N", whole(0, 1000), "Other runs that check it, drawn at random");
  add_number(*command, "--seed", arguments->seed, "N", whole(0, 1 << 30), "Of the draw");
  command->add_flag("--force", arguments->force, "Replace a file that exists");
  return arguments;
}

}  // namespace

bool does_work(std::string_view subcommand) {
  return std::ranges::find(kWork, subcommand) != std::end(kWork);
}

int run_command_line(int argc, char** argv, const MpiSession* mpi) {
  refuse_unknown_first_word(argc, argv);
  CLI::App app("amrbench: adaptive mesh refinement, run, verified and timed", "amrbench");
  app.set_version_flag("--version", "amrbench " + support::build_info().version);
  app.require_subcommand(1);
  const auto run = add_run(app);
  const auto partition = add_partition(app);
  const auto orb = add_orb(app);
  const auto trace = add_trace(app);
  const auto replay = add_replay(app);
  const auto calibrate = add_calibrate(app);
  CLI::App* list = app.add_subcommand("list", "Names a configuration may use, one line each");
  CLI::App* info = app.add_subcommand("info", "This build, this machine, its back ends");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    const std::string_view word = argc > 1 ? argv[1] : "";
    const bool known = does_work(word);
    throw support::InputError(
        fmt::format("{}; see amrbench {}{}--help", error.what(), known ? word : "", known ? " " : ""));
  }
  if (list->parsed()) {
    list_command(std::cout);
  } else if (info->parsed()) {
    info_command(std::cout);
  } else {
    // A word before the subcommand hid it from needs_mpi(): no such word is legal, the parser has refused it.
    if (!mpi) throw support::InputError("write the subcommand first: amrbench run ...");
    run->words.assign(argv, argv + argc);
    partition->words = orb->words = replay->words = run->words;
    if (app.got_subcommand("partition")) return partition_command(*partition, *mpi);
    if (app.got_subcommand("orb")) return orb_command(*orb, *mpi);
    if (app.got_subcommand("trace")) return trace_command(*trace, *mpi);
    if (app.got_subcommand("calibrate")) return calibrate_command(*calibrate, *mpi);
    if (app.got_subcommand("replay")) return replay_command(*replay, *mpi);
    return run_command(*run, *mpi);
  }
  return 0;
}

}  // namespace amrbench::apps
