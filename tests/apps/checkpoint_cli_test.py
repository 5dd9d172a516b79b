#!/usr/bin/env python3
"""Checkpoints as their user sees them: killed, ended, damaged and restarted runs end with the bits of one that ran through.

usage: checkpoint_cli_test.py AMRBENCH MPIEXEC [unittest arguments]
AMRBENCH_FULL=1: all numbers of ranks, 50 kills. AMRBENCH_SEED=N: another seed of the moments at which runs are killed.
"""
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import program
from program import FULL, command, environment

CONFIG = """
[mesh]
root = [2, 1, 2]
block = 4
max_level = 2
[fields]
variables = 5
[run]
name = "moving"
steps = 24
stages_per_step = 3
refine_every = 2
checksum_every = 4
[balance]
policy = "auto"
weights = "measured"
[partition]
method = "hilbert"
[output]
checkpoint = 5
[[object]]
center = [0.3, 0.3, 0.3]
size = [0.15, 0.15, 0.2]
velocity = [0.03, 0.02, 0.01]
bounce = "edge"
[[object]]
shape = "cylinder_x"
center = [0.7, 0.6, 0.4]
size = [0.2, 0.1, 0.1]
velocity = [-0.02, 0.01, 0.02]
growth = [0.001, 0.002, 0.0]
"""


# Address space of a rank: enough for these runs, and so little that they measure the copy bandwidth in small buffers.
ADDRESS_SPACE = 0 if FULL else 800 << 20


def run(*args, ranks=0):
    return program.run(*args, ranks=ranks, memory=ADDRESS_SPACE)


