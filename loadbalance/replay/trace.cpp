#include "loadbalance/replay/trace.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "partitioners/inputs/memory_check.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {

namespace {

namespace fs = std::filesystem;
using support::InputError;
using support::RunError;

constexpr std::string_view kMagic = "amrbench-trace ";
constexpr int kVersion = 2;
constexpr std::size_t kMostHeader = 1 << 16;
/// A frame's payload may not be larger, so that a damaged length takes no memory: 2^27 changes of a byte or two.
constexpr std::uint32_t kMostPayload = 1U << 29;
constexpr std::uint32_t kLargePayload = 1U << 24;
constexpr std::size_t kFrameHead = 13;
constexpr int kMostPasses = 64;
constexpr double kMostCost = 1e6;

void put(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_codes(std::string& out, const std::vector<std::uint64_t>& codes) {
  put(out, codes.size());
  std::uint64_t before = 0;
  for (const std::uint64_t code : codes) {
    put(out, code - before);
    before = code;
  }
}

void put_costs(std::string& out, const CostRuns& costs) {
  put(out, costs.size());
  for (const auto& [blocks, cost] : costs) {
    put(out, blocks);
    const auto bits = std::bit_cast<std::uint64_t>(cost);
    for (int i = 0; i < 8; ++i) out += static_cast<char>(bits >> (8 * i));
  }
}

bool is_cost(double cost) {
  return cost >= 0.0 && cost <= kMostCost;
}

void put32(std::string& out, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(value >> (8 * i));
}
std::uint32_t get32(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

std::uint32_t crc(const std::string& bytes) {
  return static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

/// What is left of a payload; refuses with the reason as an exception of its own.
class Payload {
 public:
  explicit Payload(const std::string& bytes) : bytes_(bytes) {}
  std::uint64_t get() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      if (at_ >= bytes_.size()) throw InputError("a record ends too early");
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      if (shift > 56 && (byte >> (63 - shift)) > 1) throw InputError("a number is too large");
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
      if (shift >= 63) throw InputError("a number is too large");
    }
  }
  std::int64_t get_signed() {
    const std::uint64_t value = get();
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      throw InputError("a number is too large");
    return static_cast<std::int64_t>(value);
  }
  void get_codes(std::vector<std::uint64_t>& codes) {
    const std::uint64_t n = get();
    if (n > bytes_.size() - at_) throw InputError("more blocks than the record has room for");
    codes.resize(n);
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t step = get();
      if ((i > 0 && step == 0) || step > std::numeric_limits<std::uint64_t>::max() - before)
        throw InputError("blocks are not in ascending order");
      codes[i] = before += step;
    }
  }
  void get_costs(CostRuns& costs) {
    constexpr std::size_t kLeastBytes = 9;
    const std::uint64_t n = get();
    if (n > (bytes_.size() - at_) / kLeastBytes) throw InputError("more costs than the record has room for");
    costs.resize(n);
    for (auto& [blocks, cost] : costs) {
      blocks = get();
      if (bytes_.size() - at_ < sizeof(double)) throw InputError("a record ends too early");
      std::uint64_t bits = 0;
      for (int i = 0; i < 8; ++i) bits |= std::uint64_t{static_cast<unsigned char>(bytes_[at_++])} << (8 * i);
      cost = std::bit_cast<double>(bits);
      if (blocks == 0 || !is_cost(cost)) throw InputError("a cost that is none");
    }
  }
  [[nodiscard]] bool is_empty() const { return at_ == bytes_.size(); }

 private:
  const std::string& bytes_;
  std::size_t at_ = 0;
};

/// A whole number of the header, and no other kind that would become one.
template <class T>
T whole_number(const nlohmann::json& value) {
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() >> 63 != 0) ||
      !std::in_range<T>(value.get<std::int64_t>()))
    throw InputError(fmt::format("{} is no whole number, or a too large one", value.dump()));
  return value.get<T>();
}
/// One an axis; 1 along the third where there is none.
std::array<int, 3> axis_numbers(const nlohmann::json& value, int dim) {
  if (!value.is_array() || value.size() != static_cast<std::size_t>(dim))
    throw InputError(fmt::format("root and block must be {} integers", dim));
  return {whole_number<int>(value[0]), whole_number<int>(value[1]), dim == 3 ? whole_number<int>(value[2]) : 1};
}

