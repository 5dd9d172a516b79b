#include "loadbalance/block_table.hpp"

namespace amrbench::loadbalance {

std::vector<double> BlockTable::loads() const {
  std::vector<double> loads(size());
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < loads.size(); ++i) loads[i] = weight[i] * share[i];
  return loads;
}

template <int Dim>
void fill_block_table(const amr::Mesh<Dim>& mesh, std::span<const amr::Change> changes, BlockTable& table) {
  constexpr double kFamily = 1 << Dim;
  const std::size_t n = mesh.keys().size();
  const int rank = mesh.comm().rank();
  const auto keys = mesh.keys();
  const auto weights = mesh.weights();
  table.key.resize(n);
  table.weight.resize(n);
  table.owner.resize(n);
  table.centre.clear();
  table.level.resize(n);
  table.share.resize(n);
  table.blocks = mesh.global_size();
  table.grid = {Dim, {}, mesh.space().max_level()};
  for (int d = 0; d < Dim; ++d) table.grid.root[d] = mesh.space().root()[d];
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < n; ++i) {
    table.key[i] = keys[i];
    table.weight[i] = weights[i];
    table.owner[i] = rank;
    const int change = changes.empty() ? 0 : static_cast<int>(changes[i]);
    table.level[i] = static_cast<std::int8_t>(mesh.level(static_cast<std::int32_t>(i)) + change);
    table.share[i] = change > 0 ? kFamily : change < 0 ? 1.0 / kFamily : 1.0;
  }
}

template <int Dim>
void fill_centres(const amr::Mesh<Dim>& mesh, BlockTable& table) {
  if (table.centre.size() == Dim * table.size()) return;
  table.centre.resize(Dim * table.size());
  const int deepest = mesh.space().max_level();
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto block = static_cast<std::int32_t>(i);
    const auto& coord = mesh.coord(block);
    const std::int64_t half = std::int64_t{1} << (deepest - mesh.level(block));
    for (int d = 0; d < Dim; ++d)
      table.centre[Dim * i + d] = static_cast<double>((2 * std::int64_t{coord[d]} + 1) * half);
  }
}

template void fill_block_table(const amr::Mesh<2>&, std::span<const amr::Change>, BlockTable&);
template void fill_block_table(const amr::Mesh<3>&, std::span<const amr::Change>, BlockTable&);
template void fill_centres(const amr::Mesh<2>&, BlockTable&);
template void fill_centres(const amr::Mesh<3>&, BlockTable&);

}  // namespace amrbench::loadbalance
