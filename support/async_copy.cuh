#pragma once
// Copies from global to shared memory that run by themselves, and the barrier that says when they have come; thin
// wrappers around PTX instructions of compute capability 9.0. Bulk copies (cp.async.bulk) are one instruction for any
// number of bytes, done by the tensor memory unit; small ones (cp.async) are 8 or 16 bytes a thread.
//
// A barrier (mbarrier) counts two things: arrivals of threads, whose number barrier_init() sets, and bytes announced
// but not yet copied. When none of either is left a phase ends and the next one begins. Phases are numbered from 0; who
// waits for the end of phase k passes the parity k % 2.
// Source: PTX ISA 8.x, "cp.async.bulk", "mbarrier".
#include <cstdint>

namespace amrbench::support {

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
/// Small copies. Bytes 8 or 16, both ends aligned to as many. Before compute capability 8.0 they are done at once.
template <int Bytes>
__device__ inline void copy_small(void* to, const void* from) {
  static_assert(Bytes == 8 || Bytes == 16);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from))
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from))
                 : "memory");
  }
#else
  for (int k = 0; k < Bytes / 8; ++k) static_cast<double*>(to)[k] = static_cast<const double*>(from)[k];
#endif
}
/// Ends a group of this thread's small copies.
__device__ inline void copies_commit() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Returns when all groups of this thread's small copies but the last `Groups` are complete.
template <int Groups>
__device__ inline void copies_wait_but() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
#endif
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

__device__ inline void barrier_init(std::uint64_t* barrier, std::uint32_t threads) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(threads) : "memory");
}
/// After barrier_init, before any copy names the barrier.
__device__ inline void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// Arrives and announces bytes in one: the phase cannot end between the two.
__device__ inline void barrier_arrive_expect(std::uint64_t* barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
/// Arrives when all cp.async that this thread has issued are complete.
__device__ inline void barrier_arrive_after_copies(std::uint64_t* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}
/// Returns when all cp.async that this thread has issued are complete.
__device__ inline void copies_wait() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}
__device__ inline void barrier_wait(std::uint64_t* barrier, std::uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}
/// One arrival; what the thread read and wrote before is done for those who wait.
__device__ inline void barrier_arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
/// Puts what this thread has read from shared memory before bulk copies that overwrite it after a later arrival: a
/// barrier alone orders loads of threads only, and a bulk copy may overtake one that is under way.
__device__ inline void reads_before_bulk_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Bytes a multiple of 16, both ends aligned to 16.
__device__ inline void copy_bulk(void* to, const void* from, std::uint32_t bytes, std::uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}
#endif

/// Asks for memory that others will read soon to come into the second-level cache. Bytes a multiple of 16, aligned
/// to 16. Nothing on devices before 9.0.
__device__ inline void prefetch_bulk([[maybe_unused]] const void* from, [[maybe_unused]] std::uint32_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(from)), "r"(bytes)
               : "memory");
#endif
}
/// The same for the sector of a value.
__device__ inline void prefetch_value(const void* at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

}  // namespace amrbench::support
