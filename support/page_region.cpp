#include "support/page_region.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <new>

#include "support/error.hpp"

#ifdef AMRBENCH_HAS_MMAP
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace amrbench::support {

namespace detail {

void throw_out_of_memory(std::size_t bytes) {
  throw RunError(
      fmt::format("out of memory: {} bytes ({:.1f} GiB) are needed in one piece; use more ranks or a smaller mesh",
                  bytes, static_cast<double>(bytes) / (1 << 30)));
}

std::size_t checked_bytes(std::size_t count, std::size_t size) {
  // No machine's address space holds more; so rounding up and aligning cannot overflow.
  constexpr std::size_t kMost = std::size_t{1} << 56;
  if (size == 0 || count <= kMost / size) return count * size;
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  throw_out_of_memory(count > kAll / size ? kAll : count * size);
}

}  // namespace detail

namespace {

std::size_t round_up(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

constexpr std::size_t kLine = 64;

std::size_t heap_alignment(std::size_t bytes) {
  return bytes >= kHugePage ? kHugePage : kLine;
}

}  // namespace

void HeapRegion::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  HeapRegion larger;
  larger.reserve_discard(bytes);
  if (bytes_ > 0) std::memcpy(larger.data_, data_, bytes_);
  swap(larger);
}

void HeapRegion::reserve_discard(std::size_t bytes) {
  release();
  if (bytes == 0) return;
  const std::size_t alignment = heap_alignment(round_up(bytes, kLine));  // release() sees only the rounded size
  const std::size_t rounded = round_up(bytes, alignment);
  data_ = ::operator new (rounded, std::align_val_t{alignment}, std::nothrow);
  if (data_ == nullptr) detail::throw_out_of_memory(rounded);
  bytes_ = rounded;
}

void HeapRegion::release() noexcept {
  if (data_ != nullptr) ::operator delete (data_, std::align_val_t{heap_alignment(bytes_)});
  data_ = nullptr;
  bytes_ = 0;
}

#ifdef AMRBENCH_HAS_MMAP

namespace {

std::size_t round_to_pages(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t rounded = round_up(bytes, page);
  return rounded >= kHugePage ? round_up(rounded, kHugePage) : rounded;
}

char* map(std::size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<char*>(p);
}

/// bytes at a multiple of 2 MiB: map 2 MiB more than asked for and give both ends back.
char* map_aligned(std::size_t bytes) {
  char* p = map(bytes + kHugePage);
  if (p == nullptr) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  const std::size_t head = (kHugePage - address % kHugePage) % kHugePage;
  if (head > 0) munmap(p, head);
  munmap(p + head + bytes, kHugePage - head);
  return p + head;
}

/// Advice only: a kernel without huge pages runs the same, slower.
void ask_for_huge_pages([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  if (bytes >= kHugePage) madvise(p, bytes, MADV_HUGEPAGE);
#endif
}

/// UCX, which MPICH and Open MPI may use, puts a function of its own before mremap that loses the target of
/// MREMAP_FIXED (seen with 1.13: the mapping lands at address 0).
bool mremap_loses_targets() {
  void* const ucx = dlopen("libucm.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (ucx != nullptr) dlclose(ucx);
  return ucx != nullptr;
}

/// ThreadSanitizer does not see mremap: what another thread read where a mapping was would be held against a write
/// where the next one came to lie.
#if defined(__SANITIZE_THREAD__)
constexpr bool kMremapIsSeen = false;
#elif defined(__has_feature)
constexpr bool kMremapIsSeen = !__has_feature(thread_sanitizer);
#else
constexpr bool kMremapIsSeen = true;
#endif

/// Copies a mapping to `target`, which may be null, and gives the old one back.
void* copy_to(char* target, void* old, std::size_t old_bytes) {
  if (target == nullptr) return nullptr;
  std::memcpy(target, old, old_bytes);
  munmap(old, old_bytes);
  return target;
}

/// Moves and grows a mapping; nullptr when there is no room (the old one then stands untouched).
void* remap(void* old, std::size_t old_bytes, std::size_t new_bytes) {
  if (!kMremapIsSeen) return copy_to(new_bytes < kHugePage ? map(new_bytes) : map_aligned(new_bytes), old, old_bytes);
  if (new_bytes < kHugePage || reinterpret_cast<std::uintptr_t>(old) % kHugePage == 0) {
    void* p = mremap(old, old_bytes, new_bytes, new_bytes < kHugePage ? MREMAP_MAYMOVE : 0);
    if (p != MAP_FAILED) return p;
    if (new_bytes < kHugePage) return nullptr;
  }
  char* target = map_aligned(new_bytes);
  if (target == nullptr) return nullptr;
  if (mremap_loses_targets()) return copy_to(target, old, old_bytes);
  void* p = mremap(old, old_bytes, new_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target);
  if (p == MAP_FAILED) {
    munmap(target, new_bytes);
    return nullptr;
  }
  return p;
}

}  // namespace

void MmapRegion::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  if (data_ == nullptr) return reserve_discard(bytes);
  const std::size_t rounded = round_to_pages(bytes);
  void* p = remap(data_, bytes_, rounded);
  if (p == nullptr) detail::throw_out_of_memory(rounded);
  data_ = p;
  bytes_ = rounded;
  ask_for_huge_pages(data_, bytes_);
}

void MmapRegion::reserve_discard(std::size_t bytes) {
  const std::size_t rounded = round_to_pages(bytes);
  if (rounded == bytes_) {
    if (data_ != nullptr) madvise(data_, bytes_, MADV_DONTNEED);
    return;
  }
  release();
  if (rounded == 0) return;
  char* p = rounded >= kHugePage ? map_aligned(rounded) : map(rounded);
  if (p == nullptr) detail::throw_out_of_memory(rounded);
  data_ = p;
  bytes_ = rounded;
  ask_for_huge_pages(data_, bytes_);
}

void MmapRegion::release() noexcept {
  if (data_ != nullptr) munmap(data_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
}

#endif

}  // namespace amrbench::support
