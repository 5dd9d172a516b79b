#pragma once
// Raw memory behind PageBuffer: a stretch of bytes that can grow, from the kernel's pages or from the heap.
//
// Both kinds share one interface: reserve(bytes), reserve_discard(bytes), data(), bytes(), and move and free
// themselves.
#include <cstddef>
#include <utility>

#if defined(__linux__) && !defined(AMRBENCH_NO_MMAP)
#define AMRBENCH_HAS_MMAP 1
#endif

namespace amrbench::support {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Portable kind: operator new aligned to 64 bytes (2 MiB from 2 MiB on). Growing copies, and needs both copies for
/// the time of it.
class HeapRegion {
 public:
  HeapRegion() = default;
  HeapRegion(HeapRegion&& other) noexcept { swap(other); }
  HeapRegion& operator=(HeapRegion&& other) noexcept {
    HeapRegion(std::move(other)).swap(*this);
    return *this;
  }
  HeapRegion(const HeapRegion&) = delete;
  HeapRegion& operator=(const HeapRegion&) = delete;
  ~HeapRegion() { release(); }

  /// At least `bytes` bytes, contents kept. Never shrinks.
  void reserve(std::size_t bytes);
  /// Room for exactly `bytes` bytes, rounded up; contents lost.
  void reserve_discard(std::size_t bytes);
  void release() noexcept;
  void swap(HeapRegion& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

#ifdef AMRBENCH_HAS_MMAP
/// Linux kind: private anonymous pages, zero until written, placed on the NUMA node of the thread that writes first.
/// From 2 MiB on, size and address are multiples of 2 MiB and the kernel is asked for huge pages. Growing moves page
/// tables, not contents.
class MmapRegion {
 public:
  MmapRegion() = default;
  MmapRegion(MmapRegion&& other) noexcept { swap(other); }
  MmapRegion& operator=(MmapRegion&& other) noexcept {
    MmapRegion(std::move(other)).swap(*this);
    return *this;
  }
  MmapRegion(const MmapRegion&) = delete;
  MmapRegion& operator=(const MmapRegion&) = delete;
  ~MmapRegion() { release(); }

  void reserve(std::size_t bytes);
  void reserve_discard(std::size_t bytes);
  void release() noexcept;
  void swap(MmapRegion& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};
using PageRegion = MmapRegion;
#else
using PageRegion = HeapRegion;
#endif

namespace detail {
/// Throws RunError "out of memory: ... bytes".
[[noreturn]] void throw_out_of_memory(std::size_t bytes);
/// count * size, or the error above when that does not fit.
std::size_t checked_bytes(std::size_t count, std::size_t size);
}  // namespace detail

}  // namespace amrbench::support
