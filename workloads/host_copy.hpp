#pragma once
// Values for the host to look at, wherever they lie.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "amr/field_store.hpp"

namespace amrbench::workloads {

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
