"""Spack recipe of amrbench; packaging/README.md says how to use it."""

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Amrbench(CMakePackage, CudaPackage):
    """Adaptive mesh refinement benchmark suite: stencils, halo exchange, refinement, load balancing and
    migration on MPI ranks, OpenMP threads and GPUs, timed by phase and verified in every run; its curves,
    partitioners and balancing policies as libraries."""

    license("BSD-3-Clause")

    # No release archive yet: built from a checkout (spack dev-build).
    version("0.1.0")

    variant("metis", default=False, description="Partition methods metis_*, for comparison")
    variant("scotch", default=False, description="Partition method scotch, for comparison")
    variant("zoltan", default=False, description="Partition methods zoltan_*, for comparison")
    variant("nccl", default=True, when="+cuda", description="Messages from GPU to GPU through NCCL")
    variant("tests", default=False, description="Build the tests")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    # Lower bounds are the versions of Debian 12, which the project is tested with.
    depends_on("mpi@3:")
    depends_on("fmt@9.1:")
    depends_on("nlohmann-json@3.11:")
    depends_on("zlib-api")
    depends_on("libpng@1.6:")
    depends_on("cli11@2.1:", type="build")
    depends_on("tomlplusplus@3.3:", type="build")
    depends_on("metis@5.1:", when="+metis")
    depends_on("scotch@7:", when="+scotch")
    depends_on("zoltan@3.83:+mpi", when="+zoltan")
    depends_on("cuda@12:", when="+cuda")
    depends_on("nccl", when="+nccl")
    depends_on("googletest@1.12:", type="build", when="+tests")
    depends_on("boost@1.81:", type="build", when="+tests")  # headers
    depends_on("python@3.9:", type="build", when="+tests")

    conflicts("%gcc@:11", msg="C++20 as of GCC 12")
    conflicts("%clang@:13", msg="C++20 as of Clang 14")
    for _arch in ("50", "52", "53", "60", "61", "62", "70", "72", "75"):
        conflicts(f"cuda_arch={_arch}", when="+cuda", msg="GPUs of compute capability 8.0 or later")

    def cmake_args(self):
        args = [
            # Spack's compiler wrapper sets the processor, the same for all packages.
            self.define("AMRBENCH_NATIVE", False),
            self.define("AMRBENCH_BENCHMARKS", False),
            self.define_from_variant("AMRBENCH_TESTS", "tests"),
            self.define_from_variant("AMRBENCH_CUDA", "cuda"),
            self.define_from_variant("AMRBENCH_METIS", "metis"),
            self.define_from_variant("AMRBENCH_SCOTCH", "scotch"),
            self.define_from_variant("AMRBENCH_ZOLTAN", "zoltan"),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define_from_variant("AMRBENCH_NCCL", "nccl"))
            architectures = self.spec.variants["cuda_arch"].value
            if "none" not in architectures:
                args.append(self.define("AMRBENCH_CUDA_ARCHITECTURES", architectures))
        return args

    def test_list(self):
        """the installed program names its curves"""
        amrbench = which(self.prefix.bin.amrbench, required=True)
        assert "hilbert" in amrbench("list", output=str.split, error=str.split)
