#include "support/cuda_choice.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "support/cuda.hpp"
#include "support/cuda_info.hpp"
#include "support/error.hpp"

namespace amrbench::support {

DeviceChoice choose_device(const Communicator& comm) {
  // A rank without a GPU must not leave the others waiting.
  std::vector<CudaDeviceInfo> devices;
  std::string problem;
  try {
    devices = usable_cuda_devices();
  } catch (const InputError& error) {
    problem = error.what();
  }
  if (any_of_ranks(comm, !problem.empty()))
    throw InputError(problem.empty() ? "device.backend \"cuda\": another rank's node has no usable GPU" : problem);
  const Communicator node = comm.split_node();
  const auto count = static_cast<int>(devices.size());
  cuda_check(cudaSetDevice(devices[node.rank() % count].index), "cudaSetDevice");
  DeviceChoice choice;
  choice.own = all_of_ranks(comm, node.size() <= count);
  const int in_use = node.is_root() ? std::min(node.size(), count) : 0;
  choice.gpus = all_sum(comm, in_use);
  return choice;
}

}  // namespace amrbench::support
