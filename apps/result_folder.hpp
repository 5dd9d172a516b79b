#pragma once
// Where a run writes: chosen and claimed before any work, so that a bad folder costs nothing.
#include <ctime>
#include <filesystem>
#include <string>

namespace amrbench::apps {

/// Chooses, creates and tries the result folder. `dir` given: that folder, which may exist as long as it holds nothing
/// a run writes (run.json, run.csv, config.toml, checkpoint, plt*). `dir` empty: results/<name>-<YYYYmmdd-HHMMSS>,
/// local time, with -2, -3... when taken; the folder is then new. Throws support::InputError naming the folder and what
/// is wrong with it. Call on one rank.
std::filesystem::path claim_result_folder(const std::string& dir, const std::string& name, std::time_t now);

/// The folder of a run that goes on, or of one that begins where another may have been killed: made where it is
/// missing. Throws support::InputError as above, and when the run in it is finished. Call on one rank.
std::filesystem::path continue_result_folder(const std::string& dir);

/// Writes a new file; never overwrites. Throws support::InputError when it exists or cannot be written whole.
void write_new_file(const std::filesystem::path& path, const std::string& text);

}  // namespace amrbench::apps
