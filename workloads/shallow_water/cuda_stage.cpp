#include "workloads/shallow_water/cuda_stage.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/block_sums_cuda.hpp"
#include "kernels/shallow_water/maps_cuda.hpp"
#include "workloads/shallow_water/single.hpp"

namespace amrbench::workloads::shallow_water {

namespace {

namespace water = kernels::shallow_water;

constexpr std::size_t kTravelling = water::kVariables - 1;
/// Words of what a stage finds: the fastest wave, and two counts each for its two launches.
constexpr std::size_t kFound = 3;
constexpr std::size_t kStages = 2;  ///< of a step

bool is_given(const SideCondition& side) {
  return side.kind == Side::exact;
}

/// Messages are of doubles: so many values fit into one.
template <class Real>
inline constexpr std::size_t kInDouble = sizeof(double) / sizeof(Real);

/// In doubles.
template <class Real>
amr::PieceSizes strip_sizes(std::size_t n) {
  amr::PieceSizes sizes{};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    sizes[std::size_t(amr::Transfer::whole)][axis] = kTravelling * 2 * n / kInDouble<Real>;
    sizes[std::size_t(amr::Transfer::quarter)][axis] = kTravelling * n / kInDouble<Real>;
    sizes[std::size_t(amr::Transfer::restricted)][axis] = kTravelling * 2 * n / kInDouble<Real>;
  }
  return sizes;
}

}  // namespace

template <class Real>
CudaShallowWaterStage<Real>::CudaShallowWaterStage(amr::CudaFields& fields, const Problem& problem, double cfl,
                                                   bool overlap)
    : WaterStage(cfl), problem_(problem), device_(fields.device()), overlap_(overlap), sums_(fields.layout()) {
  found_.resize_discard(kFound);
  found_host_.resize_discard(kStages * kFound);
  start_found();
}

template <class Real>
void CudaShallowWaterStage<Real>::mesh_changed(const amr::Mesh<2>& mesh) {
  WaterStage::mesh_changed(mesh);
  device_.main().synchronize();
  const amr::HaloPlan plan = amr::make_halo_plan(mesh, strip_sizes<Real>(std::size_t(problem_.cells())));
  halo_size_ = {};
  amr::add_sends(plan.sends, halo_size_);
  sends_ = amr::link_pieces(mesh, plan.sends);
  receives_ = amr::link_pieces(mesh, plan.receives);
  const auto packs = packs_.prepare(plan.sends.pieces.size(), device_);
  for (std::size_t k = 0; k < packs.size(); ++k) {
    const amr::HaloPiece& p = plan.sends.pieces[k];
    const int count = p.transfer == amr::Transfer::quarter ? problem_.cells() / 2 : problem_.cells();
    const int begin = p.transfer == amr::Transfer::quarter ? p.part * count : 0;
    packs[k] = {p.block, p.face, static_cast<std::int16_t>(begin), static_cast<std::int16_t>(count),
                static_cast<std::int64_t>(p.at * kInDouble<Real>)};
  }
  pack_count_ = packs.size();
  packs_.send(device_);
  device_.reserve(send_, plan.sends.values * kInDouble<Real> + 1);
  device_.reserve(packed_, plan.receives.values * kInDouble<Real> + 1);
  list_blocks(mesh, plan);
  const auto n = static_cast<std::size_t>(mesh.size());
  std::vector<double> measures;
  for (std::int32_t i = 0; i < mesh.size(); ++i) measures.push_back(std::ldexp(1.0, -2 * mesh.level(i)));
  measures_.store(measures, device_);
  for (auto* flags : {&had_water_, &has_water_, &is_same_}) {
    device_.reserve(*flags, n + 1);
    support::cuda_check(cudaMemsetAsync(flags->data(), 0, n + 1, device_.main().get()), "flags of blocks");
  }
  device_.reserve(lists_, 2 * n + 1);
  is_new_ = copies_bed_ = true;
}

