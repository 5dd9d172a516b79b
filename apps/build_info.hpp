#pragma once
// What this program was built from and with: for `info` and the provenance of run records.
#include <string>

namespace amrbench::apps {

struct BuildInfo {
  std::string version;
  std::string commit;      ///< full hash, "+changes" behind it when the tree differed; "unknown" outside git
  std::string build_type;  ///< Release, Debug, ...
  std::string compiler;    ///< name and version
  std::string flags;
};

BuildInfo build_info();

}  // namespace amrbench::apps
