#include "loadbalance/replay/lbaf_export.hpp"

#include <fmt/format.h>

#include <iterator>

#include "support/atomic_file.hpp"

namespace amrbench::loadbalance {

namespace {

constexpr int kCollection = 7;  // vt's number for migratable objects; any will do

/// As a member of a communication or of a task.
template <class Entity>
void put_entity(std::string& out, const Entity& e) {
  fmt::format_to(std::back_inserter(out),
                 R"({{"collection_id":{},"home":{},"migratable":true,"seq_id":{},"type":"object"}})", kCollection,
                 e.home, e.id);
}

}  // namespace

template <int Dim>
LbafExport<Dim>::LbafExport(const Placer& placer, const TraceHeader& header, const Machine& machine)
    : placer_(placer),
      header_(header),
      block_s_(static_cast<double>(header.layout().block_values()) * machine.update_s + machine.block_s),
      run_(placer, make_policy(placer.strategy().balance)),
      phases_(static_cast<std::size_t>(placer.strategy().ranks)) {}

template <int Dim>
const BlockTable& LbafExport<Dim>::table(Tables<Dim>& tables) const {
  return tables.of(placer_.strategy().balance.weights, placer_.model(), placer_.needs_centres(), placer_.needs_graph());
}

template <int Dim>
const typename LbafExport<Dim>::Entity& LbafExport<Dim>::entity(amr::Key key, std::int32_t owner) {
  const auto id = static_cast<std::int64_t>(entities_.size());
  return entities_.try_emplace(key, Entity{id, owner}).first->second;
}

template <int Dim>
void LbafExport<Dim>::segment(const amr::Mesh<Dim>& mesh, std::span<const double> costs, std::int64_t stages) {
  run_.work(mesh, costs, stages);
  if (stages == 0) return;
  const Owners& owners = run_.owners();
  const FaceBytes bytes(header_);
  std::vector<std::string> tasks(phases_.size()), messages(phases_.size());
  for (std::int32_t i = 0; i < mesh.size(); ++i)
    entity(mesh.keys()[static_cast<std::size_t>(i)], owners[static_cast<std::size_t>(i)]);
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const auto rank = static_cast<std::size_t>(owners[static_cast<std::size_t>(i)]);
    const Entity& from = entities_.at(mesh.keys()[static_cast<std::size_t>(i)]);
    std::string& task = tasks[rank];
    task += task.empty() ? "{\"entity\":" : ",{\"entity\":";
    put_entity(task, from);
    fmt::format_to(std::back_inserter(task), R"(,"node":0,"resource":"cpu","time":{}}})",
                   block_s_ * static_cast<double>(stages) * (costs.empty() ? 1.0 : costs[static_cast<std::size_t>(i)]));
    const auto& links = mesh.links(i);
    for (std::size_t face = 0; face < 2 * Dim; ++face) {
      const auto kind = links.kind[face];
      if (kind == amr::FaceKind::boundary) continue;
      const std::int64_t size = bytes.to(kind, static_cast<int>(face) / 2);
      for (std::size_t part = 0; part < (kind == amr::FaceKind::fine ? links.kParts : 1U); ++part) {
        const auto other = static_cast<std::size_t>(links.index[face][part]);
        if (other == static_cast<std::size_t>(i)) continue;  // behind a periodic side
        std::string& message = messages[rank];
        fmt::format_to(std::back_inserter(message), R"({}{{"bytes":{}.0,"from":)", message.empty() ? "" : ",",
                       size * stages);
        put_entity(message, from);
        fmt::format_to(std::back_inserter(message), R"(,"messages":{},"to":)", stages);
        put_entity(message, entities_.at(mesh.keys()[other]));
        message += R"(,"type":"SendRecv"})";
      }
    }
  }
  for (std::size_t rank = 0; rank < phases_.size(); ++rank)
    fmt::format_to(std::back_inserter(phases_[rank]), R"({}{{"communications":[{}],"id":{},"tasks":[{}]}})",
                   phase_count_ > 0 ? ",\n" : "", messages[rank], phase_count_, tasks[rank]);
  ++phase_count_;
}

template <int Dim>
std::string LbafExport<Dim>::file(int rank) const {
  return fmt::format(
      "{{\"metadata\":{{\"rank\":{},\"type\":\"LBDatafile\"}},\"phases\":[\n{}\n],\"type\":\"LBDatafile\"}}\n", rank,
      phases_[static_cast<std::size_t>(rank)]);
}

template class LbafExport<2>;
template class LbafExport<3>;

namespace {

template <int Dim>
int export_mesh(const std::filesystem::path& trace, const TraceHeader& header, const Strategy& strategy,
                const Machine& machine, const std::string& prefix, bool replace) {
  const Placer placer(strategy, header, machine);
  LbafExport<Dim> exported(placer, header, machine);
  follow_trace(trace, key_curve(strategy.partition), exported, {});
  const auto existing = replace ? support::Existing::replace : support::Existing::refuse;
  for (int rank = 0; rank < strategy.ranks; ++rank)
    support::write_file_atomically(fmt::format("{}.{}.json", prefix, rank), exported.file(rank), existing);
  return exported.phase_count();
}

}  // namespace

int export_lbaf(const std::filesystem::path& trace, const Strategy& strategy, const Machine& machine,
                const std::string& prefix, bool replace) {
  const TraceHeader header = TraceReader(trace).header();
  return header.dim == 2 ? export_mesh<2>(trace, header, strategy, machine, prefix, replace)
                         : export_mesh<3>(trace, header, strategy, machine, prefix, replace);
}

}  // namespace amrbench::loadbalance