nlohmann::json axis_list(const std::array<int, 3>& numbers, int dim) {
  return std::vector<int>(numbers.begin(), numbers.begin() + dim);
}

std::array<bool, 3> axis_flags(const nlohmann::json& value, int dim) {
  std::array<bool, 3> flags{};
  for (std::size_t d = 0; d < static_cast<std::size_t>(dim); ++d) {
    if (!value.is_array() || value.size() != static_cast<std::size_t>(dim) || !value[d].is_boolean())
      throw InputError(fmt::format("periodic must be {} times true or false", dim));
    flags[d] = value[d].get<bool>();
  }
  return flags;
}

std::array<double, 3> three_reals(const nlohmann::json& value) {
  std::array<double, 3> reals{};
  for (std::size_t d = 0; d < 3; ++d) {
    if (!value.is_array() || value.size() != 3 || !value[d].is_number())
      throw InputError("lo and hi of work must be 3 numbers");
    reals[d] = value[d].get<double>();
  }
  return reals;
}

void check_header(const TraceHeader& h) {
  const auto in = [](std::int64_t value, std::int64_t low, std::int64_t high) { return value >= low && value <= high; };
  int bits = 0;
  for (int d = 0; d < h.dim; ++d) {
    if (!in(h.root[d], 1, 1 << 20) || !in(h.block[d], 2, 32) || h.block[d] % 2 != 0)
      throw InputError(fmt::format("root must be {0} integers >= 1, block {0} even integers from 2 to 32", h.dim));
    while ((1 << bits) < h.root[d]) ++bits;
  }
  const std::int64_t cells = std::int64_t{h.root[0]} * h.root[1] * h.root[2];  // of 60 bits at most
  if (cells > std::numeric_limits<std::int32_t>::max())
    throw InputError(fmt::format("root has {} cells; at most 2^31 - 1 are possible", cells));
  if (!in(h.max_level, 0, 20 - bits)) throw InputError("max_level is too large for root");
  if (!in(h.variables, 1, 1 << 20) || h.steps < 0) throw InputError("variables must be >= 1, steps >= 0");
  if (!in(h.halo.variables, 0, h.variables) || !in(h.halo.layers, 1, 32))
    throw InputError("halo must have variables from 0 to those of a block, layers from 1 to 32");
  if (h.dim == 2 && !h.work.empty()) throw InputError("in 2 dimensions there is no work");
  for (const amr::WorkConfig& w : h.work)
    if (!in(w.factor, 1, 1000)) throw InputError("work.factor must be from 1 to 1000");
}

}  // namespace

std::int64_t TraceHeader::block_bytes() const {
  constexpr std::int64_t kEntry = 17;  // weight, key, change (amr/migrate.cpp)
  return static_cast<std::int64_t>(layout().block_values()) * 8 + kEntry;
}

TraceWriter::TraceWriter(fs::path file, const TraceHeader& header)
    : file_(std::move(file)), unfinished_(file_.string() + ".part") {
  std::error_code error;
  if (fs::is_directory(file_, error)) throw RunError(fmt::format("trace {}: is a folder", file_.string()));
  const fs::file_status unfinished = fs::symlink_status(unfinished_, error);
  if (fs::exists(unfinished) && !fs::is_regular_file(unfinished))
    throw RunError(fmt::format("trace {}: is no regular file", unfinished_.string()));
  out_.open(unfinished_, std::ios::binary | std::ios::trunc);
  nlohmann::json json{{"dim", header.dim},
                      {"root", axis_list(header.root, header.dim)},
                      {"max_level", header.max_level},
                      {"block", axis_list(header.block, header.dim)},
                      {"variables", header.variables},
                      {"steps", header.steps},
                      {"name", header.name}};
  if (header.halo.variables > 0) json["halo"] = {{"variables", header.halo.variables}, {"layers", header.halo.layers}};
  if (std::ranges::count(header.periodic, true) > 0)
    json["periodic"] = std::vector<bool>(header.periodic.begin(), header.periodic.begin() + header.dim);
  for (const amr::WorkConfig& w : header.work)
    json["work"].push_back({{"factor", w.factor}, {"lo", w.lo}, {"hi", w.hi}, {"rank", w.rank}});
  out_ << kMagic << kVersion << '\n' << json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) << '\n';
  if (!out_.flush()) throw RunError(fmt::format("trace {}: cannot be written", unfinished_.string()));
}

