"""Seeds through the compiler, the C compiler and the machine; what comes out of it.

Graphs go through in batches: one program per mode runs all graphs of a batch.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import onnx

from tests.fuzz import carried, evaluate, generate, mutate
from tests.fuzz.building import MODES, Answer, Builder, Job
from tests.fuzz.compiling import PLACES, SECONDS, Compiled, Compiler, Places
from tests.fuzz.data import Random
from tests.fuzz.evaluate import Array
from tests.fuzz.feeds import Run, continued, evaluated, partly, runs
from tests.fuzz.judge import Judge
from tests.fuzz.minimise import minimise
from tests.fuzz.serving import Serving, serving
from tests.fuzz.sketch import Graph

#: Modes whose machine has no subnormal numbers of f32.
FLUSHING = ("armv7",)
#: Words that a user should never read.
_INTERNAL = re.compile(
    r"\binternal|\bTVM\b(?!'s)|Traceback|\n|[Aa]ssert|\brelax\b|\btirx?\b|\blv\d|IRModule|PrimFunc"
    r"|\bzip\(|index out of range|to unpack"
)


@dataclass
class Case:
    """One graph on its way.

    Attributes
    ----------
    refusals : list of str
        Why some of its nodes were left out.
    whole : tuple of Graph and list of Run, or None
        As it was with them.
    places : Places
        How it is compiled.
    """

    seed: int
    graph: Graph
    runs: list[Run]
    modes: tuple[str, ...]
    compiled: Compiled = field(default_factory=Compiled)
    refusals: list[str] = field(default_factory=list)
    whole: tuple[Graph, list[Run]] | None = None
    places: Places = PLACES[0]


@dataclass
class Finding:
    """Something that must not be.

    Attributes
    ----------
    kind : str
        wrong, apart (wrong when a call is split), contract (an answer where there is none), crash,
        internal (also: too slow, too large), message, damaged, c (does not compile).
    model : bytes
        Of damaged: the model, as no graph can say it.
    outputs : dict
        Of wrong and apart: what was computed.
    """

    kind: str
    text: str
    mode: str
    case: Case
    run: int = 0
    model: bytes = b""
    outputs: dict[str, Array] = field(default_factory=dict)

    @property
    def line(self) -> str:
        ops = " ".join(node.op_type for node in self.case.graph.nodes)
        opset = self.case.graph.opsets[""]
        text = " ".join(self.text.split())[:300]
        return f"{self.kind:8} seed {self.case.seed} {self.mode} opset {opset} [{ops}]: {text}"


@dataclass
class Tally:
    """What has been seen so far."""

    seeds: int = 0
    nodes: Counter[str] = field(default_factory=Counter)
    answers: int = 0
    carried: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    beyond: Counter[str] = field(default_factory=Counter)
    damaged: Counter[str] = field(default_factory=Counter)


def _trouble(compiled: Compiled) -> str:
    """What a compilation must not end in."""
    if compiled.internal:
        return _last(compiled.internal)
    if compiled.trouble:
        return compiled.trouble
    slow = compiled.seconds > SECONDS
    return f"took {compiled.seconds:.0f} seconds of processor time" if slow else ""


def _last(words: str) -> str:
    """The innermost line of ours and the last one of a traceback."""
    lines = [" ".join(line.split()) for line in words.splitlines() if line.strip()]
    ours = [k for k, line in enumerate(lines) if "tvm_megcc/" in line or "codegen_c/" in line]
    where = lines[ours[-1] : ours[-1] + 2] if ours else []
    return " | ".join([*where, lines[-1]])


def _is_unfit(sentence: str) -> bool:
    """Whether a refusal lacks the node, the fact or the remedy, or says what a user cannot know."""
    return (
        bool(_INTERNAL.search(sentence)) or "'" not in sentence or not re.search("[;:] ", sentence)
    )


def without(graph: Graph, names: set[str]) -> Graph | None:
    """A graph without some nodes and what depends on them; None when nothing is left."""
    gone: set[str] = set()
    kept = []
    for node in graph.nodes:
        if node.name in names or gone.intersection(evaluate.reads(node)):
            gone.update(node.output)
        else:
            kept.append(node)
    if not kept or len(kept) == len(graph.nodes):
        return None
    read = {name for node in kept for name in evaluate.reads(node)}
    outputs = [
        n for node in kept for n in node.output if n and (n in graph.outputs or n not in read)
    ]
    return replace(graph, nodes=kept).pruned(outputs)


def shows(graph: Graph, name: str, outputs: Mapping[str, Array]) -> bool:
    """Whether an output has elements that come of a node; else nobody had to compute the node."""
    reached: set[str] = set()
    for node in graph.nodes:
        if node.name == name and _leaves_out(node):
            return False
        if node.name == name or reached.intersection(_needs(node, graph.weights)):
            reached.update(node.output)
    return any(array.size for n, array in outputs.items() if n in reached)


def _leaves_out(node: onnx.NodeProto) -> bool:
    """Whether a branch inserts, maybe at no position, and then erases that or takes another."""
    graphs = [a.g for a in node.attribute if a.HasField("g")]
    inside = {inner.op_type for graph in graphs for inner in graph.node}
    return "SequenceInsert" in inside and bool(inside & {"SequenceErase", "SequenceAt"})


def _needs(node: onnx.NodeProto, weights: Mapping[str, Array]) -> set[str]:
    """What a node reads; of its graphs, what their results need, and of a known branch that one.

    A size says nothing of elements.
    """
    if node.op_type in ("EyeLike", "SequenceLength", "Shape", "Size"):
        return set()
    graphs = {a.name: a.g for a in node.attribute if a.HasField("g")}
    if node.op_type == "If" and node.input[0] in weights:
        taken = "then_branch" if weights[node.input[0]].all() else "else_branch"
        graphs = {taken: graphs[taken]}
    # Of what CastLike is like, the type is enough.
    found = set(node.input[:1] if node.op_type == "CastLike" else node.input)
    for graph in graphs.values():
        wanted = {port.name for port in graph.output}
        for inner in reversed(graph.node):
            if wanted.intersection(inner.output):
                wanted |= _needs(inner, weights)
        found |= wanted
    return found


def _restricted(graph: Graph, run: Run) -> Run:
    """The run of a part of its graph."""
    feed = {n: run.feed[n] for n in graph.inputs}
    known = run.values is not None or run.goes_on
    return replace(run, feed=feed) if known else evaluated(graph, feed)


def _job(case: Case, arch: str) -> Job:
    """The case's runs on an architecture."""
    package = case.compiled.packages[arch]
    return Job(package, [run.feed for run in case.runs], [run.goes_on for run in case.runs])


