#pragma once
// `amrbench orb`: orthogonal recursive bisection of points, timed and summed up.
#include <cstdint>
#include <string>
#include <vector>

#include "apps/mpi_session.hpp"

namespace amrbench::apps {

struct OrbArguments {
  std::string input;
  int dim = 0;          ///< 0: as the input tells, else 3
  bool single = false;  ///< float coordinates
  std::uint64_t leaves = 0;
  std::string weights;
  std::string method = "auto";
  std::string backend = "cpu";  ///< or cuda
  int threads = 0;
  int repeat = 1;
  double side_tolerance = 0;
  bool roofline = false;
  std::string json;
  std::string labels_file;
  std::string permutation_file;
  bool force = false;              ///< output files may be replaced
  std::vector<std::string> words;  ///< the whole command line, the program first
};

/// Collective; returns the exit status. support::InputError for bad input.
int orb_command(const OrbArguments& arguments, const MpiSession& mpi);

}  // namespace amrbench::apps