/// Blocks without remote neighbours come first.
template <class Real>
void CudaShallowWaterStage<Real>::list_blocks(const amr::Mesh<2>& mesh, const amr::HaloPlan& plan) {
  const amr::BlockLists lists = amr::list_blocks(mesh);
  interior_ = lists.interior.size();
  blocks_ = static_cast<std::size_t>(mesh.size());
  std::vector<std::array<std::array<std::int32_t, 2>, 4>> received(blocks_);
  for (const amr::HaloPiece& p : plan.receives.pieces) {
    const std::size_t part = p.transfer == amr::Transfer::restricted ? std::size_t(p.part) : 0;
    received[std::size_t(p.block)][std::size_t(p.face)][part] = static_cast<std::int32_t>(p.at * kInDouble<Real>);
  }
  given_.clear();
  inflows_.clear();
  const std::size_t inflow = water::inflow_strip_values(problem_.cells());
  const std::size_t strip = 2 * std::size_t(problem_.cells()) * water::kVariables;
  const auto to = work_.prepare(blocks_, device_);
  for (std::size_t k = 0; k < blocks_; ++k) {
    const std::int32_t i = k < interior_ ? lists.interior[k] : lists.border[k - interior_];
    const auto& links = mesh.links(i);
    water::BlockWork work;
    work.level = mesh.level(i);
    work.number = i;
    for (std::size_t face = 0; face < 4; ++face) {
      const amr::FaceKind kind = links.kind[face];
      const std::int32_t j = links.index[face][0];
      const bool remote = j >= mesh.size();
      const auto& from = received[std::size_t(i)][face];
      work.a[face] = remote ? from[0] : j;
      switch (kind) {
        case amr::FaceKind::boundary:
          work.behind[face] = water::Behind::boundary;
          if (is_given(problem_.solution().setup().sides[face])) {
            work.behind[face] = water::Behind::given;
            work.a[face] = static_cast<std::int32_t>(given_.size() * strip);
            given_.push_back({i, static_cast<int>(face)});
          } else if (problem_.has_side_inflow(mesh, i, static_cast<int>(face))) {
            work.behind[face] = water::Behind::inflow;
            work.a[face] = static_cast<std::int32_t>(inflows_.size() * inflow);
            inflows_.push_back({i, static_cast<int>(face)});
          }
          break;
        case amr::FaceKind::same:
          work.behind[face] = remote ? water::Behind::same_packed : water::Behind::same;
          break;
        case amr::FaceKind::coarse:
          work.behind[face] = remote ? water::Behind::coarse_packed : water::Behind::coarse;
          work.part[face] = static_cast<std::int8_t>(amr::own_part<2>(mesh.coord(i), static_cast<int>(face) / 2));
          break;
        case amr::FaceKind::fine: {
          work.behind[face] = water::Behind::fine;
          const std::int32_t second = links.index[face][1];
          work.a[face] = remote ? ~from[0] : j;
          work.b[face] = second >= mesh.size() ? ~from[1] : second;
          break;
        }
      }
    }
    to[k] = work;
  }
  work_.send(device_);
  const auto faces = inflow_faces_.prepare(inflows_.size(), device_);
  std::ranges::copy(inflows_, faces.begin());
  inflow_faces_.send(device_);
  device_.reserve(inflow_strips_, inflows_.size() * inflow + 1);
}

/// What comes in through sides in a stage of the fields' input.
template <class Real>
void CudaShallowWaterStage<Real>::let_in(const amr::Mesh<2>& mesh, amr::CudaFields& fields, const Moment& moment) {
  if (inflows_.empty()) return;
  const auto n = static_cast<std::size_t>(problem_.cells());
  const auto to = inflow_cells_.prepare(inflows_.size() * n, device_);
  std::vector<water::Inflow<double>> cells(n);
  for (std::size_t k = 0; k < inflows_.size(); ++k) {
    problem_.find_side_inflow(mesh, inflows_[k].block, inflows_[k].face, moment, cells.data());
    std::ranges::transform(cells, to.begin() + static_cast<std::ptrdiff_t>(k * n), inflow_in<Real>);
  }
  inflow_cells_.send(device_);
  water::launch_inflows(make_job(fields), inflow_faces_.data(), static_cast<int>(inflows_.size()), inflow_cells_.data(),
                        inflow_strips_.data(), device_.main());
  device_.count_launches(1);
}

