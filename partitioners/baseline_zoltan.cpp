// Zoltan 3 (partitioners/baselines.hpp), on one rank: it asks for its input through callbacks.
#include <fmt/format.h>
#include <mpi.h>
#include <zoltan.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <limits>

#include "partitioners/baseline_problem.hpp"
#include "partitioners/baselines.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

void check(int status, std::string_view call) {
  if (status != ZOLTAN_OK && status != ZOLTAN_WARN)
    throw support::RunError(fmt::format("zoltan: {} failed with status {}", call, status));
}

class ZoltanObject {
 public:
  ZoltanObject() : zoltan_(Zoltan_Create(MPI_COMM_SELF)) {
    if (zoltan_ == nullptr) throw support::RunError("zoltan: Zoltan_Create failed");
  }
  ~ZoltanObject() { Zoltan_Destroy(&zoltan_); }
  ZoltanObject(const ZoltanObject&) = delete;
  ZoltanObject& operator=(const ZoltanObject&) = delete;
  [[nodiscard]] Zoltan_Struct* get() const { return zoltan_; }
  void set(const char* name, const std::string& value) const {
    check(Zoltan_Set_Param(zoltan_, name, value.c_str()), name);
  }

 private:
  Zoltan_Struct* zoltan_;
};

/// What Zoltan hands back: lists of its own that it frees itself.
struct Exports {
  int changes = 0;
  int gid_entries = 0;
  int lid_entries = 0;
  int imports = 0;
  ZOLTAN_ID_PTR import_gids = nullptr;
  ZOLTAN_ID_PTR import_lids = nullptr;
  int* import_ranks = nullptr;
  int* import_parts = nullptr;
  int exports = 0;
  ZOLTAN_ID_PTR gids = nullptr;
  ZOLTAN_ID_PTR lids = nullptr;
  int* ranks = nullptr;
  int* parts = nullptr;

  Exports() = default;
  Exports(const Exports&) = delete;
  Exports& operator=(const Exports&) = delete;
  ~Exports() {
    Zoltan_LB_Free_Part(&import_gids, &import_lids, &import_ranks, &import_parts);
    Zoltan_LB_Free_Part(&gids, &lids, &ranks, &parts);
  }
};

const Problem& problem_of(void* data) {
  return *static_cast<const Problem*>(data);
}

int count_objects(void* data, int* error) {
  *error = ZOLTAN_OK;
  return static_cast<int>(problem_of(data).points.size());
}

/// Weights times 2^exponent are, and add up, within the range of a float; 0 where they do without.
int exponent_for_floats(std::span<const double> weights) {
  constexpr int kHarmless = 64;
  int exponent = 0;
  if (!weights.empty()) std::frexp(*std::max_element(weights.begin(), weights.end()), &exponent);
  return std::abs(exponent) > kHarmless ? -exponent : 0;
}

void list_objects(void* data, int, int, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids, int weight_width, float* weights,
                  int* error) {
  const Problem& problem = problem_of(data);
  const int exponent = exponent_for_floats(problem.weights);
  for (std::size_t i = 0; i < problem.points.size(); ++i) {
    gids[i] = static_cast<ZOLTAN_ID_TYPE>(i);
    lids[i] = static_cast<ZOLTAN_ID_TYPE>(i);
    if (weight_width > 0) weights[i] = static_cast<float>(std::ldexp(problem.weights[i], exponent));
  }
  *error = ZOLTAN_OK;
}

int count_dimensions(void* data, int* error) {
  *error = ZOLTAN_OK;
  return problem_of(data).points.dim;
}

void list_coordinates(void* data, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR lids, int dim, double* coordinates,
                      int* error) {
  const Problem& problem = problem_of(data);
  for (int i = 0; i < count; ++i) std::copy_n(problem.points[lids[i]], dim, coordinates + std::ptrdiff_t{i} * dim);
  *error = ZOLTAN_OK;
}

class ZoltanPartitioner final : public Partitioner {
 public:
  ZoltanPartitioner(std::string_view name, std::string_view method) : name_(name), method_(method) {}

