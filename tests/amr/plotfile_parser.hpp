#pragma once
// Reads a plotfile as strictly as it can be read: every byte of it must be one that the format asks for at its place.
// Shares nothing with the writer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace amrbench::amr::test {

namespace fs = std::filesystem;

inline std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

struct ParsedGrid {
  std::array<std::int64_t, 3> lo{}, hi{};
  std::array<double, 6> extent{};  ///< lo, hi in x, then y, then z
  std::vector<double> values, minima, maxima;
  std::string file;
};

struct Parsed {
  std::vector<std::string> names;
  double time = 0;
  std::vector<std::array<std::int64_t, 3>> cells;  ///< of the domain, by level
  std::vector<std::int64_t> steps;
  std::vector<std::vector<ParsedGrid>> levels;
};

/// Reads `text` exactly, then a value.
class Scanner {
 public:
  explicit Scanner(std::string text) : text_(std::move(text)) {}
  void expect(const std::string& text) {
    if (text_.compare(at_, text.size(), text) != 0) {
      throw std::runtime_error("expected \"" + text + "\" at \"" + text_.substr(at_, 40) + '"');
    }
    at_ += text.size();
  }
  std::string word(const std::string& end) {
    const std::size_t stop = text_.find(end, at_);
    if (stop == std::string::npos) throw std::runtime_error("no \"" + end + '"');
    const std::string found = text_.substr(at_, stop - at_);
    at_ = stop + end.size();
    return found;
  }
  std::int64_t integer(const std::string& end) { return std::stoll(word(end)); }
  double real(const std::string& end) {
    const std::string found = word(end);
    char* stop = nullptr;
    const double value = std::strtod(found.c_str(), &stop);
    if (found.empty() || *stop != '\0') throw std::runtime_error("no number: " + found);
    return value;
  }
  void box(std::array<std::int64_t, 3>& lo, std::array<std::int64_t, 3>& hi) {
    expect("((");
    for (int d = 0; d < 3; ++d) lo[d] = integer(d < 2 ? "," : ") (");
    for (int d = 0; d < 3; ++d) hi[d] = integer(d < 2 ? "," : ") (0,0,0))");
  }
  void end() const {
    if (at_ != text_.size()) throw std::runtime_error("left over: " + text_.substr(at_, 40));
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

inline void parse_header(const fs::path& dir, Parsed& p) {
  Scanner s(read_file(dir / "Header"));
  s.expect("HyperCLaw-V1.1\n");
  p.names.resize(s.integer("\n"));
  for (auto& name : p.names) name = s.word("\n");
  s.expect("3\n");
  p.time = s.real("\n");
  p.levels.resize(s.integer("\n") + 1);
  s.expect("0 0 0 \n1 1 1 \n");
  for (std::size_t k = 1; k < p.levels.size(); ++k) s.expect("2 ");
  s.expect("\n");
  p.cells.resize(p.levels.size());
  for (auto& cells : p.cells) {
    std::array<std::int64_t, 3> zero{};
    s.box(zero, cells);
    EXPECT_EQ(zero, (std::array<std::int64_t, 3>{}));
    for (auto& n : cells) ++n;
    s.expect(" ");
  }
  s.expect("\n");
  for (std::size_t k = 0; k < p.levels.size(); ++k) p.steps.push_back(s.integer(" "));
  s.expect("\n");
  for (const auto& cells : p.cells) {
    for (const auto n : cells) EXPECT_EQ(s.real(" "), 1.0 / double(n));
    s.expect("\n");
  }
  s.expect("0\n0\n");
  for (std::size_t k = 0; k < p.levels.size(); ++k) {
    EXPECT_EQ(s.integer(" "), std::int64_t(k));
    p.levels[k].resize(s.integer(" "));
    EXPECT_EQ(s.real("\n"), p.time);
    EXPECT_EQ(s.integer("\n"), p.steps[k]);
    for (auto& grid : p.levels[k]) {
      for (int i = 0; i < 6; ++i) grid.extent[i] = s.real(i % 2 ? "\n" : " ");
    }
    s.expect(fmt::format("Level_{}/Cell\n", k));
  }
  s.end();
}

/// Cell_H and the grids it names; the files must hold these grids and nothing else.
inline void parse_level(const fs::path& dir, const std::size_t components, std::vector<ParsedGrid>& grids) {
  Scanner s(read_file(dir / "Cell_H"));
  const std::string n = std::to_string(grids.size());
  s.expect(fmt::format("1\n1\n{}\n0\n({} 0\n", components, n));
  for (auto& grid : grids) {
    s.box(grid.lo, grid.hi);
    s.expect("\n");
  }
  s.expect(")\n" + n + "\n");
  std::map<std::string, std::size_t> read_to;
  for (auto& grid : grids) {
    s.expect("FabOnDisk: ");
    grid.file = s.word(" ");
    const std::size_t offset = s.integer("\n");
    EXPECT_EQ(offset, read_to[grid.file]) << grid.file;
    const std::string bytes = read_file(dir / grid.file).substr(offset);
    Scanner fab(bytes);
    std::array<std::int64_t, 3> lo{}, hi{};
    fab.expect("FAB ((8, (64 11 52 0 1 12 0 1023)),(8, (8 7 6 5 4 3 2 1)))");
    fab.box(lo, hi);
    EXPECT_TRUE(lo == grid.lo && hi == grid.hi);
    fab.expect(fmt::format(" {}\n", components));
    grid.values.resize(components);
    std::size_t cells = 1;
    for (int d = 0; d < 3; ++d) cells *= hi[d] - lo[d] + 1;
    grid.values.resize(components * cells);
    ASSERT_GE(bytes.size(), fab.at() + grid.values.size() * 8);
    std::memcpy(grid.values.data(), bytes.data() + fab.at(), grid.values.size() * 8);
    read_to[grid.file] = offset + fab.at() + grid.values.size() * 8;
  }
  for (const auto list : {&ParsedGrid::minima, &ParsedGrid::maxima}) {
    s.expect(fmt::format("\n{},{}\n", n, components));
    for (auto& grid : grids) {
      for (std::size_t v = 0; v < components; ++v) (grid.*list).push_back(s.real(","));
      s.expect("\n");
    }
  }
  s.expect("\n");
  s.end();
  for (const auto& [file, size] : read_to) EXPECT_EQ(fs::file_size(dir / file), size) << file;
  EXPECT_EQ(std::distance(fs::directory_iterator(dir), {}), std::ptrdiff_t(read_to.size()) + 1);
}

inline Parsed parse(const fs::path& dir) {
  Parsed p;
  parse_header(dir, p);
  for (std::size_t k = 0; k < p.levels.size(); ++k) {
    parse_level(dir / fmt::format("Level_{}", k), p.names.size(), p.levels[k]);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(dir), {}), std::ptrdiff_t(p.levels.size()) + 1);
  return p;
}

}  // namespace amrbench::amr::test
