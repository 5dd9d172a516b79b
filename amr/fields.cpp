#include "amr/fields.hpp"

namespace amrbench::amr {

std::vector<std::int64_t> Fields::take(std::size_t count) {
  std::vector<std::int64_t> slots = book_.take(count);
  make_room(book_.used());
  return slots;
}

}  // namespace amrbench::amr
