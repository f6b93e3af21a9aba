"""``tvmc inspect --html``: one page, with all that is known of a package."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from tests.cli import tiny

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)

#: Elements without an end.
VOID = {"meta", "link", "input", "br", "img"}


class Page(HTMLParser):
    """A page's elements: tag, attributes; its text; whether every element is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def of_class(self, name: str) -> list[dict[str, str]]:
        return [a for _, a in self.elements if name in a.get("class", "").split()]


def hostile() -> onnx.ModelProto:
    """A chain of 500 calls; names that would end an element, or begin one."""
    names = ["x<b>&\"'@STYLE@", *(f"</script><img src=x onerror=alert({k})>" for k in range(500))]
    nodes = [
        helper.make_node("CumSum", [a, "axis"], [b], name=f"n{k}")
        for k, (a, b) in enumerate(zip(names, names[1:], strict=False))
    ]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in names]
    axis = helper.make_tensor("axis", TensorProto.INT64, [], [0])
    graph = helper.make_graph(nodes, "hostile", [ports[0]], [ports[-1]], [axis])
    return tiny.finish(graph)


@pytest.fixture(scope="module")
def page(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the tiny package, with times and sizes of code."""
    from tvm_megcc.cli import main

    out = tmp_path_factory.mktemp("report") / "r.html"
    assert main(["inspect", str(package), "--html", str(out), "--measure", "3"]) == 0
    return out


@pytest.fixture(scope="module")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 500 calls, without having built them."""
    from tvm_megcc.cli import main

    folder = tmp_path_factory.mktemp("long")
    model = tiny.save(hostile(), folder)
    out = folder / "r.html"
    assert main(["compile", str(model), "-o", str(folder / "p"), "--quiet"]) == 0
    assert main(["inspect", str(folder / "p"), "--html", str(out), "--no-build"]) == 0
    return out


def graph_of(package: Path) -> dict[str, Any]:
    manifest = json.loads((package / "manifest.json").read_text())
    (entry,) = manifest["per_arch"].values()
    return entry


@pytest.mark.slow
def test_report_has_every_part(page: Path, package: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found, entry = Page(text), graph_of(package)
    calls = entry["graph"]["calls"]
    sections = [attrs["id"] for tag, attrs in found.elements if tag == "section"]
    assert sections == ["better", "profile", "graph", "memory", "sizes", "ports"]
    rows = [a["data-call"] for a in found.of_class("call") if "data-call" in a]
    assert rows == ["-1", *map(str, range(len(calls)))]
    assert len([tag for tag, _ in found.elements if tag == "circle"]) == len(rows)
    edges = {(a["data-from"], a["data-to"]) for _, a in found.elements if "data-from" in a}
    assert edges == {(str(s), str(k)) for k, c in enumerate(calls) for s in c["after"]}
    live = [b for b in entry["memory"]["blocks"] if b["bytes"]]
    assert len([a for t, a in found.elements if t == "rect" and a.get("class") == "t"]) == len(live)
    bars = [a for a in found.of_class("bar") if "data-call" in a]
    assert sorted(int(a["data-call"]) for a in bars) == list(range(len(calls)))
    for kernel in entry["kernels"]:
        assert kernel in found.texts
    assert any("runtime" in said and "KiB" in said for said in found.texts)
    for node in ("MatMul 'product' + Relu 'relu'", "ReduceSum 'sum'"):
        assert node in found.texts
    told = json.loads(re.search(r'id="calls">(.*?)</script>', text, re.S)[1])
    assert told["0"]["name"] == calls[0]["name"]
    assert ["nodes of the model", entry["graph"]["nodes"][calls[0]["nodes"]]] in told["0"]["about"]


def test_report_needs_nothing_else(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    loaded = [
        a.get(name, "")
        for tag, a in Page(text).elements
        for name in ("src", "href")
        if tag != "a" and name in a
    ]
    assert loaded == ["data:,"]  # the icon, which browsers ask for else
    assert "@import" not in text and "url(" not in text
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert "/tmp" not in text and str(Path.home()) not in text


@pytest.mark.slow
def test_report_of_many_calls_with_names_of_html(long_page: Path) -> None:
    text = long_page.read_text(encoding="utf-8")
    found = Page(text)
    assert len([a for a in found.of_class("call") if "data-call" in a]) == 501
    assert "img" not in {tag for tag, _ in found.elements}
    assert [tag for tag, _ in found.elements].count("script") == 2
    assert text.count("@STYLE@") >= 1, "the input's name"
    assert len(text) < 1_500_000
    assert "not built (--no-build)" in text and "There are no times" in text


@pytest.mark.slow
def test_report_of_open_sizes(tvmc, dynamic: Path, tmp_path: Path) -> None:
    assert tvmc("compile", dynamic, "-o", tmp_path / "p", "--quiet").status == 0
    args = ["inspect", tmp_path / "p", "--no-build", "--html", tmp_path / "r.html"]
    assert tvmc(*args).status == 0
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "rows×3" in text and "is unbounded" in text
    assert "There is no picture: the shapes of this model can change" in text
    assert tvmc(*args, "--shapes", "x:[7,3]").status == 0
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "f32 7×3" in text and "rows = 7" in text
    assert "has no size" in tvmc(*args, "--measure", 2).sentence()


def test_report_of_a_trace_and_a_tar(tvmc, package: Path, model: Path, tmp_path: Path) -> None:
    trace = tmp_path / "t.trace.json"
    assert tvmc("run", package, "--profile-output", trace).status == 0
    assert tvmc("compile", model, "-o", tmp_path / "p.tar").status == 0
    args = ["inspect", tmp_path / "p.tar", "--no-build", "--html", tmp_path / "r.html"]
    csv = tmp_path / "p.csv"
    assert tvmc(*args, "--profile", trace, "--profile-output", csv).status == 0
    assert "MatMul" in csv.read_text()
    assert "median of a run" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_report_mistakes_leave_nothing(tvmc, package: Path, tmp_path: Path) -> None:
    def said(*args: object) -> str:
        return tvmc("inspect", package, *args).sentence()

    out = tmp_path / "r.html"
    assert "must end in .html" in said("--html", tmp_path / "r.txt")
    assert "no such directory" in said("--html", tmp_path / "no" / "r.html")
    assert "add --html" in said("--measure", 3)
    assert "add --html" in said("--no-build")
    assert "give one of them" in said("--html", out, "--measure", 3, "--profile", "t.json")
    assert "No such file" in said("--html", out, "--profile", tmp_path / "no.json")
    assert not list(tmp_path.iterdir())


def test_report_without_a_compiler_is_written_all_the_same(
    tvmc, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tvmc("compile", model, "-o", tmp_path / "p", "--arch", "portable").status == 0
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tvmc("inspect", tmp_path / "p", "--html", tmp_path / "r.html").status == 0
    assert "Bytes of code are not known: no C compiler" in (tmp_path / "r.html").read_text()


def chromium(page: Path, folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [
        str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
        f"--user-data-dir={folder}", "--virtual-time-budget=5000", *args, page.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt install chromium")
@pytest.mark.parametrize("which", ["page", "long_page"])
def test_report_in_a_browser(which: str, tmp_path: Path, request) -> None:
    """The script runs to its end, the console is silent, and what Python wrote is all there."""
    file: Path = request.getfixturevalue(which)
    done = chromium(file, tmp_path / "profile", "--dump-dom")
    assert done.returncode == 0, done.stderr[-2000:]
    assert not re.findall(r"CONSOLE.*", done.stderr)
    assert 'data-ready="yes"' in done.stdout
    before = Page(file.read_text(encoding="utf-8"))
    for piece in ('class="bar"', "<circle", 'class="t"', 'data-call="'):
        wanted = file.read_text(encoding="utf-8").split("<script>")[0].count(piece)
        assert done.stdout.split("<script>")[0].count(piece) == wanted > 0
    rects = len([a for t, a in before.elements if t == "rect" and a.get("class") == "t"])
    assert done.stdout.count("data-tip=") == rects


#: What a reader does with the page; what came of it is left as JSON in the title.
_DONE = """
const one = (selector) => document.querySelector(selector);
const shown = (selector) => getComputedStyle(one(selector)).display !== "none";
const found = {before: [shown(".bars.operator"), shown(".bars.node")]};
one("label[for=by-node]").click();
found.after = [shown(".bars.operator"), shown(".bars.node")];
const row = one('.call[data-call="0"]');
row.dispatchEvent(new MouseEvent("mouseenter"));
found.edges = document.querySelectorAll(".graph path.near").length;
row.dispatchEvent(new MouseEvent("mouseleave"));
found.left = document.querySelectorAll(".near").length;
row.click();
found.about = one("aside h2").textContent;
one("aside button").click();
found.hidden = one("aside").hidden;
one("#filter").value = "reducesum";
one("#filter").dispatchEvent(new Event("input"));
found.kept = [...document.querySelectorAll(".call[data-call]:not(.off)")].length;
const view = () => one(".memory svg").getAttribute("viewBox").split(" ").map(Number)[2];
found.view = [view()];
one("#zoom-in").click();
found.view.push(view());
one("#zoom-all").click();
found.view.push(view());
document.title = JSON.stringify(found);
"""


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt install chromium")
def test_report_reacts(page: Path, package: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    (tmp_path / "r.html").write_text(text.replace("</body>", f"<script>{_DONE}</script></body>"))
    done = chromium(tmp_path / "r.html", tmp_path / "profile", "--dump-dom")
    assert not re.findall(r"CONSOLE.*", done.stderr)
    found = json.loads(re.search(r"<title>(.*?)</title>", done.stdout)[1])
    assert found["before"] == [True, False] and found["after"] == [False, True]
    graph = graph_of(package)["graph"]
    assert found["edges"] == len(graph["calls"][0]["after"]) + sum(
        0 in call["after"] for call in graph["calls"]
    )
    assert found["left"] == 0 and found["hidden"] is True
    assert found["about"] == f"call 0: {graph['calls'][0]['name']}"
    sums = [c for c in graph["calls"] if "ReduceSum 'sum'" in graph["nodes"][c["nodes"]]]
    assert found["kept"] == len(sums)
    whole, near, again = found["view"]
    assert near < whole == again