def processes(folder):
    """Of the program, with this folder on its command line; mpiexec's own is not among them."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if words[0] == program.AMRBENCH.encode() and folder.encode() in words:
            found.append(int(path.split("/")[2]))
    return sorted(found)


def notes_signals(pid):
    """Does this process handle SIGUSR1 rather than die of it?"""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", file.read(), re.MULTILINE)
    except OSError:
        return False
    return bool(caught) and int(caught[1], 16) >> (signal.SIGUSR1 - 1) & 1 == 1


class Checkpoints(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory(prefix="amrbench-checkpoint-")
        cls.config = os.path.join(cls.shared.name, "moving.toml")
        with open(cls.config, "w", encoding="utf-8") as file:
            file.write(CONFIG)
        cls.through = os.path.join(cls.shared.name, "through")
        cls.finished = {}
        status, out, err = run("run", cls.config, "--set", "output.checkpoint=0", "--out", cls.through, ranks=2)
        assert status == 0 and "VALIDATION: PASSED" in out, err

    @classmethod
    def tearDownClass(cls):
        cls.shared.cleanup()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="amrbench-checkpoint-")
        self.addCleanup(self.folder.cleanup)

    def path(self, *parts):
        return os.path.join(self.folder.name, *parts)

    @staticmethod
    def record(folder):
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
            return json.load(file)

    def answer(self, folder, config=()):
        """All of a record that does not depend on who computed and how fast."""
        record = self.record(folder)
        self.assertTrue(record["valid"])
        totals = {k: v for k, v in record["totals"].items() if k != "time_s" and not k.startswith("memory_")}
        rows = [{k: row[k] for k in ("step", "refinements", "blocks", "blocks_by_level")} for row in record["series"]]
        return totals, record["fields"], record["mesh_crc_hex"], rows

    def expect_same(self, folder):
        self.assertEqual(self.answer(folder), self.answer(self.through))

    def good(self, *args, ranks=0):
        status, out, err = run("run", *args, ranks=ranks)
        self.assertEqual(status, 0, out + err)
        self.assertIn("VALIDATION: PASSED", out)
        return out, err

    def refused(self, *args, says, ranks=0):
        status, out, err = run("run", *args, ranks=ranks)
        lines = program.error_lines(err)
        self.assertEqual((status, out, len(lines)), (2, "", 1), err)
        self.assertIn(says, lines[0])

    def whole(self, ranks=2):
        """The folder of a run of 18 steps, with slots of steps 10 and 15 and plotfiles; made once, not to be changed."""
        if ranks not in self.finished:
            folder = os.path.join(self.shared.name, f"whole{ranks}")
            self.good(self.config, "--out", folder, "--set", "run.steps=18", "--set", "output.plotfile=6", ranks=ranks)
            self.finished[ranks] = folder
        return self.finished[ranks]

    def saved(self, name="saved", ranks=2):
        """A copy of it as if the run had been killed after its last checkpoint: only the record is missing."""
        return shutil.copytree(self.whole(ranks), self.path(name), ignore=shutil.ignore_patterns("run.json", "run.csv"))

    def test_saved_on_some_ranks_and_restarted_on_others(self):
        """In the form for every change one pair, beside 3 to 2 of a slot alone; all pairs of 1, 2 and 3 are in
        tests/amr/checkpoint_mpi_test.cpp, too."""
        counts = (1, 2, 3, 4, 8)
        pairs = {n: counts for n in counts} if FULL else {2: (3,)}
        for n, others in pairs.items():
            saved = self.saved(f"s{n}", ranks=n)
            for m in others:
                with self.subTest(saved_on=n, restarted_on=m):
                    folder = self.path(f"r{n}-{m}")
                    self.good("--restart", saved, "--out", folder, "--set", "run.steps=24", "--set",
                              "output.checkpoint=0", ranks=m)
                    self.expect_same(folder)
                    self.assertEqual(self.record(folder)["checkpoint"]["restart_step"], 15)

    def test_a_restart_may_change_how_but_not_what(self):
        saved = self.saved()
        ways = (("partition.method=orb", "balance.policy=feedback", "balance.weights=uniform", "run.overlap=false"),
                ("partition.method=morton", "balance.policy=every"),
                ("partition.method=gensfc", "balance.policy=never", "device.threads=2"))
        for i, settings in enumerate(ways if FULL else ways[:1]):
            folder = self.path(f"o{i}")
            words = [word for setting in settings for word in ("--set", setting)]
            self.good("--restart", saved, "--out", folder, "--set", "run.steps=24", *words, ranks=2)
            self.expect_same(folder)

    @staticmethod
    def changed(file):
        try:
            return os.stat(file).st_mtime_ns
        except OSError:
            return None

    def ended(self, job, folder):
        """Whether the launcher ended by itself. Open MPI 4.1 may wait for ever at its end once a rank was killed (ompi 7790), when
        none of them is there any more; ranks that stay are a failure."""
        end = time.monotonic() + 60
        gone_since = time.monotonic()
        while job.poll() is None:
            now = time.monotonic()
            if processes(folder):
                gone_since = now
                self.assertLess(now, end, "ranks are still there after 60 s")
            elif now > gone_since + 10:
                job.kill()
                job.wait()
                return False
            time.sleep(0.01)
        return True

    def test_killed_at_random_moments(self):
        seed = int(os.environ.get("AMRBENCH_SEED", random.SystemRandom().randrange(10**9)))
        print(f"seed of the kills: AMRBENCH_SEED={seed}", flush=True)
        moments = random.Random(seed)
        kills = 50 if FULL else 2
        folder = self.path("killed")
        done, restarts, runs, stuck = 0, 0, 0, 0
        # Slow enough to be hit in the middle: the answer does not depend on work.
        args = ["run", self.config, "--out", folder, "--restart", "auto", "--set", "output.checkpoint=1", "--set",
                "work.0.factor=300", "--quiet"]
        while done < kills:
            ranks = moments.choice((1, 2, 3))
            job = subprocess.Popen(command(*args, ranks=ranks), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=environment(), stdin=subprocess.DEVNULL, start_new_session=True,
                                   preexec_fn=program.limit(ADDRESS_SPACE))
            # From set-up on, or, mostly and always where kills are few, about the time of its first checkpoint.
            pointer = os.path.join(folder, "checkpoint", "last-good")
            before = self.changed(pointer)
            if moments.random() < 0.7 or not FULL:
                while job.poll() is None and self.changed(pointer) == before:
                    time.sleep(0.002)
            end = time.monotonic() + moments.uniform(0.0, 0.5)
            while job.poll() is None and time.monotonic() < end:
                time.sleep(0.002)
            ours = processes(folder)
            if job.poll() is None and ours:
                # All at once, or one of them and the launcher ends the others.
                for pid in ours if moments.random() < 0.5 else ours[:1]:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                done += 1
            stuck += not self.ended(job, folder)
            while processes(folder):
                time.sleep(0.01)
            if os.path.exists(os.path.join(folder, "run.csv")):
                # It got through: this chain is over, the next one begins.
                self.expect_same(folder)
                restarts += self.record(folder)["checkpoint"]["restarts"]
                shutil.rmtree(folder)
                runs += 1
        _, err = self.good(*args[1:], ranks=2)
        self.expect_same(folder)
        restarts += self.record(folder)["checkpoint"]["restarts"]
        self.assertGreater(restarts, 0)
        print(f"{kills} kills, {runs + 1} runs to their end, {restarts} restarts in them; the launcher stuck {stuck} times",
              flush=True)

    def start(self, folder, *more, ranks=2):
        job = subprocess.Popen(command("run", self.config, "--out", folder, "--set", "output.checkpoint=0", "--set",
                                       "output.checkpoint_minutes=1e6", "--set", "work.0.factor=300", *more, ranks=ranks),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
                               stdin=subprocess.DEVNULL, preexec_fn=program.limit(ADDRESS_SPACE))
        self.addCleanup(lambda: (job.poll() is None and job.kill(), job.stdout.close(), job.stderr.close()))
        return job

    def wait_for_start(self, folder, ranks):
        """Until every rank notes signals."""
        self.wait_for(lambda: [notes_signals(pid) for pid in processes(folder)] == [True] * max(ranks, 1))

    def wait_for(self, what):
        end = time.monotonic() + 60
        while not what():
            self.assertLess(time.monotonic(), end, "nothing happened")
            time.sleep(0.01)

    def test_sigterm_saves_and_ends(self):
        """Sent to one rank of two, and in full form to a process without mpiexec."""
        for ranks in (0, 2) if FULL else (2,):
            folder = self.path(f"term{ranks}")
            job = self.start(folder, ranks=ranks)
            self.wait_for_start(folder, ranks)
            os.kill(processes(folder)[-1], signal.SIGTERM)
            out, err = job.communicate(timeout=60)
            self.assertEqual(job.returncode, 75, err)
            self.assertEqual(len(re.findall(r"amrbench: not finished: ended by SIGTERM after step \d+", err)), 1, err)
            self.assertIn(f"amrbench run --restart {folder} goes on", err)
            self.assertNotIn("VALIDATION", out)
            self.assertFalse(os.path.exists(os.path.join(folder, "run.json")))
            _, err = self.good("--restart", folder, "--set", "work.0.factor=1", ranks=2)
            self.expect_same(folder)
            self.assertEqual(self.record(folder)["checkpoint"]["restarts"], 1)

    def test_sigusr1_saves_and_goes_on(self):
        folder = self.path("usr1")
        job = self.start(folder)
        self.wait_for_start(folder, 2)
        os.kill(processes(folder)[0], signal.SIGUSR1)
        out, err = job.communicate(timeout=100)
        self.assertEqual(job.returncode, 0, err)
        self.expect_same(folder)
        checkpoint = self.record(folder)["checkpoint"]
        self.assertEqual(checkpoint["count"], 1)
        self.assertGreater(checkpoint["bytes"], 0)
        self.assertGreater(self.record(folder)["phases"]["checkpoint"]["max_s"], 0)
        self.assertEqual(self.record(folder)["phases"]["checkpoint"]["calls"], 1)

    def test_by_time(self):
        folder = self.path("minutes")
        self.good(self.config, "--out", folder, "--set", "output.checkpoint=0", "--set",
                  "output.checkpoint_minutes=1e-9", ranks=2)
        self.assertEqual(self.record(folder)["checkpoint"]["count"], 25)
        self.expect_same(folder)

    def test_record_and_two_slots(self):
        folder = self.whole()
        record = self.record(folder)
        checkpoint = record["checkpoint"]
        self.assertEqual((checkpoint["count"], checkpoint["restarts"], checkpoint["restart_step"]), (3, 0, -1))
        self.assertAlmostEqual(checkpoint["bytes_per_s"],
                               checkpoint["bytes"] / record["phases"]["checkpoint"]["max_s"], delta=1)
        self.assertAlmostEqual(checkpoint["disk_fraction"] * checkpoint["disk_bytes_per_s"], checkpoint["bytes_per_s"],
                               delta=1)
        self.assertEqual(sorted(os.listdir(os.path.join(folder, "checkpoint"))),
                         ["last-good", "slot-000002", "slot-000003"])
        self.assertEqual(sorted(os.listdir(os.path.join(folder, "checkpoint", "slot-000003"))),
                         ["manifest.json", "part-00000.h5", "part-00001.h5"])

    def test_a_damaged_slot_is_said_and_the_older_one_used(self):
        for name in ("part-00001.h5", "manifest.json"):
            folder = self.saved(name)
            slot = os.path.join(folder, "checkpoint", "slot-000003")
            file = os.path.join(slot, name)
            with open(file, "r+b") as stream:
                stream.seek(os.path.getsize(file) // 2)
                byte = stream.read(1)[0]
                stream.seek(-1, 1)
                stream.write(bytes([byte ^ 4]))
            self.refused("--restart", slot, says=f"--restart {slot}: the checkpoint is damaged: {name}")
            _, err = self.good("--restart", folder, "--set", "run.steps=24", ranks=2)
            notes = [line for line in err.splitlines() if "is damaged" in line]
            self.assertEqual(len(notes), 1, err)
            self.assertIn(f"{slot} is damaged ({name}", notes[0])
            self.expect_same(folder)
            self.assertEqual(self.record(folder)["checkpoint"]["restart_step"], 10)

    def test_a_damaged_pointer_and_a_slot_that_was_not_finished(self):
        folder = self.saved()
        shutil.copytree(os.path.join(folder, "checkpoint", "slot-000003"),
                        os.path.join(folder, "checkpoint", "slot-000004"))
        other = self.path("other")
        _, err = self.good("--restart", folder, "--out", other, "--set", "run.steps=24", ranks=2)
        self.assertNotIn("slot-", err)
        self.expect_same(other)
        os.remove(os.path.join(folder, "checkpoint", "last-good"))
        os.remove(os.path.join(folder, "checkpoint", "slot-000004", "manifest.json"))
        _, err = self.good("--restart", folder, "--set", "run.steps=24", ranks=2)
        self.assertIn("last-good", err)
        self.assertIn("slot-000004 is damaged (manifest.json", err)
        self.expect_same(folder)

    def test_auto(self):
        folder = self.path("auto")
        _, err = self.good(self.config, "--out", folder, "--restart", "auto", ranks=2)
        self.assertEqual(len(re.findall("no good checkpoint under .*; the run begins anew", err)), 1, err)
        self.expect_same(folder)
        self.refused(self.config, "--out", folder, "--restart", "auto", says="its run is finished")
        self.refused(self.config, "--restart", "auto", says="--restart auto: name the result folder with --out")
        for name in ("run.json", "run.csv"):
            os.remove(os.path.join(folder, name))
        _, err = self.good(self.config, "--out", folder, "--restart", "auto", ranks=2)
        self.assertEqual(err, "")
        self.expect_same(folder)

    def test_plotfiles_of_the_run_before_stay(self):
        """Of step 18, behind the checkpoint of step 15, too."""
        folder = self.saved()
        self.assertTrue(os.path.exists(os.path.join(folder, "plt00018")))
        self.good("--restart", folder, "--set", "run.steps=24")
        self.expect_same(folder)
        self.assertEqual(len(glob.glob(os.path.join(folder, "plt*"))), 5)

    def test_refused(self):
        folder = self.saved()
        there = sorted(os.listdir(folder))
        steps = ("--set", "run.steps=24")
        for setting, says in (("mesh.max_level=1", "mesh.max_level is 1 here and 2 in the checkpoint"),
                              ("fields.seed=2", "fields.seed is 2 here and 1"),
                              ("run.refine_every=3", "run.refine_every is 3 here and 2"),
                              ("object.1.growth=[0,0,0]", "object.1.growth is [0.0, 0.0, 0.0] here"),
                              ("object.2.size=[1,1,1]", "3 tables [[object]] here and 2"),
                              ("run.steps=3", "run.steps = 3: the checkpoint has done 15 steps already"),
                              ("output.trace=t", "output.trace: a trace begins with its run")):
            self.refused("--restart", folder, *steps, "--set", setting, says=says)
            self.assertEqual(sorted(os.listdir(folder)), there)
        self.refused("--restart", self.path("none"), says="none: no such folder")
        self.refused("--restart", self.through, says="no good checkpoint in it")
        self.refused("--restart", "", says="--restart")
        self.refused(self.config, "--out", folder, says="already holds config.toml")
        manifest = os.path.join(folder, "checkpoint", "slot-000003", "manifest.json")
        with open(manifest, "r+b") as file:
            file.truncate(1000)
        os.remove(os.path.join(folder, "checkpoint", "slot-000002", "part-00000.h5"))
        self.refused("--restart", folder, says="no good checkpoint in it", ranks=2)
        self.refused("--restart", self.whole(), says="its run is finished")

    def test_one_slot_alone(self):
        folder = self.saved(ranks=3)
        slot = shutil.copytree(os.path.join(folder, "checkpoint", "slot-000002"), self.path("slot-000002"))
        out = self.path("alone")
        self.good("--restart", slot, "--out", out, "--set", "run.steps=24", ranks=2)
        self.expect_same(out)
        self.assertEqual(self.record(out)["checkpoint"]["restart_step"], 10)


if __name__ == "__main__":
    program.take_arguments()
    if "this build has no checkpoints" in run("run", "--restart", "none")[2]:
        print("SKIPPED: built without HDF5 or xxHash")
        sys.exit(77)
    unittest.main()
