#pragma once
// A growable array for the mesh's large data.
//
// Why not std::vector: it writes every element at birth (all pages land on one thread's NUMA node) and copies when it
// grows (twice the memory at the worst moment). Here
// - elements are not initialised: pages belong to the thread that touches them first;
// - grow() moves page tables, not contents, where the system can (Linux);
// - from 2 MiB on, memory starts at a multiple of 2 MiB and lies in huge pages where the kernel grants them.
//
// Invariants: data() is 64-byte aligned; size() * sizeof(T) <= bytes(); pointers and spans stay valid until the next
// grow(), resize_discard() or swap. Elements never written have no defined value.
// Ownership: owns its memory; move-only. Not thread-safe; elements may be used from several threads.
// Errors: RunError that names the bytes needed when there is no memory (the buffer then keeps its contents in grow(),
// and is empty after resize_discard()). A kernel that overcommits may accept a size and fail at first touch instead.
// Complexity: grow() O(pages) without copying (O(n) with HeapRegion); resize_discard() O(pages).
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "support/page_region.hpp"

namespace amrbench::support {

template <class T, class Region = PageRegion>
class PageBuffer {
  static_assert(std::is_trivially_copyable_v<T>, "contents move with their pages");
  static_assert(alignof(T) <= 64, "memory is aligned to 64 bytes");

 public:
  PageBuffer() = default;
  explicit PageBuffer(std::size_t n) { grow(n); }
  PageBuffer(PageBuffer&& other) noexcept { swap(other); }
  PageBuffer& operator=(PageBuffer&& other) noexcept {
    PageBuffer(std::move(other)).swap(*this);
    return *this;
  }
  PageBuffer(const PageBuffer&) = delete;
  PageBuffer& operator=(const PageBuffer&) = delete;
  ~PageBuffer() = default;

  /// At least n elements; those there are kept. Does nothing when size() >= n.
  void grow(std::size_t n) {
    if (n <= size_) return;
    region_.reserve(detail::checked_bytes(n, sizeof(T)));
    size_ = n;
  }
  /// Exactly n elements, contents undefined; memory is returned to the system first, so that the next touch places it
  /// anew, and the reservation fits n again.
  void resize_discard(std::size_t n) {
    size_ = 0;
    region_.reserve_discard(detail::checked_bytes(n, sizeof(T)));
    size_ = n;
  }
  /// Forgets elements from n on; their memory stays reserved.
  void truncate(std::size_t n) {
    if (n < size_) size_ = n;
  }
  /// Empty, nothing reserved.
  void clear() {
    size_ = 0;
    region_.release();
  }
  void swap(PageBuffer& other) noexcept {
    region_.swap(other.region_);
    std::swap(size_, other.size_);
  }

  [[nodiscard]] T* data() { return static_cast<T*>(region_.data()); }
  [[nodiscard]] const T* data() const { return static_cast<const T*>(region_.data()); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// Elements that fit without another reservation.
  [[nodiscard]] std::size_t capacity() const { return region_.bytes() / sizeof(T); }
  /// Bytes reserved (address space; the kernel counts only pages that were touched).
  [[nodiscard]] std::size_t bytes() const { return region_.bytes(); }

  [[nodiscard]] T& operator[](std::size_t i) { return data()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return data()[i]; }
  [[nodiscard]] T* begin() { return data(); }
  [[nodiscard]] T* end() { return data() + size_; }
  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] const T* end() const { return data() + size_; }
  [[nodiscard]] std::span<T> span() { return {data(), size_}; }
  [[nodiscard]] std::span<const T> span() const { return {data(), size_}; }

 private:
  Region region_;
  std::size_t size_ = 0;
};

template <class T, class Region>
void swap(PageBuffer<T, Region>& a, PageBuffer<T, Region>& b) noexcept {
  a.swap(b);
}

}  // namespace amrbench::support