TraceWriter::~TraceWriter() {
  if (!out_.is_open()) return;
  out_.close();
  std::error_code ignored;
  fs::remove(unfinished_, ignored);
}

void TraceWriter::frame(char kind, const std::string& payload) {
  if (payload.size() > kMostPayload) throw RunError(fmt::format("trace {}: a refinement is too large", file_.string()));
  uLongf size = compressBound(payload.size());
  std::string packed(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(payload.data()),
                payload.size(), Z_DEFAULT_COMPRESSION) != Z_OK)
    throw RunError(fmt::format("trace {}: cannot be compressed", file_.string()));
  packed.resize(size);
  std::string head(1, kind);
  put32(head, static_cast<std::uint32_t>(payload.size()));
  put32(head, static_cast<std::uint32_t>(packed.size()));
  put32(head, crc(packed));
  out_ << head << packed;
  if (!out_.flush()) throw RunError(fmt::format("trace {}: cannot be written", unfinished_.string()));
}

void TraceWriter::write(const TraceRefinement& refinement) {
  std::string payload;
  put(payload, static_cast<std::uint64_t>(refinement.step));
  put(payload, static_cast<std::uint64_t>(refinement.stages));
  put(payload, refinement.passes.size());
  for (const TracePass& pass : refinement.passes) {
    for (std::size_t level = 0; level < pass.splits.size(); ++level) {
      put_codes(payload, pass.splits[level]);
      put_codes(payload, pass.merges[level]);
    }
  }
  for (const CostRuns* costs : {&refinement.costs, &refinement.costs_after}) {
    if (!std::ranges::all_of(*costs, [](const auto& run) { return is_cost(run.second); }))
      throw RunError(fmt::format("trace {}: a block's cost is not from 0 to {:.0f}", file_.string(), kMostCost));
    put_costs(payload, *costs);
  }
  frame('R', payload);
  ++refinements_;
}

void TraceWriter::finish(std::int64_t steps, std::int64_t stages) {
  std::string payload;
  for (const std::int64_t value : {steps, stages, refinements_}) put(payload, static_cast<std::uint64_t>(value));
  frame('E', payload);
  out_.close();
  std::error_code error;
  fs::rename(unfinished_, file_, error);
  if (error) throw RunError(fmt::format("trace {}: cannot be written: {}", file_.string(), error.message()));
}

TraceReader::TraceReader(fs::path file) : file_(std::move(file)) {
  std::error_code error;
  if (!fs::exists(file_, error)) refuse("no such file");
  if (fs::is_directory(file_, error)) refuse("is a folder; a file is needed");
  if (!fs::is_regular_file(file_, error)) refuse("is a pipe or a device; a file is needed");
  left_ = fs::file_size(file_, error);
  in_.open(file_, std::ios::binary);
  if (!in_) refuse("cannot be read");
  read_header();
}

void TraceReader::refuse(const std::string& why) const {
  throw InputError(fmt::format("trace {}: {}", file_.string(), why));
}

