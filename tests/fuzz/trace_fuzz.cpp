// Traces: files as they come, and, for check sums stop nearly all that is tried there, payloads in sound frames.
#include <zlib.h>

#include <optional>

#include "loadbalance/replay/trace.hpp"
#include "loadbalance/replay/trace_mesh.hpp"
#include "tests/fuzz/single_process.hpp"
#include "tests/fuzz/targets.hpp"

namespace amrbench::fuzz {

namespace {

void put32(std::string& out, std::size_t value) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(value >> (8 * i));
}

/// The first two lines as they are; then payloads: a letter, the length in a byte, the bytes. 0 bytes of length: all
/// that is left.
std::string framed(std::string_view bytes) {
  const std::size_t first = bytes.find('\n');
  const std::size_t second = first == std::string_view::npos ? first : bytes.find('\n', first + 1);
  if (second == std::string_view::npos) return std::string(bytes);
  std::string file(bytes.substr(0, second + 1));
  bytes.remove_prefix(second + 1);
  while (bytes.size() >= 2) {
    const char kind = bytes[0];
    const auto length = static_cast<unsigned char>(bytes[1]);
    const std::string payload(bytes.substr(2, length == 0 ? std::string_view::npos : length));
    bytes.remove_prefix(2 + payload.size());
    uLongf size = compressBound(payload.size());
    std::string packed(size, '\0');
    compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(payload.data()),
              payload.size(), 1);
    packed.resize(size);
    file += kind;
    put32(file, payload.size());
    put32(file, packed.size());
    put32(file, crc32(0, reinterpret_cast<const Bytef*>(packed.data()), static_cast<uInt>(packed.size())));
    file += packed;
  }
  return file;
}

/// Reads a trace to its end, and follows it as long as its mesh is small.
template <int Dim>
void follow(loadbalance::TraceReader& reader) {
  constexpr double kSmall = 4096;
  const auto& root = reader.header().root;
  const bool small = static_cast<double>(root[0]) * root[1] * root[2] <= kSmall;
  static_cast<void>(reader.header().block_bytes());
  std::optional<loadbalance::TraceMesh<Dim>> mesh;
  if (small) mesh.emplace(reader.header(), "morton");
  loadbalance::TraceRefinement refinement;
  std::int64_t stages = 0;
  while (reader.next(refinement)) {
    promise(refinement.stages >= stages && refinement.step >= 0, "a trace goes back in time");
    stages = refinement.stages;
    if (mesh && mesh->mesh().size() <= kSmall) mesh->set_costs(mesh->costs(refinement.costs));
    for (const loadbalance::TracePass& pass : refinement.passes) {
      if (!mesh || mesh->mesh().size() > kSmall) break;
      mesh->apply(mesh->changes(pass));
      promise(mesh->mesh().size() > 0, "a mesh without blocks");
      for (const double cost : mesh->mesh().weights()) promise(cost >= 0.0, "a cost below 0");
    }
  }
  promise(reader.stages() >= stages, "the end goes back in time");
}

}  // namespace

void trace(std::string_view bytes) {
  single_process();
  for (const std::string& content : {std::string(bytes), framed(bytes)}) {
    const ScratchFile file("trace", content);
    accepts([&] {
      loadbalance::TraceReader reader(file.path());
      reader.header().dim == 2 ? follow<2>(reader) : follow<3>(reader);
    });
  }
}

}  // namespace amrbench::fuzz
