#include "amr/checkpoint/slots.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>

#include "amr/checkpoint/part.hpp"
#include "amr/checkpoint/run_state.hpp"
#include "support/atomic_file.hpp"
#include "support/error.hpp"

namespace amrbench::amr {

namespace {

constexpr std::string_view kSlotPrefix = "slot-";
constexpr const char* kManifestName = "manifest.json";
constexpr const char* kPointerName = "last-good";

[[noreturn]] void refuse_checkpoint(const std::filesystem::path& path, const std::string& problem) {
  throw support::RunError(fmt::format("cannot write checkpoint {}: {}", path.string(), problem));
}

/// The names in a folder to the disk.
void flush_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) refuse_checkpoint(folder, std::strerror(errno));
  const int error = ::fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;  // EINVAL: a file system without it
  ::close(descriptor);
  if (error != 0) refuse_checkpoint(folder, std::strerror(error));
}

/// The object with its digest in front, the first line.
std::string sealed(std::string_view json) {
  const std::string body = fmt::format("{}\n", json.substr(1));
  return fmt::format("{{\"xxh3\": \"{:016x}\",\n{}", digest_of(std::as_bytes(std::span(body))), body);
}

/// The whole file, at most `most` bytes; sizes are looked at first.
std::string file_text(const std::filesystem::path& path, std::int64_t most) {
  const std::string name = path.filename().string();
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw DamagedError(fmt::format("{}: {}", name, std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) throw DamagedError(name + ": it is no file");
  if (status.st_size > most) throw DamagedError(fmt::format("{}: larger than {} bytes", name, most));
  std::string text(std::size_t(status.st_size), '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(text.data(), std::streamsize(text.size()))) throw DamagedError(name + ": cannot be read");
  return text;
}

/// Back from sealed().
std::string unsealed(const std::filesystem::path& path, std::int64_t most) {
  const std::string text = file_text(path, most);
  const std::size_t line = text.find('\n');
  const std::string_view body = std::string_view(text).substr(line == std::string::npos ? text.size() : line + 1);
  if (text != fmt::format("{{\"xxh3\": \"{:016x}\",\n{}", digest_of(std::as_bytes(std::span(body))), body))
    throw DamagedError(path.filename().string() + ": its digest differs");
  return fmt::format("{{{}", body);
}

}  // namespace

std::filesystem::path slot_folder(const std::filesystem::path& folder, std::int64_t number) {
  return folder / fmt::format("{}{:06}", kSlotPrefix, number);
}

std::filesystem::path part_file(const std::filesystem::path& slot, std::int64_t part) {
  return slot / fmt::format("part-{:05}.h5", part);
}

std::optional<std::int64_t> slot_number(const std::filesystem::path& slot) {
  const std::string name = slot.filename().string();
  if (!name.starts_with(kSlotPrefix)) return {};
  std::int64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + kSlotPrefix.size(), end, number);
  const bool is_ours = error == std::errc{} && at == end && number >= 0 && slot_folder({}, number) == name;
  return is_ours ? std::optional(number) : std::nullopt;
}

std::vector<std::int64_t> list_slots(const std::filesystem::path& folder) {
  std::vector<std::int64_t> numbers;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (const auto number = slot_number(at->path())) numbers.push_back(*number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void make_slot(const std::filesystem::path& folder, std::int64_t number) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) refuse_checkpoint(folder, error.message());
  const std::filesystem::path slot = slot_folder(folder, number);
  if (!std::filesystem::create_directory(slot, error)) refuse_checkpoint(slot, error ? error.message() : "it is there");
  flush_folder(folder);
  flush_folder(folder.has_parent_path() ? folder.parent_path() : ".");
}

void write_manifest(const std::filesystem::path& slot, std::string_view json) {
  support::write_file_atomically(slot / kManifestName, sealed(json));
  flush_folder(slot);
}

void write_last_good(const std::filesystem::path& folder, std::int64_t number) {
  const std::string text = fmt::format("{{\"slot\": {}}}", number);
  support::write_file_atomically(folder / kPointerName, sealed(text), support::Existing::replace);
  flush_folder(folder);
}

void keep_slots(const std::filesystem::path& folder, std::int64_t newest, std::int64_t before) {
  std::error_code ignored;
  for (const std::int64_t number : list_slots(folder))
    if (number != newest && number != before) std::filesystem::remove_all(slot_folder(folder, number), ignored);
}

std::string read_manifest(const std::filesystem::path& slot) {
  return unsealed(slot / kManifestName, kMostManifestBytes);
}

std::int64_t read_last_good(const std::filesystem::path& folder) {
  constexpr std::int64_t kMost = 4096;
  const std::string text = unsealed(folder / kPointerName, kMost);
  try {
    return whole_number(nlohmann::ordered_json::parse(text).at("slot"));
  } catch (const std::exception&) {
    throw DamagedError(std::string(kPointerName) + ": it names no slot");
  }
}

}  // namespace amrbench::amr
