"""Plants faults in a copy of the sources, one at a time, and says which tests find them.

Faults are drawn by --seed: comparisons turned, bounds off by one, operands swapped, guards dropped,
spread over the rooms, every third one in C. The first faults of a seed do not depend on --count.
A fault is tried on the tests of its room, and if these pass on all the others. Each run ends with
the first failure. A test that fails without the fault, too, is left out and named at the end.

Options behind "--" go to pytest; without any, --fast. Paths among them replace all other tests.
Results stay in --work, by the text of the fault's file and the options, so that a run that
--minutes or a signal ended goes on where it was; --retry tries again what nobody found. The exit
status is 1 when faults are left or fewer than --wanted were found.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import plant_faults  # noqa: E402
from plant_faults import Fault  # noqa: E402

from tvm_megcc.core import user_cache  # noqa: E402

#: What is installed and where it is imported from: links inside the copy.
LINKS = {"tvm_megcc/codegen_c": "../codegen_c", "tvm_megcc/runtime": "../runtime"}
SOURCES = ("tvm_megcc/", "codegen_c/", "runtime/")

#: pytest's exit status when tests failed, and when modules could not be collected.
FAILED = (1, 2)
#: Nothing was collected: no test of a room is fast.
NO_TESTS = 5

_FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.M)


class OutOfTime(Exception):
    """The time that the user gave is over."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A run of pytest: its exit status, failed tests, and why it was ended ("" if it was not)."""

    status: int
    failed: tuple[str, ...]
    ended: str
    seconds: float


class Copy:
    """The files of the checkout in a folder of their own, where faults are planted."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard", "-z"],
            cwd=root, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        self.names = [n for n in listed.split("\0") if n and (root / n).is_file()]
        self._sync()
        self._planted = 0

    def _sync(self) -> None:
        kept = {self.folder / name for name in (*self.names, *LINKS)}
        for folder in ("tests", "scripts", "docs", *(s.rstrip("/") for s in SOURCES)):
            for path in (self.folder / folder).rglob("*"):
                stale = path.is_file() and path not in kept and "__pycache__" not in path.parts
                if stale and not path.is_symlink():
                    path.unlink()
        for name in self.names:
            source, target = self.root / name, self.folder / name
            if not target.is_file() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        for link, target in LINKS.items():
            (self.folder / link).parent.mkdir(parents=True, exist_ok=True)
            if not (self.folder / link).is_symlink():
                (self.folder / link).symlink_to(target)

    def texts(self) -> dict[str, str]:
        """The sources in which faults are planted."""
        names = (n for n in self.names if n.startswith(SOURCES) and n.endswith((".py", ".c", ".h")))
        return {name: (self.root / name).read_text() for name in names}

    def plant(self, fault: Fault) -> Callable[[], None]:
        """Write a fault; returns the function that takes it away again."""
        path = self.folder / fault.path
        text, facts = path.read_text(), path.stat()
        path.write_text(fault.planted(text))
        # Byte code and objects are kept by the time, in seconds, and the size of a file.
        self._planted += 1
        os.utime(path, (facts.st_mtime + self._planted, facts.st_mtime + self._planted))

        def restore() -> None:
            path.write_text(text)
            os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))

        return restore

    def has(self, option: str) -> bool:
        """Whether an option of pytest is a path, or a test, in the copy."""
        return option[:1] != "-" and (self.folder / option.partition("::")[0]).exists()

    def tests_of(self, path: str) -> str:
        """The tests of a file's room, "" if they have no place of their own."""
        parts = Path(path).with_suffix("").parts
        name = parts[1] if parts[0] == "tvm_megcc" else parts[0]
        if parts[:2] in (("codegen_c", "kernels"), ("codegen_c", "include")):
            name = "kernels"
        places = (f"tests/{name}", f"tests/test_{name}.py")
        return next((place for place in places if (self.folder / place).exists()), "")


