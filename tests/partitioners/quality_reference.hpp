#pragma once
// The measures of partitioners/quality.hpp straight from their definitions: sets, one point at a time, no threads.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "partitioners/quality.hpp"

namespace amrbench::partitioners {

/// Loads are added in input order: give weights whose sums do not round.
inline PartitionQuality quality_reference(std::span<const std::int32_t> part, int parts,
                                          std::span<const double> weights, const Graph* graph) {
  PartitionQuality q;
  q.parts = parts;
  std::vector<double> load(static_cast<std::size_t>(parts), 0.0);
  std::vector<std::set<std::size_t>> members(static_cast<std::size_t>(parts));
  double total = 0;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const double w = weights.empty() ? 1.0 : weights[i];
    load[static_cast<std::size_t>(part[i])] += w;
    total += w;
    members[static_cast<std::size_t>(part[i])].insert(i);
  }
  q.load_max = load[0];
  q.load_min = load[0];
  for (std::size_t p = 0; p < load.size(); ++p) {
    q.load_max = std::max(q.load_max, load[p]);
    q.load_min = std::min(q.load_min, load[p]);
    if (members[p].empty()) ++q.empty_parts;
  }
  q.load_mean = total / parts;
  if (graph == nullptr) return q;
  q.has_graph = true;

  std::set<std::pair<std::size_t, std::size_t>> edges;
  for (std::size_t v = 0; v < graph->vertices(); ++v)
    for (std::int64_t k = graph->offsets[v]; k < graph->offsets[v + 1]; ++k)
      edges.insert({v, static_cast<std::size_t>(graph->adjacent[static_cast<std::size_t>(k)])});
  std::int64_t degrees = 0;
  for (int p = 0; p < parts; ++p) {
    std::set<int> others;
    std::set<std::pair<std::size_t, int>> sent;  // a point and a part that needs it
    std::set<std::size_t> boundary;
    std::int64_t cut = 0;
    // Pieces: labels of points spread along inner edges until nothing changes.
    std::map<std::size_t, std::size_t> label;
    for (const std::size_t v : members[static_cast<std::size_t>(p)]) label[v] = v;
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [v, w] : edges) {
        if (part[v] != p || part[w] != p || label[v] == label[w]) continue;
        label[v] = label[w] = std::min(label[v], label[w]);
        changed = true;
      }
    }
    std::set<std::size_t> labels;
    for (const auto& [v, l] : label) labels.insert(l);
    for (const auto& [v, w] : edges) {
      if (part[v] != p || part[w] == p) continue;
      ++cut;
      others.insert(part[w]);
      sent.insert({v, part[w]});
      boundary.insert(v);
      if (v < w) ++q.edge_cut_total;
    }
    const auto count = [](const auto& set) { return static_cast<std::int64_t>(set.size()); };
    degrees += count(others);
    q.degree_max = std::max(q.degree_max, count(others));
    q.edge_cut_max = std::max(q.edge_cut_max, cut);
    q.comm_volume_max = std::max(q.comm_volume_max, count(sent));
    q.comm_volume_total += count(sent);
    q.boundary_max = std::max(q.boundary_max, count(boundary));
    q.boundary_total += count(boundary);
    q.pieces_max = std::max(q.pieces_max, count(labels));
    q.pieces_total += count(labels);
  }
  q.degree_mean = static_cast<double>(degrees) / parts;
  return q;
}

/// NodeQuality::messages_max from its definition.
inline std::int64_t messages_reference(std::span<const std::int32_t> part, std::span<const std::int32_t> node_of,
                                       const Graph& graph) {
  std::map<int, std::set<std::pair<int, int>>> messages;  // by node: sending part, receiving part
  for (std::size_t v = 0; v < graph.vertices(); ++v) {
    for (std::int64_t k = graph.offsets[v]; k < graph.offsets[v + 1]; ++k) {
      const int p = part[v];
      const int q = part[static_cast<std::size_t>(graph.adjacent[static_cast<std::size_t>(k)])];
      const int node = node_of[static_cast<std::size_t>(p)];
      if (node != node_of[static_cast<std::size_t>(q)]) messages[node].insert({p, q});
    }
  }
  std::size_t most = 0;
  for (const auto& [node, set] : messages) most = std::max(most, set.size());
  return static_cast<std::int64_t>(most);
}

}  // namespace amrbench::partitioners