  PartitionResult partition(const Problem& problem, const PartitionOptions& options) override {
    const std::size_t n = check_point_problem(problem, options, name_);
    if (auto trivial = trivial_partition(n, options.parts)) return *std::move(trivial);
    if (n > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw support::InputError(fmt::format("{}: {} points; Zoltan counts to 2^31 - 1 a rank", name_, n));
    int running = 0;
    MPI_Initialized(&running);
    if (running == 0) throw support::RunError(fmt::format("{}: MPI must be initialised first", name_));
    float version = 0;
    check(Zoltan_Initialize(0, nullptr, &version), "Zoltan_Initialize");
    // Equal weights say nothing, and HSFC fails when all are zero.
    Problem posed = problem;
    if (equal_weights(problem.weights)) posed.weights = {};
    const ResidentGrowth growth;
    PartitionResult result;
    result.part = cut(posed, options.parts);
    result.memory_bytes = growth.bytes();
    return result;
  }

 private:
  void configure(const ZoltanObject& zoltan, const Problem& problem, int parts) const {
    zoltan.set("DEBUG_LEVEL", "0");  // first: setting a method prints its name otherwise
    zoltan.set("LB_METHOD", std::string(method_));
    zoltan.set("LB_APPROACH", "PARTITION");
    zoltan.set("NUM_GLOBAL_PARTS", std::to_string(parts));
    zoltan.set("NUM_GID_ENTRIES", "1");
    zoltan.set("NUM_LID_ENTRIES", "1");
    zoltan.set("OBJ_WEIGHT_DIM", problem.weights.empty() ? "0" : "1");
    zoltan.set("IMBALANCE_TOL", "1.001");
    zoltan.set("RETURN_LISTS", "PARTS");  // the part of every object, moved or not
    if (method_ == "RCB") zoltan.set("RCB_OUTPUT_LEVEL", "0");
    void* data = const_cast<Problem*>(&problem);  // only read by the callbacks
    check(Zoltan_Set_Num_Obj_Fn(zoltan.get(), &count_objects, data), "Zoltan_Set_Num_Obj_Fn");
    check(Zoltan_Set_Obj_List_Fn(zoltan.get(), &list_objects, data), "Zoltan_Set_Obj_List_Fn");
    check(Zoltan_Set_Num_Geom_Fn(zoltan.get(), &count_dimensions, data), "Zoltan_Set_Num_Geom_Fn");
    check(Zoltan_Set_Geom_Multi_Fn(zoltan.get(), &list_coordinates, data), "Zoltan_Set_Geom_Multi_Fn");
  }

  [[nodiscard]] std::vector<std::int32_t> cut(const Problem& problem, int parts) const {
    const ZoltanObject zoltan;
    configure(zoltan, problem, parts);
    Exports out;
    check(Zoltan_LB_Partition(zoltan.get(), &out.changes, &out.gid_entries, &out.lid_entries, &out.imports,
                              &out.import_gids, &out.import_lids, &out.import_ranks, &out.import_parts, &out.exports,
                              &out.gids, &out.lids, &out.ranks, &out.parts),
          "Zoltan_LB_Partition");
    std::vector<std::int32_t> part(problem.points.size(), -1);
    for (int k = 0; k < out.exports; ++k) part[out.lids[k]] = out.parts[k];
    if (std::find(part.begin(), part.end(), -1) != part.end())
      throw support::RunError(fmt::format("{}: Zoltan left points without a part", name_));
    return part;
  }

  std::string_view name_;
  std::string_view method_;
};

}  // namespace

std::unique_ptr<Partitioner> make_zoltan_rcb() {
  return std::make_unique<ZoltanPartitioner>("zoltan_rcb", "RCB");
}

std::unique_ptr<Partitioner> make_zoltan_hsfc() {
  return std::make_unique<ZoltanPartitioner>("zoltan_hsfc", "HSFC");
}

}  // namespace amrbench::partitioners