class Tests:
    """Runs pytest in a copy, within limits of time and memory."""

    def __init__(self, copy: Copy, work: Path, limits: argparse.Namespace) -> None:
        self._copy, self._limits = copy, limits
        self._end = time.monotonic() + 60 * limits.minutes if limits.minutes else float("inf")
        self._options = [f"--basetemp={work / 'tmp'}"]
        if (shared := copy.root.parent / "shared").is_dir():
            self._options.append(f"--shared={shared}")
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(copy.folder),
            "XDG_CACHE_HOME": str(work / "cache"),  # what a fault makes is kept apart
        }
        if "CCACHE_DIR" not in os.environ and shutil.which("ccache"):
            asked = ["ccache", "--get-config", "cache_dir"]
            done = subprocess.run(asked, capture_output=True, text=True)
            self._environment["CCACHE_DIR"] = done.stdout.strip()

    def run(self, *options: str) -> Ran:
        """Run pytest with these options until the first failure.

        Raises
        ------
        OutOfTime
            --minutes are over, before the run or during it.
        """
        command = [
            sys.executable, "-m", "pytest", "-q", "-x", "-rfE", "--tb=no",
            *self._options, *options,
        ]  # fmt: skip
        start = time.monotonic()
        if start > self._end:
            raise OutOfTime
        process = subprocess.Popen(
            command, cwd=self._copy.folder, env=self._environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        ended, said = "", ""
        try:
            while True:
                try:
                    said = process.communicate(timeout=2)[0]
                    break
                except subprocess.TimeoutExpired:
                    seconds = time.monotonic() - start
                    if time.monotonic() > self._end:
                        raise OutOfTime from None
                    if seconds > self._limits.timeout:
                        ended = f"no end within {self._limits.timeout} s"
                    elif _memory_of(process.pid) > self._limits.memory * 2**30:
                        ended = f"more than {self._limits.memory} GB of memory"
                    if ended:
                        os.killpg(process.pid, signal.SIGKILL)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        failed = tuple(dict.fromkeys(_FAILURE.findall(said)))
        return Ran(process.returncode, failed, ended, time.monotonic() - start)


def _memory_of(session: int) -> int:
    """Bytes that the processes of a session have in memory; 0 where /proc does not say."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            facts = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if int(facts[3]) == session:
            total += int(facts[21]) * os.sysconf("SC_PAGESIZE")
    return total


class Results:
    """What is known already: a line of JSON for each fault and each test that was checked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._known = dict(json.loads(line) for line in lines)

    def get(self, key: str) -> object:
        return self._known.get(key)

    def keep(self, key: str, value: object) -> None:
        self._known[key] = value
        with self._path.open("a") as file:
            file.write(json.dumps([key, value]) + "\n")

    def broken(self) -> list[str]:
        """Tests that fail without a fault."""
        return [k.removeprefix("test ") for k, v in self._known.items() if v == "broken"]


def finder(fault: Fault, copy: Copy, tests: Tests, options: Sequence[str], known: Results) -> str:
    """The test that finds a fault, or "" if none does.

    Raises
    ------
    OutOfTime
        Before there is an answer.
    """
    own = copy.tests_of(fault.path)
    plain = [option for option in options if not copy.has(option)]
    if len(plain) < len(options):
        steps = [[*options]]
    elif own:
        steps = [[*options, own], [*options, "tests", f"--ignore={own}"]]
    else:
        steps = [[*options, "tests"]]
    while steps:
        left_out = [f"--deselect={test}" for test in known.broken()]
        restore = copy.plant(fault)
        try:
            ran = tests.run(*steps[0], *left_out)
        finally:
            restore()
        if ran.ended:
            return ran.ended
        sound = [test for test in ran.failed if _passes(test, tests, plain, known)]
        if sound:
            return sound[0]
        if not ran.failed:
            if ran.status not in (0, NO_TESTS):
                return f"pytest ends with status {ran.status}"
            steps.pop(0)
    return ""


def _passes(test: str, tests: Tests, options: Sequence[str], known: Results) -> bool:
    """Whether a test passes without a fault."""
    key = f"test {test}"
    if known.get(key) is None:
        known.keep(key, "broken" if tests.run(*options, test).status in FAILED else "sound")
    return known.get(key) == "sound"


def table(faults: Sequence[Fault], found: Sequence[str | None]) -> str:
    """The faults and who found them, as Markdown."""
    lines = ["| # | fault | found by |", "|---|---|---|"]
    for number, (fault, who) in enumerate(zip(faults, found, strict=True), 1):
        said = "not tried" if who is None else who or "nobody"
        lines.append(f"| {number} | {str(fault).replace('|', chr(92) + '|')} | {said} |")
    return "\n".join(lines)


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    first, last = (arguments, ["--fast"])
    if "--" in arguments:
        cut = list(arguments).index("--")
        first, last = arguments[:cut], list(arguments[cut + 1 :])
    parser = argparse.ArgumentParser(prog="plant", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="draws the faults (default: 1)")
    parser.add_argument("--count", type=int, default=50, help="how many (default: 50)")
    parser.add_argument("--wanted", type=int, default=0, help="how many are to be found")
    parser.add_argument("--minutes", type=float, help="stop after these, to go on another time")
    parser.add_argument("--timeout", type=int, default=1800, metavar="S", help="for one run")
    parser.add_argument("--memory", type=float, default=6, metavar="GB", help="for one run")
    parser.add_argument("--work", type=Path, help="copy and results (default: the user's cache)")
    parser.add_argument("--retry", action="store_true", help="try again what nobody found")
    parser.add_argument("--list", action="store_true", help="only name the faults")
    options = parser.parse_args(first)
    work = options.work or user_cache.folder("plant")
    if work is None:
        parser.error("there is no folder for caches: name one by --work")
    work = work.resolve()
    copy = Copy(root, work / "tree")
    texts = copy.texts()
    faults = plant_faults.first(texts, options.seed, options.count)
    if options.list:
        print(*faults, sep="\n")
        return 0
    known, tests = Results(work / "results.jsonl"), Tests(copy, work, options)
    found: list[str | None] = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the copy is left without a fault
    for number, fault in enumerate(faults, 1):
        text = hashlib.sha256(texts[fault.path].encode()).hexdigest()[:16]
        key = json.dumps([str(fault), text, last])
        who = known.get(key)
        if who is None or (options.retry and not who):
            start = time.monotonic()
            try:
                who = finder(fault, copy, tests, last, known)
            except OutOfTime:  # the next runs end at once; what is known is listed
                found.append(None)
                continue
            known.keep(key, who)
            took = f" ({time.monotonic() - start:.0f} s)"
            print(f"{number}. {fault}: {who or 'found by nobody'}{took}", flush=True)
        found.append(str(who))
    print(table(faults, found))
    for test in known.broken():
        print(f"left out, it fails without a fault: {test}")
    total = sum(bool(who) for who in found)
    print(f"{total} of {len(faults)} found, {found.count(None)} not tried")
    return int(None in found or total < options.wanted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
