#pragma once
// Directory: who owns a block, where that does not follow from its key.
//
// Every registered key has a home, a rank chosen by the key's hash, which keeps the key and its owner. So entries
// spread evenly whatever the mesh looks like, no rank knows all of them, and who asks need not know anything but the
// key. Sources: document 001, 5.2.1 names the need (who owns a remote block); the rendezvous by hash is common
// practice, for one in Trilinos' distributed directory (Pinar and Hendrickson, "Communication support for adaptive
// computation", 2001).
#include <cstdint>
#include <span>
#include <vector>

#include "amr/dictionary.hpp"
#include "support/mpi.hpp"

namespace amrbench::amr {

class Directory {
 public:
  static constexpr int kNobody = -1;

  /// Forgets all entries, then enters `keys` as this rank's. Distinct over all ranks. Collective; one all-to-all.
  void build(const support::Communicator& comm, std::span<const std::uint64_t> keys);
  /// The owner of each key asked for, in that order, kNobody where nobody entered it. Keys may repeat. Collective; two
  /// all-to-alls.
  [[nodiscard]] std::vector<int> owners(const support::Communicator& comm, std::span<const std::uint64_t> keys) const;

 private:
  Dictionary dictionary_;    ///< of the keys that are at home here
  std::vector<int> owners_;  ///< in the keys' order
};

}  // namespace amrbench::amr
