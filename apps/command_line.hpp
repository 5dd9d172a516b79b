#pragma once
// The command line of amrbench: its words are read here, and the subcommand they name is run.
#include <string_view>

namespace amrbench::apps {

class MpiSession;

/// True for the subcommands that do real work and so need MPI; `list`, `info` and help work where no MPI job can.
[[nodiscard]] bool does_work(std::string_view subcommand);

/// Reads the words and runs the subcommand; mpi is null for those that do no work. Collective where MPI runs. Returns
/// the exit status; support::InputError for words that are no command.
int run_command_line(int argc, char** argv, const MpiSession* mpi);

}  // namespace amrbench::apps
