"""How far a sweep is: a live line with rich on a terminal, else a plain line for each run that ends."""
import statistics
import sys


def span(seconds: float | None) -> str:
    """A duration as people say it."""
    if seconds is None:
        return "unknown"
    if seconds < 99.5:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def size(count: float | None) -> str:
    """Bytes as people say them."""
    if count is None:
        return "unknown"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            return f"{count:.3g} {unit}"
        count /= 1024
    return ""


class Expectation:
    """Seconds a run takes, by case: the median of what was seen, of this case or else of all cases."""

    def __init__(self, known: dict[str, list[float]]):
        self.known = {id: list(seconds) for id, seconds in known.items() if seconds}

    def add(self, id: str, seconds: float) -> None:
        self.known.setdefault(id, []).append(seconds)

    def of(self, id: str) -> float | None:
        return statistics.median(self.known[id]) if id in self.known else None

    def total(self, ids: list[str]) -> float | None:
        """Of runs of these cases; unknown ones count as the mean of the known. None where nothing is known."""
        if not ids:
            return 0.0
        if not self.known:
            return None
        mean = statistics.fmean(statistics.median(seconds) for seconds in self.known.values())
        return sum(self.of(id) or mean for id in ids)


class Plain:
    """A line for each run that ends, on standard error."""

    def __init__(self, total: int):
        self.total, self.done = total, 0

    def __enter__(self) -> "Plain":
        return self

    def __exit__(self, *_) -> None:
        pass

    def begin(self, label: str) -> None:
        pass

    def end(self, label: str, run: dict, left_s: float | None) -> None:
        self.done += 1
        left = f"; {span(left_s)} left" if left_s and self.done < self.total else ""
        why = f": {run['message']}" if run["message"] else ""
        width = len(str(self.total))
        self.say(f"[{self.done:{width}}/{self.total}] {run['status']:7} {span(run['seconds']):>7}  {label}, repetition "
                 f"{run['repetition']}{why}{left}")

    def say(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


class Live(Plain):
    """The same lines for runs that went wrong, and one live bar below."""

    def __init__(self, total: int, rich_progress):
        super().__init__(total)
        columns = [rich_progress.TextColumn("{task.completed:.0f}/{task.total:.0f}"), rich_progress.BarColumn(),
                   rich_progress.TextColumn("{task.fields[left]}"), rich_progress.TimeElapsedColumn(),
                   rich_progress.TextColumn("{task.description}", markup=False)]
        import rich.console
        self.bar = rich_progress.Progress(*columns, console=rich.console.Console(stderr=True), transient=True)
        self.task = self.bar.add_task("", total=total, left="")

    def __enter__(self) -> "Live":
        self.bar.start()
        return self

    def __exit__(self, *_) -> None:
        self.bar.stop()

    def begin(self, label: str) -> None:
        self.bar.update(self.task, description=label)

    def end(self, label: str, run: dict, left_s: float | None) -> None:
        self.bar.update(self.task, advance=1, left=f"{span(left_s)} left" if left_s else "")
        super().end(label, run, left_s)

    def say(self, line: str) -> None:
        self.bar.console.print(line, markup=False, highlight=False, soft_wrap=True)


def progress(total: int) -> Plain:
    """Live where rich is installed and standard error is a terminal."""
    if sys.stderr.isatty():
        try:
            import rich.progress
            return Live(total, rich.progress)
        except ImportError:
            pass
    return Plain(total)
