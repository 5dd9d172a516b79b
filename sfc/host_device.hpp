#pragma once
// AMRBENCH_HD marks a function for host and device where a CUDA compiler reads it, and is nothing elsewhere. Device
// builds need nvcc's --expt-relaxed-constexpr, because coordinates are std::array.
#if defined(__CUDACC__)
#define AMRBENCH_HD __host__ __device__
#else
#define AMRBENCH_HD
#endif
