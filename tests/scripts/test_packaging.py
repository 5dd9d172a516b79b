"""What others take of the project: its citation, its Spack recipe, and a fresh machine made by a stand-in of debootstrap.

Standard library only.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "fresh-machine"


def cmake_text() -> str:
    return "".join(path.read_text() for path in [ROOT / "CMakeLists.txt", *sorted((ROOT / "cmake").glob("*.cmake"))])


def cmake_version() -> str:
    return re.search(r"^project\(amrbench VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]


class Citation(unittest.TestCase):
    def test_version_is_that_of_cmake(self):
        text = (ROOT / "CITATION.cff").read_text()
        self.assertEqual(re.findall(r"^version: (.*)$", text, re.MULTILINE), [cmake_version()])

    def test_keys_that_the_format_requires(self):
        keys = dict(re.findall(r"^([a-z-]+):(.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
        self.assertLessEqual({"cff-version", "message", "title", "authors"}, keys.keys())
        self.assertEqual(keys["cff-version"].strip(), "1.2.0")
        self.assertEqual(keys["license"].strip(), "BSD-3-Clause")


def load_recipe(variants: dict[str, object]) -> tuple[type, list[tuple[str, tuple, dict]]]:
    """The recipe's class with stand-ins for what Spack gives it, and its directives as (name, arguments, keywords)."""
    directives = []

    class CMakePackage:
        spec = types.SimpleNamespace(
            satisfies=lambda text: variants[text[1:]] if text[0] == "+" else not variants[text[1:]],
            variants={name: types.SimpleNamespace(value=value) for name, value in variants.items()})
        run_tests = False

        @staticmethod
        def define(name, value):
            text = ";".join(value) if isinstance(value, tuple) else {True: "ON", False: "OFF"}.get(value, value)
            return f"-D{name}={text}"

        def define_from_variant(self, name, variant):
            return self.define(name, variants[variant])

    class CudaPackage:
        pass

    spack = types.ModuleType("spack.package")
    for name in ("version", "variant", "depends_on", "conflicts", "license", "maintainers", "requires"):
        setattr(spack, name, lambda *arguments, _name=name, **keywords: directives.append((_name, arguments, keywords)))
    cmake, cuda = types.ModuleType("cmake"), types.ModuleType("cuda")
    cmake.CMakePackage, cuda.CudaPackage = CMakePackage, CudaPackage
    systems = "spack_repo.builtin.build_systems"
    stand_ins = {"spack.package": spack, f"{systems}.cmake": cmake, f"{systems}.cuda": cuda}
    for name in ("spack", "spack_repo", "spack_repo.builtin", systems):
        stand_ins[name] = types.ModuleType(name)
    before = {name: sys.modules.get(name) for name in stand_ins}
    sys.modules.update(stand_ins)
    try:
        scope: dict[str, object] = {}
        path = next((ROOT / "packaging" / "spack").glob("**/amrbench/package.py"))
        exec(compile(path.read_text(), str(path), "exec"), scope)
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    return scope["Amrbench"], directives


class Recipe(unittest.TestCase):
    ALL_OFF = dict(cuda=False, nccl=False, metis=False, scotch=False, zoltan=False, tests=False, cuda_arch=("none",))

    def options(self, **variants):
        recipe, _ = load_recipe({**self.ALL_OFF, **variants})
        return dict(option[2:].split("=", 1) for option in recipe().cmake_args())

    def test_variants_and_version(self):
        _, directives = load_recipe(self.ALL_OFF)
        names = {arguments[0] for name, arguments, _ in directives if name == "variant"}
        self.assertLessEqual({"metis", "scotch", "zoltan", "tests"}, names)  # cuda comes with CudaPackage
        self.assertIn(cmake_version(), [arguments[0] for name, arguments, _ in directives if name == "version"])

    def test_every_option_is_one_of_ours(self):
        for variants in ({}, dict(cuda=True, nccl=True, cuda_arch=("80", "90")), dict(metis=True, tests=True)):
            for option in self.options(**variants):
                library = option.removeprefix("AMRBENCH_").lower()
                if option.startswith("AMRBENCH_"):
                    self.assertRegex(cmake_text(), rf"((option|set)\({option} |\n *amrbench_optional\({library} )")

    def test_variants_turn_options(self):
        off, on = self.options(), self.options(cuda=True, cuda_arch=("80", "90"), metis=True, scotch=True, zoltan=True)
        self.assertEqual((off["AMRBENCH_CUDA"], on["AMRBENCH_CUDA"]), ("OFF", "ON"))
        self.assertEqual(on["AMRBENCH_CUDA_ARCHITECTURES"], "80;90")
        self.assertEqual(off["AMRBENCH_TESTS"], "OFF")
        for name in ("METIS", "SCOTCH", "ZOLTAN"):
            self.assertEqual((off[f"AMRBENCH_{name}"], on[f"AMRBENCH_{name}"]), ("OFF", "ON"))


