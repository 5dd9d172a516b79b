#include "support/bandwidth.hpp"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include "support/cores.hpp"
#include "support/metrics.hpp"
#include "support/mpi.hpp"
#include "support/page_buffer.hpp"
#include "support/process_memory.hpp"

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace amrbench::support {

namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::size_t kLineDoubles = 8;

/// A cache line a step, by hand: compilers turn a plain loop into a call of memcpy, which picks its own kind of store
/// for large sizes. The empty asm keeps it a loop.
void copy_plain(double* dst, const double* src, std::size_t n) {
  typedef double Line __attribute__((vector_size(64)));  // NOLINT(modernize-use-using)
  std::size_t i = 0;
  for (; i + kLineDoubles <= n; i += kLineDoubles) {
    Line line;
    std::memcpy(&line, src + i, sizeof(line));
    std::memcpy(dst + i, &line, sizeof(line));
    asm volatile("" ::: "memory");
  }
  for (; i < n; ++i) dst[i] = src[i];
}

/// The stretch of [0, n) of thread t of `threads`, in whole cache lines.
std::pair<std::size_t, std::size_t> stretch(std::size_t n, int t, int threads) {
  const std::size_t lines = n / kLineDoubles;
  const auto bound = [&](int i) {
    return i == threads ? n : lines * static_cast<std::size_t>(i) / static_cast<std::size_t>(threads) * kLineDoubles;
  };
  return {bound(t), bound(t + 1)};
}

template <class Body>
void for_stretches(std::size_t n, Body body) {
#pragma omp parallel
  {
    const auto [from, to] = stretch(n, omp_get_thread_num(), omp_get_num_threads());
    body(from, to - from);
  }
}

using Copy = void (*)(double*, const double*, std::size_t);

/// Median over repetitions of the slowest rank's seconds.
double median_seconds(const Communicator& comm, Copy copy, PageBuffer<double>& dst, const PageBuffer<double>& src,
                      int repetitions) {
  std::vector<double> seconds;
  for (int r = 0; r <= repetitions; ++r) {
    barrier(comm);
    const double start = Metrics::steady_seconds();
    for_stretches(src.size(), [&](std::size_t from, std::size_t n) { copy(dst.data() + from, src.data() + from, n); });
    const double mine = Metrics::steady_seconds() - start;
    const double slowest = all_max(comm, mine);
    if (r > 0) seconds.push_back(slowest);
  }
  std::nth_element(seconds.begin(), seconds.begin() + repetitions / 2, seconds.end());
  return seconds[static_cast<std::size_t>(repetitions / 2)];
}

/// "262144K" -> bytes.
std::int64_t parse_size(const std::string& text) {
  if (text.empty()) return 0;
  std::int64_t value = 0;
  std::size_t i = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) value = value * 10 + (text[i] - '0');
  if (i < text.size() && text[i] == 'K') return value * 1024;
  if (i < text.size() && text[i] == 'M') return value * kMiB;
  return value;
}

}  // namespace

const char* non_temporal_kind() {
#if defined(__AVX512F__)
  return "AVX-512";
#elif defined(__AVX__)
  return "AVX";
#elif defined(__SSE2__)
  return "SSE2";
#else
  return "";
#endif
}

void copy_non_temporal(double* dst, const double* src, std::size_t n) {
  std::size_t i = 0;
#if defined(__AVX512F__)
  for (; i + 8 <= n; i += 8) _mm512_stream_pd(dst + i, _mm512_loadu_pd(src + i));
#elif defined(__AVX__)
  for (; i + 4 <= n; i += 4) _mm256_stream_pd(dst + i, _mm256_loadu_pd(src + i));
#elif defined(__SSE2__)
  for (; i + 2 <= n; i += 2) _mm_stream_pd(dst + i, _mm_loadu_pd(src + i));
#endif
  for (; i < n; ++i) dst[i] = src[i];
#ifdef __SSE2__
  _mm_sfence();  // such stores are weakly ordered: make them visible before anybody is told
#endif
}

LastLevelCache last_level_cache(const std::string& folder) {
  LastLevelCache last;
  for (int index = 0; index < 8; ++index) {  // in no order that is promised
    const auto word = [&](const char* name) {
      std::string text;
      std::ifstream(folder + "/index" + std::to_string(index) + "/" + name) >> text;
      return text;
    };
    const std::int64_t bytes = parse_size(word("size"));
    if (bytes <= last.bytes) continue;
    last = {bytes, std::max(1, static_cast<int>(parse_cpu_list(word("shared_cpu_list")).count()))};
  }
  return last;
}

std::int64_t copy_bytes_node(std::int64_t last_level_cache, std::int64_t available_memory, int threads) {
  const std::int64_t wanted = std::max(512 * kMiB, std::min(4 * last_level_cache, 256 * kMiB * threads));
  return available_memory > 0 ? std::min(wanted, available_memory / 4) : wanted;
}

CopyBandwidth measure_copy_bandwidth(const Communicator& comm, const CopyOptions& options) {
  CopyBandwidth result;
  const Communicator node = comm.split_node();
  result.ranks_node = node.size();
  result.threads = omp_get_max_threads();
  std::int64_t bytes_node = options.bytes_node;
  if (bytes_node <= 0)
    bytes_node =
        copy_bytes_node(last_level_cache().bytes, available_memory_bytes(), result.threads * result.ranks_node);
  // A rank may take less than there is; a quarter of that leaves room for what MPI maps meanwhile.
  if (const std::int64_t left = address_space_left() / 4; left < bytes_node / node.size())
    bytes_node = left * node.size();
  bytes_node = all_min(node, bytes_node);  // ranks may have read the memory's state at different moments
  const std::int64_t lines = std::max<std::int64_t>(bytes_node / node.size() / 128, 1);
  const auto n = static_cast<std::size_t>(lines) * kLineDoubles;
  result.bytes_rank = static_cast<std::int64_t>(n) * 16;

  PageBuffer<double> src(n);
  PageBuffer<double> dst(n);
  for_stretches(n, [&](std::size_t from, std::size_t count) {
    std::fill_n(src.data() + from, count, 1.0);
    std::fill_n(dst.data() + from, count, 2.0);
  });
  const double bytes_all = all_sum(comm, static_cast<double>(result.bytes_rank));
  const int repetitions = std::max(options.repetitions, 5);
  const auto measure = [&](std::string name, Copy copy) {
    const double seconds = median_seconds(comm, copy, dst, src, repetitions);
    result.kinds.push_back({std::move(name), seconds > 0 ? bytes_all / seconds : 0});
    result.bytes_per_s = std::max(result.bytes_per_s, result.kinds.back().bytes_per_s);
  };
  measure("plain", &copy_plain);
  const std::string kind = non_temporal_kind();
  if (!kind.empty()) measure("non-temporal (" + kind + ")", &copy_non_temporal);
  return result;
}

}  // namespace amrbench::support
