"""The scripts refuse bad arguments with one line and status 2 before any work, and call mpirun as they should.

The second part runs copies of the scripts against stand-ins for apt, cmake, ninja and mpirun, which write down how they
were called. Standard library only.
"""

import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def call(command, **kwargs):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **kwargs)


class BadArguments(unittest.TestCase):
    def refused(self, script, *arguments, names):
        """Status 2, nothing on standard output, one line that names the script and the culprit."""
        with tempfile.TemporaryDirectory() as build:
            answer = call([str(ROOT / "scripts" / script), *arguments], env=dict(os.environ, AMRBENCH_BUILD_ROOT=build))
            self.assertEqual(os.listdir(build), [], "work was begun before the arguments were checked")
        self.assertEqual(answer.returncode, 2, answer.stderr)
        self.assertEqual(answer.stdout, "")
        self.assertEqual(answer.stderr.count("\n"), 1, answer.stderr)
        self.assertTrue(answer.stderr.startswith(f"scripts/{script}: "), answer.stderr)
        self.assertIn(names, answer.stderr)

    def test_rank_counts(self):
        for count in ("0", "-1", "two", "2.5", "4097", "99999999999999999999", ""):
            with self.subTest(count):
                self.refused("run", "--ranks", count, names="--ranks")
        self.refused("run", "--ranks=0", names="--ranks")

    def test_thread_counts(self):
        for count in ("-2", "many", "1025"):
            with self.subTest(count):
                self.refused("run", "--threads", count, names="--threads")

    def test_missing_values(self):
        for option in ("--ranks", "--threads", "--set", "--out", "--miniamr"):
            with self.subTest(option):
                self.refused("run", option, names=option)
        for option in ("--ranks", "--threads", "--set", "--out"):
            with self.subTest(option):
                self.refused("run", option, "--dry-run", names=option)
        self.refused("test", "--only", names="--only")
        self.refused("run", "--out", "", names="--out")

    def test_fuzz(self):
        for count in ("0", "x", "-1", "86401"):
            self.refused("fuzz", "--seconds", count, names="--seconds must be a whole number")
        self.refused("fuzz", "--seconds", names="--seconds needs a value")
        self.refused("fuzz", "--only", "", names="--only needs a value")
        self.refused("fuzz", "--only", "tom", names="--only tom: no such reader; there are blocks")
        self.refused("fuzz", "--bogus", names="--bogus")

    def test_settings(self):
        for setting in ("steps", "run.steps", "=3", "steps=3", "run.=3", "run.steps="):
            with self.subTest(setting):
                self.refused("run", "--set", setting, names="table.key=value")

    def test_unknown_arguments(self):
        self.refused("run", "--rank", "3", names="--rank")
        self.refused("run", "-n", "3", names="-n")
        self.refused("test", "--quick", names="--quick")
        self.refused("test", "--full", "--analyses", names="--analyses")
        self.refused("test", "--only", "mesh", "--full", names="--full")
        self.refused("test", "--full", "--only=mesh", names="--only")
        self.refused("test", "sfc", names="sfc")
        self.refused("install-packages", "everything", names="everything")

    def test_configurations(self):
        self.refused("run", "no such file.toml", names="no such file.toml")
        self.refused("run", str(ROOT / "scripts"), names="scripts")
        self.refused("run", "a.toml", "b.toml", names="b.toml")
        self.refused("run", "a.toml", "--miniamr", "--nx 4", names="--miniamr")

    def test_help(self):
        for script in ("run", "test", "install-packages"):
            answer = call([str(ROOT / "scripts" / script), "--help"])
            self.assertEqual(answer.returncode, 0)
            self.assertIn(f"usage: scripts/{script}", answer.stdout)


