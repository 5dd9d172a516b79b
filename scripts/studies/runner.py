"""Does the runs of a sweep: interleaved over cases, side by side as far as cores and GPUs reach, each with a limit."""
import os
import select
import signal
import time
from dataclasses import dataclass

from studies.execute import Launcher, Running
from studies.progress import Expectation, Plain
from studies.store import Store
from studies.study import Case, StudyError


@dataclass
class Task:
    case: Case
    entry: dict  # of study.json, without runs
    repetition: int


def interleave(cases: list[tuple[Case, dict]], repetitions: int, wanted) -> list[Task]:
    """All first repetitions, then all second ones; every other round backwards, so that a steady drift of the machine's
    speed falls on all cases alike. `wanted(id, repetition)` says which are to be done."""
    tasks = []
    for repetition in range(repetitions):
        for case, entry in cases if repetition % 2 == 0 else reversed(cases):
            if wanted(case.id, repetition):
                tasks.append(Task(case, entry, repetition))
    return tasks


class Runner:
    def __init__(self, store: Store, launcher: Launcher, limit_s: float, jobs: int, shown: Plain,
                 expected: Expectation):
        self.store, self.launcher, self.limit_s, self.jobs = store, launcher, limit_s, jobs
        self.shown, self.expected = shown, expected
        self.cores = list(launcher.machine.processors)  # free ones
        self.gpus = list(launcher.machine.gpu_ids)
        self.running: list[Running] = []
        self.entries: dict[str, dict] = {}
        self.order = store.next_order()

    def run(self, tasks: list[Task]) -> None:
        """Does all tasks. An interruption ends the runs under way, leaves their places empty, and is passed on."""
        waiting = list(tasks)
        ended, wake = os.pipe()
        for end in (ended, wake):
            os.set_blocking(end, False)
        # A process that ends writes a byte into the pipe: nothing is polled, and no end is missed.
        handler = signal.signal(signal.SIGCHLD, lambda *_: None)
        before = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        try:
            while waiting or self.running:
                # In the order of the list: what has no room holds up what comes after it.
                while waiting and len(self.running) < self.jobs and self.room(waiting[0].case):
                    self.start(waiting.pop(0))
                self.collect(ended, [task.case.id for task in waiting])
        finally:
            for running in self.running:
                running.kill()
                self.store.drop(running.folder)
            signal.set_wakeup_fd(before)
            signal.signal(signal.SIGCHLD, handler)
            os.close(ended)
            os.close(wake)

    def needs(self, case: Case) -> int:
        return min(case.ranks * case.threads, len(self.launcher.machine.processors))

    def room(self, case: Case) -> bool:
        return not self.running or (self.needs(case) <= len(self.cores) and case.gpus <= len(self.gpus))

    def start(self, task: Task) -> None:
        case, confined = task.case, self.jobs > 1
        folder = self.store.start(case.id, task.repetition)
        command = self.launcher.command_line(case, str(folder), confined)
        cores, gpus = (), tuple(self.gpus[:case.gpus])
        if confined:
            # Open MPI would bind all of them to the same cores.
            cores = tuple(self.cores[:self.needs(case)])
            command = ["taskset", "-c", ",".join(map(str, cores)), *command]
        self.cores = [core for core in self.cores if core not in cores]
        self.gpus = self.gpus[case.gpus:]
        self.entries[case.id] = task.entry
        self.shown.begin(case.label)
        try:
            if self.launcher.study.command == "replay":
                self.launcher.make_trace(case)
        except StudyError as error:  # a row like any other; its output says why
            command = ["sh", "-c", 'echo "$1"; exit 1', "sh", str(error)]
        self.running.append(Running(case, task.repetition, self.order, folder, command, self.limit_s, cores, gpus))
        self.order += 1

    def collect(self, ended: int, waiting: list[str]) -> None:
        """Waits until a run ends or is out of time, and takes in those that did. ended: readable when one has."""
        left = min(running.deadline for running in self.running) - time.monotonic()
        if select.select([ended], [], [], max(0.0, left))[0]:
            os.read(ended, 4096)
        for running in list(self.running):
            if running.process.poll() is not None:
                self.end(running, False, waiting)
            elif time.monotonic() >= running.deadline:
                self.end(running, True, waiting)

    def end(self, running: Running, late: bool, waiting: list[str]) -> None:
        if late:
            running.kill()
        run = running.finish(self.launcher.study.command, late)
        self.store.finish(self.entries[running.case.id], running.folder, run)
        self.running.remove(running)
        self.cores = sorted({*self.cores, *running.cores})
        self.gpus = sorted({*self.gpus, *running.gpus})
        if run["status"] == "done":
            self.expected.add(running.case.id, run["seconds"])
        left = self.expected.total(waiting + [other.case.id for other in self.running])
        self.shown.end(running.case.label, run, left and left / min(self.jobs, max(1, len(waiting))))
