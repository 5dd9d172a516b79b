#pragma once
// Moving blocks between ranks.
#include <cstdint>
#include <span>
#include <vector>

#include "amr/consensus.hpp"
#include "amr/fields.hpp"
#include "amr/mesh.hpp"

namespace amrbench::amr {

struct MigrationCount {
  std::int64_t blocks = 0;  ///< sent by this rank
  std::int64_t bytes = 0;   ///< of messages it sent
};

/// Re-cuts the curve: rank r gets the blocks at global positions [cuts[r], cuts[r + 1]). `cuts`: ranks + 1 ascending
/// positions from 0 to global_size(), the same on every rank. Keys and values of all blocks that go from one rank to
/// another travel in one message; who sends what follows from the cuts alone, so nothing is negotiated.
/// Collective.
MigrationCount migrate(Mesh<3>& mesh, FieldStore& fields, std::span<const std::int64_t> cuts);
/// The same with one more byte a block: `changes`, one a local block, go where the blocks go.
MigrationCount migrate(Mesh<3>& mesh, FieldStore& fields, std::vector<Change>& changes,
                       std::span<const std::int64_t> cuts);

}  // namespace amrbench::amr
