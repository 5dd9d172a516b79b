#pragma once
// Values for the host to look at, wherever they lie.
#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "amr/field_store.hpp"

namespace amrbench::workloads {

/// Writes the values of blocks, one block after another, to wherever the fields lie; `blocks` ascending.
inline void write_blocks(amr::Fields& fields, std::span<const std::int32_t> blocks, const double* values) {
  for (std::size_t k = 0, run = 1; k < blocks.size(); k += run) {
    for (run = 1; k + run < blocks.size() && blocks[k + run] == blocks[k] + static_cast<std::int32_t>(run);) ++run;
    fields.write(blocks[k], static_cast<std::int32_t>(run), values + k * fields.layout().block_values());
  }
}

/// The fields themselves where they lie in host memory, else a copy of all of them.
class HostCopy {
 public:
  explicit HostCopy(const amr::Fields& fields) : store_(dynamic_cast<const amr::FieldStore*>(&fields)) {
    if (store_ != nullptr) return;
    constexpr std::int32_t kBatch = 4096;
    copy_ = std::make_unique<amr::FieldStore>(fields.layout());
    copy_->reset(fields.size());
    const auto reading = fields.make_reading();
    std::vector<std::int32_t> list;
    for (std::int32_t first = 0; first < fields.size(); first += kBatch) {
      list.resize(static_cast<std::size_t>(std::min(kBatch, fields.size() - first)));
      std::iota(list.begin(), list.end(), first);
      fields.read(list, *reading);
      for (std::size_t k = 0; k < list.size(); ++k) copy_->write(list[k], 1, reading->values(k));
    }
    store_ = copy_.get();
  }
  [[nodiscard]] const amr::FieldStore& get() const { return *store_; }

 private:
  const amr::FieldStore* store_;
  std::unique_ptr<amr::FieldStore> copy_;
};

}  // namespace amrbench::workloads