/// Strips of the solution at a time.
template <class Real>
void CudaShallowWaterStage<Real>::fill_given(const amr::Mesh<2>& mesh, double time) {
  if (given_.empty()) return;
  const std::size_t strip = 2 * std::size_t(problem_.cells()) * water::kVariables;
  const auto to = given_strips_.prepare(given_.size() * strip, device_);
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < given_.size(); ++k) {
    if constexpr (sizeof(Real) == sizeof(double)) {
      problem_.fill_exact(mesh, given_[k].block, given_[k].face, time, to.data() + k * strip);
    } else {
      std::vector<double> values(strip);
      problem_.fill_exact(mesh, given_[k].block, given_[k].face, time, values.data());
      std::copy(values.begin(), values.end(), to.data() + k * strip);
    }
  }
  given_strips_.send(device_);
}

template <class Real>
water::StageJob<Real> CudaShallowWaterStage<Real>::make_job(amr::CudaFields& fields) {
  water::StageJob<Real> job;
  job.blocks = work_.data();
  job.count = static_cast<int>(blocks_);
  job.cells = problem_.cells();
  const auto shape = shape_in<Real>(problem_.shape(0));
  job.dt = static_cast<Real>(step());
  job.dt_over_dx = job.dt / shape.dx;
  job.dt_over_dy = job.dt / shape.dy;
  job.dx_over_dt = shape.dx / job.dt;
  job.dy_over_dt = shape.dy / job.dt;
  job.inverse_dx = Real(1) / shape.dx;
  job.inverse_dy = Real(1) / shape.dy;
  job.physics = physics_in<Real>(problem_.physics());
  for (std::size_t face = 0; face < 4; ++face)
    job.sides[face] = boundary_in<Real>(problem_.side_boundary(static_cast<int>(face)));
  job.in = fields.input();
  job.memory = {packed_.data(),
                given_strips_.data(),
                inflow_strips_.data(),
                had_water_.data(),
                has_water_.data(),
                is_same_.data(),
                found_.data(),
                nullptr,
                nullptr,
                nullptr};
  return job;
}

template <class Real>
void CudaShallowWaterStage<Real>::start_found() {
  support::cuda_check(cudaMemsetAsync(found_.data(), 0, kFound * sizeof(found_.data()[0]), device_.main().get()),
                      "what a stage finds");
}

template <class Real>
void CudaShallowWaterStage<Real>::fetch_found() {
  support::copy_to_host(found_host_.data() + fetching_ * kFound, static_cast<const unsigned long long*>(found_.data()),
                        kFound, device_.main());
  found_there_.record(device_.main());
  ++fetching_;
  start_found();  // of the next stage, while the host waits for this one's
}

template <class Real>
std::int64_t CudaShallowWaterStage<Real>::computed() {
  if (fetching_ > 0) found_there_.synchronize();
  for (std::size_t stage = 0; stage < fetching_; ++stage) {
    const unsigned long long* const found = found_host_.data() + stage * kFound;
    constexpr unsigned long long kLow = 0xffffffff;  // of two counts in a word, the first
    computed_ += static_cast<std::int64_t>((found[1] & kLow) + (found[2] & kLow));
    fastest_ = std::bit_cast<double>(found[0]);
  }
  fetching_ = 0;
  return computed_;
}

template <class Real>
double CudaShallowWaterStage<Real>::fastest(const amr::Mesh<2>& /*mesh*/, amr::Fields& base) {
  if (is_new_) {
    static_cast<void>(computed());
    amr::CudaFields& fields = amr::cuda_fields(base);
    fields.put_in_order();
    water::StageJob<Real> job = make_job(fields);
    water::launch_measure(job, device_.main());
    fetch_found();  // nothing is counted: these were no stages
    std::swap(had_water_, has_water_);
    is_new_ = false;
  }
  static_cast<void>(computed());
  return fastest_;
}

template <class Real>
void CudaShallowWaterStage<Real>::wetted(std::span<const std::int32_t> blocks) {
  for (const std::int32_t i : blocks) {
    support::cuda_check(cudaMemsetAsync(had_water_.data() + i, 1, 1, device_.main().get()), "flags of blocks");
    support::cuda_check(cudaMemsetAsync(is_same_.data() + i, 0, 1, device_.main().get()), "flags of blocks");
  }
}

template <class Real>
void CudaShallowWaterStage<Real>::update_maps(const amr::Mesh<2>& mesh, amr::Fields& base, double arrival_depth,
                                              double time) {
  amr::CudaFields& fields = amr::cuda_fields(base);
  fields.put_in_order();
  water::launch_maps<Real>(fields.input(), mesh.size(), problem_.cells(), arrival_depth, time, device_.main());
}

