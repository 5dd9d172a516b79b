#include "partitioners/inputs/graph_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "partitioners/inputs/text_file.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

/// One pass over the lines; state is what the header said.
class GraphParser {
 public:
  GraphParser(std::string_view text, std::string_view name) : lines_(text), name_(name), bytes_(text.size()) {}

  GraphFile parse() {
    read_header();
    for (std::int64_t v = 0; v < vertices_; ++v) read_vertex(v);
    std::string_view line;
    while (next_line(line))
      if (!trimmed(line).empty()) fail(fmt::format("more lines than the {} vertices of the header", vertices_));
    check_symmetry();
    const auto entries = static_cast<std::int64_t>(file_.graph.adjacent.size());
    if (entries != 2 * edges_)
      throw support::InputError(fmt::format("{}: {} edges listed, but the header says {}", name_, entries / 2, edges_));
    return std::move(file_);
  }

 private:
  [[noreturn]] void fail_at(std::size_t line, const std::string& problem) const {
    throw support::InputError(fmt::format("{}:{}: {}", name_, line, problem));
  }
  [[noreturn]] void fail(const std::string& problem) const { fail_at(lines_.number(), problem); }

  /// The next line that is no comment.
  bool next_line(std::string_view& line) {
    while (lines_.next(line))
      if (!line.starts_with('%')) return true;
    return false;
  }

  std::int64_t number(std::string_view word, std::string_view what, std::int64_t low, std::int64_t high) const {
    const auto value = parse_number<std::int64_t>(word);
    if (!value || *value < low || *value > high)
      fail(fmt::format("{} '{}' must be a whole number from {} to {}", what, word, low, high));
    return *value;
  }

  void read_header() {
    std::string_view line;
    do {
      if (!next_line(line)) throw support::InputError(fmt::format("{}: no header line 'vertices edges'", name_));
    } while (trimmed(line).empty());
    vertices_ = number(take_word(line), "the number of vertices", 0, std::numeric_limits<std::int32_t>::max());
    edges_ = number(take_word(line), "the number of edges", 0, std::int64_t{1} << 50);
    // A vertex costs a line end and an edge four bytes: a header that asks for more is not of this file.
    if (static_cast<std::size_t>(vertices_) > bytes_ || static_cast<std::size_t>(edges_) > bytes_ / 4 + 1)
      fail(fmt::format("{} vertices and {} edges do not fit into a file of {} bytes", vertices_, edges_, bytes_));
    const std::string_view format = take_word(line);
    if (format.size() > 3 || format.find_first_not_of("01") != std::string_view::npos)
      fail(fmt::format("the format '{}' must be up to three digits 0 or 1", format));
    const std::string padded = std::string(3 - format.size(), '0') + std::string(format);
    has_sizes_ = padded[0] == '1';
    has_edge_weights_ = padded[2] == '1';
    const std::string_view constraints = take_word(line);
    file_.constraints = padded[1] == '1' ? 1 : 0;
    if (!constraints.empty()) {
      const auto given = static_cast<int>(number(constraints, "the number of weights", 0, 1000));
      if ((given > 0) != (file_.constraints > 0))
        fail(fmt::format("{} weights a vertex, but the format '{}' says {}", given, format,
                         file_.constraints > 0 ? "there are some" : "there are none"));
      file_.constraints = given;
    }
    if (!take_word(line).empty()) fail("the header has more than four numbers");
    file_.graph.offsets.reserve(static_cast<std::size_t>(vertices_) + 1);
    file_.graph.adjacent.reserve(static_cast<std::size_t>(2 * edges_));
  }

  void read_vertex(std::int64_t vertex) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    std::string_view line;
    if (!next_line(line))
      throw support::InputError(fmt::format("{}: ends after {} of {} vertices", name_, vertex, vertices_));
    line_of_.push_back(lines_.number());
    if (has_sizes_) file_.vertex_sizes.push_back(number(take_word(line), "the vertex size", 0, kMost));
    for (int k = 0; k < file_.constraints; ++k)
      file_.vertex_weights.push_back(number(take_word(line), "the vertex weight", 0, kMost));
    row_.clear();
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
      const std::int64_t neighbour = number(word, "the neighbour", 1, vertices_) - 1;
      if (neighbour == vertex) fail(fmt::format("vertex {} is its own neighbour", vertex + 1));
      const std::int64_t weight = has_edge_weights_ ? number(take_word(line), "the edge weight", 1, kMost) : 1;
      row_.push_back({static_cast<std::int32_t>(neighbour), weight});
    }
    std::sort(row_.begin(), row_.end(), [](const Entry& a, const Entry& b) { return a.vertex < b.vertex; });
    for (std::size_t k = 0; k < row_.size(); ++k) {
      if (k > 0 && row_[k].vertex == row_[k - 1].vertex)
        fail(fmt::format("vertex {} lists neighbour {} twice", vertex + 1, row_[k].vertex + 1));
      file_.graph.adjacent.push_back(row_[k].vertex);
      if (has_edge_weights_) file_.edge_weights.push_back(row_[k].weight);
    }
    file_.graph.offsets.push_back(static_cast<std::int64_t>(file_.graph.adjacent.size()));
  }

  void check_symmetry() const {
    const Graph& graph = file_.graph;
    for (std::size_t v = 0; v < graph.vertices(); ++v) {
      for (std::int64_t k = graph.offsets[v]; k < graph.offsets[v + 1]; ++k) {
        const auto other = static_cast<std::size_t>(graph.adjacent[static_cast<std::size_t>(k)]);
        const auto begin = graph.adjacent.begin() + graph.offsets[other];
        const auto end = graph.adjacent.begin() + graph.offsets[other + 1];
        const auto back = std::lower_bound(begin, end, static_cast<std::int32_t>(v));
        if (back == end || *back != static_cast<std::int32_t>(v))
          fail_at(line_of_[v], fmt::format("vertex {} lists {}, which does not list it back", v + 1, other + 1));
        if (has_edge_weights_ && file_.edge_weights[static_cast<std::size_t>(k)] !=
                                     file_.edge_weights[static_cast<std::size_t>(back - graph.adjacent.begin())])
          fail_at(line_of_[v], fmt::format("the edge {} to {} has another weight at its other end", v + 1, other + 1));
      }
    }
  }

  struct Entry {
    std::int32_t vertex;
    std::int64_t weight;
  };

  Lines lines_;
  std::string_view name_;
  std::size_t bytes_;
  std::int64_t vertices_ = 0;
  std::int64_t edges_ = 0;
  bool has_sizes_ = false;
  bool has_edge_weights_ = false;
  std::vector<std::size_t> line_of_;  // of each vertex
  std::vector<Entry> row_;
  GraphFile file_;
};

}  // namespace

GraphFile parse_graph(std::string_view text, std::string_view name) {
  return GraphParser(text, name).parse();
}

GraphFile read_graph_file(const std::filesystem::path& path) {
  const std::string text = read_whole_file(path);
  return parse_graph(text, path.string());
}

}  // namespace amrbench::partitioners