void TraceReader::read_header() {
  const auto line = [&](std::size_t most) {
    std::string text;
    for (char c = 0; text.size() < most && in_.get(c);) {
      --left_;
      if (c == '\n') return text;
      text += c;
    }
    refuse("is no trace of amrbench");
  };
  const std::string magic = line(64);
  if (!magic.starts_with(kMagic)) refuse("is no trace of amrbench");
  const std::string version = magic.substr(kMagic.size());
  if (version != "1" && version != std::to_string(kVersion))
    refuse(fmt::format("has version {}; this program reads versions 1 to {}", version, kVersion));
  has_costs_ = version != "1";
  try {
    const auto json = nlohmann::json::parse(line(kMostHeader));
    if (json.contains("dim")) header_.dim = whole_number<int>(json.at("dim"));
    if (header_.dim != 2 && header_.dim != 3) throw InputError("dim must be 2 or 3");
    header_.root = axis_numbers(json.at("root"), header_.dim);
    header_.max_level = whole_number<int>(json.at("max_level"));
    header_.block = axis_numbers(json.at("block"), header_.dim);
    header_.variables = whole_number<int>(json.at("variables"));
    header_.steps = whole_number<std::int64_t>(json.at("steps"));
    header_.name = json.at("name").get<std::string>();
    if (json.contains("halo"))
      header_.halo = {whole_number<int>(json.at("halo").at("variables")),
                      whole_number<int>(json.at("halo").at("layers"))};
    if (json.contains("periodic")) header_.periodic = axis_flags(json.at("periodic"), header_.dim);
    if (json.contains("work")) {
      for (const auto& w : json.at("work"))
        header_.work.push_back({whole_number<int>(w.at("factor")), three_reals(w.at("lo")), three_reals(w.at("hi")),
                                whole_number<int>(w.at("rank"))});
    }
    check_header(header_);
  } catch (const nlohmann::json::exception&) {
    refuse("its header is damaged");
  } catch (const InputError& error) {
    refuse(fmt::format("its header is wrong: {}", error.what()));
  }
}

bool TraceReader::read_frame(char& kind, std::string& payload) {
  char head[kFrameHead];
  if (left_ < kFrameHead || !in_.read(head, kFrameHead)) return false;
  left_ -= kFrameHead;
  kind = head[0];
  const std::uint32_t size = get32(head + 1), packed_size = get32(head + 5);
  if (size > kMostPayload || packed_size > left_) return false;
  std::string packed(packed_size, '\0');
  if (!in_.read(packed.data(), packed_size)) return false;
  left_ -= packed_size;
  // Each byte may become a code of eight.
  if (size > kLargePayload)
    partitioners::check_memory(fmt::format("trace {}", file_.string()), 9.0 * size, partitioners::memory_share({}));
  // zlib packs at most 1032 to 1.
  if (crc(packed) != get32(head + 9) || size / 1100 > packed_size + 1) return false;
  payload.resize(size);
  uLongf unpacked = size;
  return uncompress(reinterpret_cast<Bytef*>(payload.data()), &unpacked, reinterpret_cast<const Bytef*>(packed.data()),
                    packed_size) == Z_OK &&
         unpacked == size;
}

bool TraceReader::next(TraceRefinement& refinement) {
  char kind = 0;
  std::string bytes;
  const auto where = [&] { return fmt::format("after refinement {}", refinements_); };
  if (!read_frame(kind, bytes)) refuse(fmt::format("is damaged or cut off {}", where()));
  try {
    Payload payload(bytes);
    if (kind == 'E') {
      const std::int64_t steps = payload.get_signed(), stages = payload.get_signed();
      if (payload.get_signed() != refinements_ || !payload.is_empty() || left_ != 0 || steps < steps_ ||
          stages < stages_)
        throw InputError("the end does not fit what comes before");
      steps_ = steps;
      stages_ = stages;
      return false;
    }
    if (kind != 'R') throw InputError("a record of an unknown kind");
    refinement.step = payload.get_signed();
    refinement.stages = payload.get_signed();
    const std::uint64_t passes = payload.get();
    if (passes > kMostPasses) throw InputError("too many passes");
    refinement.passes.assign(passes, {});
    for (TracePass& pass : refinement.passes) {
      pass.splits.resize(static_cast<std::size_t>(header_.max_level) + 1);
      pass.merges.resize(pass.splits.size());
      for (std::size_t level = 0; level < pass.splits.size(); ++level) {
        payload.get_codes(pass.splits[level]);
        payload.get_codes(pass.merges[level]);
      }
    }
    refinement.costs.clear();
    refinement.costs_after.clear();
    if (has_costs_) {
      payload.get_costs(refinement.costs);
      payload.get_costs(refinement.costs_after);
    }
    if (!payload.is_empty()) throw InputError("a record is too long");
    if (refinement.stages < stages_ || refinement.step < steps_) throw InputError("refinements are out of order");
    steps_ = refinement.step;
    stages_ = refinement.stages;
  } catch (const InputError& error) {
    refuse(fmt::format("is damaged {}: {}", where(), error.what()));
  }
  ++refinements_;
  return true;
}

}  // namespace amrbench::loadbalance