def _steps_of(case: Case, answers: Sequence[Answer]) -> Case:
    """The case whose runs that go on have the states that were in memory when they began."""
    found: list[Run] = []
    for number, run in enumerate(case.runs):
        before = answers[number - 1].outputs if 0 < number <= len(answers) else {}
        found.append(continued(case.graph, run, before) if run.goes_on else run)
    return replace(case, runs=found)


def sentence_class(text: str) -> str:
    """A sentence without the names and numbers of one model."""
    text = re.sub(r"'[^']*'", "'_'", text)
    return re.sub(r"-?\d+(\.\d+)?", "N", text)[:160]


class Session:
    """Runs graphs and judges what comes of it.

    Parameters
    ----------
    folder : path
        For programs and objects; objects stay for the next session.
    others : sequence of str
        Modes of which each seed runs in one, by rotation, besides ``always``.
    optimize : str
        As of ``tvmc compile``.
    rotate : bool
        Whether ports in the arena, calls for several workers, bounds, listed shapes and buckets
        take turns, by the seed.
    """

    def __init__(
        self,
        folder: Path,
        always: Sequence[str] = ("host",),
        others: Sequence[str] = (),
        threads: int = 2,
        optimize: str = "balanced",
        rotate: bool = False,
    ) -> None:
        self.folder, self.always, self.others = folder, tuple(always), tuple(others)
        folder.mkdir(parents=True, exist_ok=True)
        self.threads = threads
        self.places = PLACES if rotate else PLACES[:1]
        self.compilers = [
            Compiler(_made(folder / f"compiler{k}"), optimize) for k in range(threads)
        ]
        self.builders = {
            m: Builder(MODES[m], folder / "objects", threads) for m in (*self.always, *self.others)
        }
        self.tally = Tally()
        self._number = 0

    def close(self) -> None:
        for compiler in self.compilers:
            compiler.close()

    # ---- seeds -------------------------------------------------------------------------------

    def modes(self, seed: int) -> tuple[str, ...]:
        """Where a seed runs."""
        if not self.others:
            return self.always
        return tuple(dict.fromkeys((*self.always, self.others[seed % len(self.others)])))

    def case(self, seed: int) -> Case:
        graph = generate.graph(seed)
        places = self.places[seed % len(self.places)]
        return Case(seed, graph, runs(graph, Random(seed, 1)), self.modes(seed), places=places)

    def batch(self, seeds: Iterable[int]) -> list[Finding]:
        """Findings of these seeds, as they are found."""
        seeds = list(seeds)
        cases = [self.case(seed) for seed in seeds]
        self.tally.seeds += len(cases)
        for case in cases:
            self.tally.nodes.update(node.op_type for node in case.graph.nodes)
        return [*self.judge(cases), *self._damage(cases)]

    def damage(self, model: bytes) -> str:
        """What compiling this must not have ended in; empty where it is refused, or compiles."""
        self._number += 1
        done = self.compilers[0].compile(model, f"g{self._number}", ["host"])
        self.tally.damaged["refused" if done.refusal else "compiled"] += 1
        unfit = done.refusal if done.refusal and _is_unfit(done.refusal) else ""
        return _trouble(done) or unfit

    def _damage(self, cases: Sequence[Case]) -> list[Finding]:
        """Findings of models that are these models, damaged."""
        found = []
        for case in cases:
            rng = Random(case.seed, 2)
            model, _ = case.whole or (case.graph, case.runs)
            data = mutate.mutant(model.model(), rng)
            if text := self.damage(data):
                found.append(Finding("damaged", text, "", case, model=data))
        return found

    # ---- cases -------------------------------------------------------------------------------

    def judge(self, cases: Sequence[Case], count: bool = True) -> list[Finding]:
        """Compile, build, run, compare; at most one finding for each case and mode."""
        self._compile(cases)
        findings = [
            found for case in cases if (found := self._of_compiling(case, count)) is not None
        ]
        for mode in dict.fromkeys(m for case in cases for m in case.modes):
            arch = MODES[mode].arch
            known = {id(f.case.graph) for f in findings}
            there = [
                c for c in cases
                if mode in c.modes and arch in c.compiled.packages and id(c.graph) not in known
            ]  # fmt: skip
            if not there:
                continue
            jobs = [_job(case, arch) for case in there]
            answers = self.builders[mode].run(jobs, self.folder / f"program_{mode}")
            for case, row in zip(there, answers, strict=True):
                found = self._of_running(_steps_of(case, row), mode, row, count)
                if found is not None:
                    findings.append(found)
        return [f for f in findings if not self._is_carried(f, count)]

    def _is_carried(self, finding: Finding, count: bool) -> bool:
        """Whether no node is wrong about what it got: see `carried`."""
        graph = finding.case.graph
        whole = carried.opened(graph) if finding.kind in ("wrong", "apart") else None
        if whole is None:
            return False
        pair = [replace(finding.case, graph=g, modes=(finding.mode,)) for g in (graph, whole)]
        self._compile(pair)
        arch = MODES[finding.mode].arch
        if any(arch not in case.compiled.packages for case in pair) or pair[1].graph is not whole:
            return False
        feeds = [run.feed for run in finding.case.runs]
        jobs = [_job(case, arch) for case in pair]
        rows = self.builders[finding.mode].run(jobs, self.folder / f"program_{finding.mode}")
        if any(len(row) <= finding.run for row in rows):
            return False
        before, after = (self._outputs(row[finding.run], finding) for row in rows)
        # A state that is lost is not lost again where the feed has what it should have been.
        is_carried = (
            bool(before)
            and carried.same(finding.outputs, before)
            and carried.same(before, after)
            and carried.each_is_right(graph, feeds[finding.run], after, finding.mode in FLUSHING)
        )
        if is_carried and count:
            self.tally.carried += 1
        return is_carried

    @staticmethod
    def _outputs(answer: Answer, finding: Finding) -> dict[str, Array]:
        apart = answer.apart if finding.kind == "apart" else None
        return answer.outputs if apart is None else apart

    def _compile(self, cases: Sequence[Case]) -> None:
        free = list(self.compilers)

        def one(case: Case) -> None:
            compiler = free.pop()
            self._number += 1
            try:
                archs = dict.fromkeys(MODES[m].arch for m in case.modes)
                name = f"g{self._number}"
                model = case.graph.model(name).SerializeToString()
                case.compiled = compiler.compile(model, name, list(archs), *self._how(case))
                self._salvage(case, compiler, list(archs))
            finally:
                free.append(compiler)

        with ThreadPoolExecutor(len(self.compilers)) as pool:
            list(pool.map(one, cases))

    def _salvage(self, case: Case, compiler: Compiler, archs: list[str]) -> None:
        """What is left of a refused graph without the nodes that the sentences name."""
        for _ in range(6):
            named = set(re.findall(r"'(n\d+)'", case.compiled.refusal))
            rest = without(case.graph, named) if named else None
            if rest is None:
                return
            case.whole = case.whole or (case.graph, case.runs)
            case.refusals.append(case.compiled.refusal)
            case.graph = rest
            case.runs = [_restricted(rest, run) for run in case.runs]
            self._number += 1
            name = f"g{self._number}"
            model = rest.model(name).SerializeToString()
            case.compiled = compiler.compile(model, name, archs, *self._how(case))

    @staticmethod
    def _how(case: Case) -> tuple[Places, Serving, dict[str, str]]:
        """Where the case's ports live, how its open dims are served, and what its states are."""
        feeds = [run.feed for run in case.runs]
        served = serving(case.places.serve, case.graph.open_dims, feeds)
        return case.places, served, case.graph.states

    def _of_compiling(self, case: Case, count: bool) -> Finding | None:
        compiled = case.compiled
        if text := _trouble(compiled):
            return Finding("internal", text, "", case)
        refusals = [*case.refusals, *([compiled.refusal] if compiled.refusal else [])]
        if count:
            self.tally.refusals.update(map(sentence_class, refusals))
        unfit = next(filter(_is_unfit, refusals), None)
        if unfit is None:
            return None
        graph, its_runs = case.whole or (case.graph, case.runs)
        return Finding("message", unfit, "", replace(case, graph=graph, runs=its_runs))

    def _of_running(
        self, case: Case, mode: str, answers: Sequence[Answer], count: bool
    ) -> Finding | None:
        for number, (run, answer) in enumerate(zip(case.runs, answers, strict=False)):
            if answer.crash.startswith("C: "):
                return Finding("c", answer.crash, mode, case)
            if answer.crash:
                return Finding("crash", answer.crash, mode, case, number)
            if answer.status or answer.stage:
                if answer.stage in ("open", "create", "again"):
                    return Finding(
                        "crash", f"status {answer.status} at {answer.stage}", mode, case, number
                    )
                if run.values is not None and count and answer.status:
                    ops = " ".join(dict.fromkeys(n.op_type for n in case.graph.nodes))
                    key = f"run {min(number, 1)}: status {answer.status} at {answer.stage}"
                    self.tally.statuses[
                        f"{key} [{ops if number == 0 else ''}] {case.seed if number == 0 else ''}"
                    ] += 1
                continue
            if run.values is None:
                if run.certain and shows(case.graph, run.node, answer.outputs):
                    return Finding(
                        "contract",
                        f"an answer where there is none: {run.error}",
                        mode,
                        case,
                        number,
                    )
                if count:
                    self.tally.beyond[sentence_class(run.error)] += 1
                continue
            if count:
                self.tally.answers += 1
            judge = Judge(case.graph, run.values, flushes=mode in FLUSHING)
            verdict = judge.wrong(answer.outputs)
            if verdict:
                text = f"{verdict.output} {verdict.text}"
                return Finding("wrong", text, mode, case, number, outputs=answer.outputs)
            if answer.apart is not None and (verdict := judge.wrong(answer.apart)):
                text = f"{verdict.output} {verdict.text}"
                return Finding("apart", text, mode, case, number, outputs=answer.apart)
        return None

    # ---- findings ----------------------------------------------------------------------------

    def smallest(self, finding: Finding) -> Finding:
        """The same finding with the fewest nodes."""
        if finding.model:
            return finding
        case = finding.case
        run = case.runs[finding.run]
        late = run.values or partly(case.graph, run.feed)
        kept: dict[int, Finding] = {}

        def still(graphs: Sequence[Graph]) -> list[bool]:
            modes = (finding.mode,) if finding.mode else case.modes
            cases = [
                Case(case.seed, g, self._runs(g, finding, late), modes, places=case.places)
                for g in graphs
            ]
            found = self.judge(cases, count=False)
            for f in found:
                if f.kind == finding.kind:
                    kept[id(f.case.graph)] = f
            return [id(g) in kept for g in graphs]

        smallest = minimise(case.graph, late, still)
        return kept.get(id(smallest), finding)

    @staticmethod
    def _runs(graph: Graph, finding: Finding, late: dict[str, Array]) -> list[Run]:
        """The runs that a part of a graph needs to show the same."""
        own = Run(graph.inputs, graph.values)
        if not finding.run:
            return [own]
        return [own, evaluated(graph, {n: late[n] for n in graph.inputs})]


def _made(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