class StandIns(unittest.TestCase):
    """Copies of the scripts in a folder of their own, in front of programs that only write down their arguments."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.dir = pathlib.Path(self.temporary.name)
        shutil.copytree(ROOT / "scripts", self.dir / "scripts")
        # A list of its own: what these tests ask for does not change with what the project needs.
        (self.dir / "scripts" / "packages.txt").write_text(
            "# list\n[run]\ncmake\nlibboost1.81-dev | libboost1.83-dev  # either\nlibfmt-dev\nninja-build\n"
            "[test]\npython3\n\n[optional]\ngit\n")
        (self.dir / "a config.toml").write_text("")
        self.environment = {}
        self.bin = self.dir / "bin"
        self.bin.mkdir()
        for name in ("bash", "env", "dirname", "cat", "awk", "grep", "sort", "wc", "mkdir", "rm", "tail", "flock", "timeout",
                     "mktemp", "true"):
            (self.bin / name).symlink_to(shutil.which(name))
        self.stand_in("dpkg-query", "echo installed")
        self.stand_in("cmake", f'echo "$@" >> "{self.dir}/configured"\n'
                               'while [[ $1 != -B ]]; do shift; done\n'
                               'echo "GPU back end: not built, no GPU found" > "$2/gpu_back_end.txt"; > "$2/build.ninja"')
        self.stand_in("ninja", "exit 0")
        self.stand_in("lscpu", "printf '# a comment\\n0,0\\n0,0\\n1,0\\n1,0\\n'")
        self.stand_in("nproc", "echo 4")
        self.stand_in("id", "echo 1000")
        self.stand_in("mpirun", f'printf "%s|" "$@" >> "{self.dir}/calls"; echo "OMP=$OMP_NUM_THREADS" '
                                f'"ROOT=${{OMPI_ALLOW_RUN_AS_ROOT-no}}" "TERMINAL=$AMRBENCH_TERMINAL" >> "{self.dir}/calls"')

    def stand_in(self, name, body):
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!{shutil.which('bash')}\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def script(self, name, *arguments):
        (self.dir / "calls").unlink(missing_ok=True)
        environment = {"PATH": str(self.bin), "HOME": str(self.dir), "AMRBENCH_REPORT": "OFF", **self.environment}
        return call([str(self.dir / "scripts" / name), *arguments], env=environment, cwd=self.dir)

    def run_call(self, *arguments, status=0):
        """The last call of mpirun, that of the program (before it come trials of the mapping)."""
        answer = self.script("run", "a config.toml", *arguments)
        self.assertEqual(answer.returncode, status, answer.stderr)
        return (self.dir / "calls").read_text().splitlines()[-1]

    def test_defaults(self):
        made = self.run_call()
        self.assertIn("-n|2|", made)
        self.assertIn("--map-by|slot:PE=1|--bind-to|core|", made)
        self.assertIn(f"{self.dir}/build/release/amrbench|run|a config.toml|OMP=2 ", made)
        self.assertIn("ROOT=no TERMINAL=0", made)
        self.assertNotIn("--oversubscribe", made)
        self.assertNotIn("--threads", made)

    def test_arguments_reach_the_program_whole(self):
        made = self.run_call("--set", "run.name='a b'", "--threads", "03", "--out", "x y", "--dry-run", "--ranks=1")
        self.assertIn("|run|a config.toml|--set|run.name='a b'|--out|x y|--dry-run|--threads|3|OMP=4 ", made)
        answer = self.script("run", "--miniamr", "--nx 4 --object 2 0 -1")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("|run|--miniamr|--nx 4 --object 2 0 -1|", (self.dir / "calls").read_text())

    def test_more_ranks_than_cores(self):
        made = self.run_call("--ranks", "3")
        self.assertIn("--oversubscribe|--bind-to|none|", made)
        self.assertIn("OMP=1 ", made)

    def test_more_threads_than_processors(self):
        self.assertIn("-n|2|--bind-to|none|", self.run_call("--threads", "3"))

    def test_binding_that_fails_is_left_out(self):
        self.stand_in("mpirun", f'for a in "$@"; do [[ $a == core ]] && {{ echo refused; exit 1; }}; done; '
                                f'printf "%s|" "$@" >> "{self.dir}/calls"; echo >> "{self.dir}/calls"')
        self.assertIn("-n|2|--bind-to|none|", self.run_call())

    def test_root_is_allowed_only_as_root(self):
        self.stand_in("id", "echo 0")
        self.assertIn("ROOT=1", self.run_call())

    def test_exit_status_is_passed_on(self):
        for status in (1, 2, 137):
            self.stand_in("mpirun", f'[[ ${{!#}} == true ]] || {{ echo x >> "{self.dir}/calls"; exit {status}; }}')
            self.run_call(status=status)

    def test_failed_build_is_shown(self):
        self.stand_in("ninja", "echo 'error: no such type'; exit 1")
        answer = self.script("run", "a config.toml")
        self.assertEqual(answer.returncode, 1)
        self.assertIn("error: no such type", answer.stderr)
        self.assertFalse((self.dir / "calls").exists())

    def test_progress_of_the_build(self):
        self.stand_in("sleep", "read -r -t $1 <> <(:)")
        self.stand_in("ninja", 'echo "$NINJA_STATUS" > "${@: -1}.status"; sleep 2; echo "[1/4] one"; sleep 1; echo "[4/4] last"')
        answer = self.script("run", "a config.toml")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertRegex(answer.stderr, r"Building release: 25 %, 1 of 4 steps, \d s\n")
        self.assertRegex(answer.stderr, r"Building release: 100 %, 4 of 4 steps, \d s\n")
        self.assertEqual((self.dir / "build/release/build.log").read_text(), "[1/4] one\n[4/4] last\n")
        self.assertEqual((self.dir / "amrbench.status").read_text(), "[%f/%t] \n")

    def test_quick_builds_are_silent(self):
        self.stand_in("ninja", 'echo "[1/1] one"')
        self.assertEqual(self.script("run", "a config.toml").stderr, "GPU back end: not built, no GPU found\n")

    def test_gpu_back_end_is_chosen_and_said(self):
        self.assertIn("GPU back end: not built, no GPU found\n", self.script("run", "a config.toml").stderr)
        self.script("run", "a config.toml")
        self.environment = {"AMRBENCH_CUDA": "ON"}
        self.script("run", "a config.toml")
        self.script("run", "a config.toml")
        configured = (self.dir / "configured").read_text().splitlines()
        self.assertEqual(len(configured), 2, configured)  # again only when the choice changes
        self.assertIn("-DAMRBENCH_CUDA=AUTO", configured[0])
        self.assertIn("-DAMRBENCH_CUDA=ON", configured[1])
        self.environment = {"AMRBENCH_CUDA": "yes"}
        answer = self.script("run", "a config.toml")
        self.assertEqual(answer.returncode, 2)
        self.assertEqual(answer.stderr,
                         "scripts/run: AMRBENCH_CUDA is 'yes' in the environment; use AUTO, ON or OFF\n")

    def test_packages_that_nobody_can_install_are_named(self):
        self.stand_in("dpkg-query", '[[ ${!#} == ninja-build || ${!#} == libboost1.* ]] || echo installed')
        answer = self.script("run", "a config.toml")
        self.assertEqual(answer.returncode, 2)
        self.assertEqual(answer.stderr.count("\n"), 1, answer.stderr)
        self.assertIn("apt-get install libboost1.81-dev ninja-build\n", answer.stderr)
        self.assertFalse((self.dir / "calls").exists())

    def test_missing_packages_are_installed(self):
        self.stand_in("id", "echo 0")
        self.stand_in("dpkg-query", '[[ ${!#} == libfmt-dev || ${!#} == libboost1.* ]] || echo installed')
        self.stand_in("apt-cache", '[[ $2 == libboost1.81-dev ]] || echo Package: $2')
        self.stand_in("apt-get", f'echo "$@" >> "{self.dir}/apt"')
        answer = self.script("install-packages")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        update, install = (self.dir / "apt").read_text().splitlines()
        self.assertTrue(update.endswith(" update"), update)
        self.assertTrue(install.endswith(" install --no-install-recommends libboost1.83-dev libfmt-dev"), install)

    def test_failed_installation_is_bad_input(self):
        self.stand_in("id", "echo 0")
        self.stand_in("dpkg-query", "exit 1")
        self.stand_in("apt-cache", "exit 0")
        self.stand_in("apt-get", "exit 100")
        answer = self.script("install-packages", "run")
        self.assertEqual(answer.returncode, 2)
        self.assertIn("could not install: cmake ", answer.stderr.splitlines()[-1])

    def test_nothing_is_touched_when_all_is_there(self):
        self.stand_in("apt-get", f'touch "{self.dir}/apt"')
        self.assertEqual(self.script("install-packages", "run", "test", "optional").returncode, 0)
        self.assertFalse((self.dir / "apt").exists())


if __name__ == "__main__":
    unittest.main()
