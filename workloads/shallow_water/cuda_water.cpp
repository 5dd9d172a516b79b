#include "workloads/shallow_water/cuda_water.hpp"

#include "kernels/shallow_water/water_cuda.hpp"

namespace amrbench::workloads::shallow_water {

std::vector<WaterMarks> find_water_on_device(const amr::CudaFields& fields, bool is_single) {
  amr::CudaDevice& device = fields.device();
  const auto n = static_cast<std::size_t>(fields.size());
  std::vector<WaterMarks> water(n);
  if (n == 0) return water;
  amr::DeviceList<std::int32_t> slots;
  const std::int32_t* const list = slots.store(fields.slots(), device);
  support::DeviceBuffer<WaterMarks> flags;
  flags.resize_discard(n);
  const auto launch = [&](auto kernel) {
    kernel(fields.input(), list, static_cast<int>(n), fields.layout().cells[0], flags.data(), device.main());
  };
  if (is_single)
    launch(kernels::shallow_water::launch_water<float>);
  else
    launch(kernels::shallow_water::launch_water<double>);
  support::copy_to_host(water.data(), static_cast<const WaterMarks*>(flags.data()), n, device.main());
  device.main().synchronize();
  return water;
}

}  // namespace amrbench::workloads::shallow_water
