// amrbench: adaptive mesh refinement, run, verified and timed. One file a subcommand stands beside this one.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <string_view>

#include "apps/commands.hpp"
#include "apps/names.hpp"
#include "apps/orb_command.hpp"
#include "apps/partition_command.hpp"
#include "support/error.hpp"
#include "support/provenance.hpp"

namespace {

using namespace amrbench;

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

/// Subcommands that do real work.
constexpr std::string_view kWork[] = {"run", "partition", "orb"};

/// Only they start MPI: `list`, `info` and help work where no MPI job can.
bool needs_mpi(int argc, char** argv) {
  if (argc < 2 || std::ranges::find(kWork, std::string_view(argv[1])) == std::end(kWork)) return false;
  return std::none_of(argv + 2, argv + argc,
                      [](std::string_view word) { return word == "--help" || word == "-h" || word == "--help-all"; });
}

/// The parser would say only that a subcommand is required.
void refuse_unknown_first_word(int argc, char** argv) {
  constexpr std::string_view kWords[] = {"run", "partition", "orb", "list", "info", "--help", "-h", "--version"};
  if (argc < 2) return;
  const std::string_view word(argv[1]);
  if (std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords)) return;
  const auto near = apps::nearest(word, kWords);
  throw support::InputError(fmt::format("{}: unknown {}; {}", word, word.starts_with('-') ? "option" : "subcommand",
                                        near ? fmt::format("did you mean {}?", *near) : "see amrbench --help"));
}

int command(int argc, char** argv, const apps::MpiSession* mpi) {
  refuse_unknown_first_word(argc, argv);
  CLI::App app("amrbench: adaptive mesh refinement, run, verified and timed", "amrbench");
  app.set_version_flag("--version", "amrbench " + support::build_info().version);
  app.require_subcommand(1);
  const auto run = apps::add_run_command(app);
  const auto partition = apps::add_partition_command(app);
  const auto orb = apps::add_orb_command(app);
  CLI::App* list = app.add_subcommand("list", "Names a configuration may use, one line each");
  CLI::App* info = app.add_subcommand("info", "This build, this machine, its back ends");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    const std::string_view word = argc > 1 ? argv[1] : "";
    const bool known = std::ranges::find(kWork, word) != std::end(kWork);
    throw support::InputError(
        fmt::format("{}; see amrbench {}{}--help", error.what(), known ? word : "", known ? " " : ""));
  }
  if (list->parsed()) {
    apps::list_command(std::cout);
  } else if (info->parsed()) {
    apps::info_command(std::cout);
  } else {
    // A word before the subcommand hid it from needs_mpi(): no such word is legal, the parser has refused it.
    if (!mpi) throw support::InputError("write the subcommand first: amrbench run ...");
    run->words.assign(argv, argv + argc);
    partition->words = orb->words = run->words;
    if (app.got_subcommand("partition")) return apps::partition_command(*partition, *mpi);
    if (app.got_subcommand("orb")) return apps::orb_command(*orb, *mpi);
    return apps::run_command(*run, *mpi);
  }
  return 0;
}

/// One line on standard error, whatever the message holds.
void print_error(std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  fmt::print(stderr, "amrbench: error: {}\n", message);
}

/// Ends a failed run: quietly and with one line when every rank failed, else by aborting the job.
int end_failed(int status, const std::string& message, apps::MpiSession* mpi) {
  constexpr std::chrono::seconds kPatience{5};
  if (mpi && mpi->size() > 1 && !mpi->all_failed(status, kPatience)) {
    print_error(fmt::format("rank {}: {}", mpi->rank(), message));
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  if (!mpi || mpi->rank() == 0) print_error(message);
  return status;
}

int guarded(int argc, char** argv, apps::MpiSession* mpi) {
  try {
    return command(argc, argv, mpi);
  } catch (const support::InputError& error) {
    return end_failed(kBadInput, error.what(), mpi);
  } catch (const std::exception& error) {
    return end_failed(kFailed, error.what(), mpi);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (!needs_mpi(argc, argv)) return guarded(argc, argv, nullptr);
  try {
    apps::MpiSession mpi(argc, argv);
    return guarded(argc, argv, &mpi);
  } catch (const std::exception& error) {
    print_error(error.what());
    return kFailed;
  }
}