# Makes a root of bash and the few programs that scripts/run calls before it finds out that this is no Debian.
MAKER = """#!/bin/bash
set -eu
echo "called with $*"
for d in bin etc/apt/apt.conf.d proc sys dev root tmp; do mkdir -p "$3/$d"; done
for program in /bin/bash /usr/bin/env /usr/bin/dirname /bin/ls /usr/bin/awk; do
  cp -L "$program" "$3/bin/"
  for library in $(ldd "$program" | grep -o '/[^ ]*'); do
    mkdir -p "$3$(dirname "$library")"
    cp -L "$library" "$3$library"
  done
done
mkdir -p "$3/usr"; ln -s ../bin "$3/usr/bin"
"""


class FreshMachine(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.dir = pathlib.Path(temporary.name)
        (self.dir / "bin").mkdir()
        self.machine = self.dir / "machine"

    def stand_in(self, name, text):
        path = self.dir / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def start(self, *arguments):
        environment = {**os.environ, "PATH": f"{self.dir}/bin:{os.environ['PATH']}"}
        return subprocess.Popen([SCRIPT, *map(str, arguments)], cwd=self.dir, env=environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def call(self, *arguments):
        process = self.start(*arguments)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def need_root(self):
        def works(*command):
            return shutil.which(command[0]) and subprocess.run(command, capture_output=True).returncode == 0

        if os.geteuid() or not works("unshare", "--mount", "--pid", "--fork", "true"):
            self.skipTest("needs root and namespaces of its own")
        if not works("git", "-c", "safe.directory=*", "-C", ROOT, "rev-parse", "HEAD"):
            self.skipTest("this is no git checkout")

    def test_bad_arguments(self):
        (self.dir / "full").mkdir()
        (self.dir / "full" / "file").touch()
        for arguments, culprit in ((["--only", "build"], "build"), (["--only"], "--only"), (["--fast"], "--fast"),
                                   (["--mirror", "debian"], "debian"), (["--root", self.dir / "full"], "full")):
            with self.subTest(arguments):
                status, out, err = self.call(*arguments)
                self.assertEqual((status, out, err.count("\n")), (2, "", 1), err)
                self.assertTrue(err.startswith("scripts/fresh-machine: "), err)
                self.assertIn(culprit, err)

    def test_others_than_root_are_refused(self):
        self.stand_in("id", "#!/bin/sh\necho 1000\n")
        status, out, err = self.call("--root", self.machine)
        self.assertEqual((status, out, err.count("\n")), (2, "", 1), err)
        self.assertIn("root", err)
        self.assertFalse(self.machine.exists())

    def test_a_failing_command_is_told_and_nothing_is_left(self):
        self.need_root()
        self.stand_in("debootstrap", MAKER)
        status, out, err = self.call("--root", self.machine, "--mirror", "http://mirror.test/debian", "--only", "run")
        self.assertEqual(status, 1, out + err)
        self.assertIn("called with --variant=minbase bookworm", out)
        self.assertRegex(out, r"this is no Debian")  # from within the root, by this checkout's scripts/install-packages
        self.assertRegex(out, r" scripts/run, first call, exit status 2\n")
        self.assertNotIn("second call", out)
        self.assertFalse(self.machine.exists())
        self.assertNotIn(str(self.machine), pathlib.Path("/proc/self/mountinfo").read_text())
        logs = next((self.dir / "results").iterdir())
        self.assertEqual(sorted(path.name for path in logs.iterdir()), ["debian.log", "run-1.log", "seconds.txt"])
        self.assertRegex((logs / "run-1.log").read_text(), r"^ +\d+\.\d  scripts/install-packages: this is no Debian")

    def test_the_root_is_kept_where_that_is_asked_for(self):
        self.need_root()
        self.stand_in("debootstrap", MAKER)
        status, _, err = self.call("--root", self.machine, "--mirror=http://mirror.test/debian", "--only=run", "--keep")
        self.assertEqual(status, 1)
        self.assertIn(str(self.machine), err)
        self.assertTrue((self.machine / "root/amrbench/scripts/run").exists())
        self.assertEqual((self.machine / "etc/apt/sources.list").read_text(),
                         "deb http://mirror.test/debian bookworm main\n")
        self.assertEqual(list((self.machine / "dev").iterdir()), [])  # nothing stays mounted

    def test_ended_by_a_signal_nothing_is_left(self):
        self.need_root()
        self.stand_in("debootstrap", "#!/bin/bash\ntouch \"$3/begun\"\nsleep 71.25\n")
        process = self.start("--root", self.machine)
        while not (self.machine / "begun").exists():
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=20), 143)
        self.assertFalse(self.machine.exists())
        commands = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                commands.append(path.read_bytes())
        self.assertNotIn(b"sleep\x0071.25\x00", commands)
        process.communicate()


if __name__ == "__main__":
    unittest.main(verbosity=2)