template <class Real>
void CudaShallowWaterStage<Real>::advance(const amr::Mesh<2>& mesh, amr::Fields& base, std::int64_t stage,
                                          const support::FixedPointScale* scale, support::Metrics& metrics) {
  amr::CudaFields& fields = amr::cuda_fields(base);
  if (fetching_ == kStages) static_cast<void>(computed());
  const bool second = stage % 2 == 1, travels = !sends_.empty();
  fields.prepare_output();
  device_.clock().begin(device_.main());
  {
    const support::PhaseTimer timer(metrics, support::Phase::halo);
    if (travels) {
      device_.order(device_.main(), device_.side());
      water::launch_strips(packs_.data(), static_cast<int>(pack_count_), problem_.cells(), fields.input(), send_.data(),
                           device_.side());
      device_.link().start(reinterpret_cast<const double*>(send_.data()), sends_,
                           reinterpret_cast<double*>(packed_.data()), receives_, device_.side());
    }
    fill_given(mesh, moment(second).time);
    let_in(mesh, fields, moment(second));
  }
  water::StageJob<Real> job = make_job(fields);
  job.out = fields.output();
  job.second = second;
  job.copies_bed = copies_bed_;
  const auto launch = [&](std::size_t begin, std::size_t end) {
    if (begin == end) return;
    const support::PhaseTimer timer(metrics, support::Phase::stencil);
    job.blocks = work_.data() + begin;
    job.count = static_cast<int>(end - begin);
    job.memory.counts = reinterpret_cast<int*>(found_.data() + (begin == 0 ? 1 : 2));
    job.memory.computed = lists_.data() + begin;
    job.memory.copied = lists_.data() + blocks_ + begin;
    job.thread_blocks = thread_blocks_;
    thread_blocks_ = water::launch_stage(job, device_.main());
    device_.count_launches(2);
    device_.clock().mark(amr::DevicePart::stencil, device_.main());
  };
  if (overlap_) launch(0, interior_);
  if (travels) {
    const support::PhaseTimer timer(metrics, support::Phase::halo);
    device_.link().finish();
    device_.order(device_.side(), device_.main());
    device_.clock().mark(amr::DevicePart::wait, device_.main());
  }
  launch(overlap_ ? interior_ : 0, blocks_);
  fetch_found();
  fields.swap_buffers();
  if (scale != nullptr) {
    const kernels::DeviceSumView sums = sums_.start(*scale, device_.main());
    kernels::launch_block_sums<Real>(fields.layout(), static_cast<int>(blocks_), fields.input(), sums, device_.main(),
                                     measures_.data());
    sums_.fetch(static_cast<std::int64_t>(blocks_ * fields.layout().block_cells()), device_.main());
  }
  std::swap(had_water_, has_water_);
  copies_bed_ = false;
  count_stage(mesh.size(), second);
  device_.clock().collect(metrics, false);
  metrics.count_max("device_memory_bytes", static_cast<std::int64_t>(fields.memory_bytes() + memory_bytes()));
}

template <class Real>
void CudaShallowWaterStage<Real>::settle(support::Metrics& metrics) {
  const support::PhaseTimer timer(metrics, support::Phase::stencil);
  device_.main().synchronize();
  device_.clock().collect(metrics, true);
  device_.report(metrics);
}

template <class Real>
std::size_t CudaShallowWaterStage<Real>::memory_bytes() const {
  return work_.bytes() + packs_.bytes() + measures_.bytes() + given_strips_.bytes() + inflow_cells_.bytes() +
         inflow_strips_.bytes() + send_.bytes() + packed_.bytes() + had_water_.bytes() + has_water_.bytes() +
         is_same_.bytes() + sums_.memory_bytes();
}

template class CudaShallowWaterStage<double>;
template class CudaShallowWaterStage<float>;

std::unique_ptr<WaterStage> make_cuda_stage(amr::CudaFields& fields, const Problem& problem, double cfl, bool overlap) {
  if (problem.is_single()) return std::make_unique<CudaShallowWaterStage<float>>(fields, problem, cfl, overlap);
  return std::make_unique<CudaShallowWaterStage<double>>(fields, problem, cfl, overlap);
}

}  // namespace amrbench::workloads::shallow_water
