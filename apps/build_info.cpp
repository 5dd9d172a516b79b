#include "apps/build_info.hpp"

#include "build_commit.hpp"  // written by every build
#include "build_flags.hpp"   // written at configuration

namespace amrbench::apps {

BuildInfo build_info() {
  return {.version = AMRBENCH_BUILD_VERSION,
          .commit = AMRBENCH_BUILD_COMMIT,
          .build_type = AMRBENCH_BUILD_TYPE,
          .compiler = AMRBENCH_BUILD_COMPILER,
          .flags = AMRBENCH_BUILD_FLAGS};
}

}  // namespace amrbench::apps
