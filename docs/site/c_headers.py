"""``.. c-header:: FILE``: a reference page from the comments of one of the runtime's headers.

Enters: a header as this project writes them. A comment of three slashes documents the declarations
right below it, up to an empty line; members of a struct and values of an enum have theirs behind
them; a line ``// ---- words ---`` begins a section. Leaves: reStructuredText, in Sphinx's domain of
C.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]

SKIPPED = re.compile(
    r'#(if|ifndef|ifdef|elif|else|endif|include)\b|#define (\w+_H$|MEGCC_API\b)|extern "C"|\}'
)
RECORD = re.compile(r"typedef (enum|struct) \w+ \{(.*)\} (\w+);", re.S)
OPAQUE = re.compile(r"typedef struct \w+ (\w+);(?:\s*///< (.*))?$")


def declarations(text: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """What a header consists of, in order.

    Yields
    ------
    kind, lines of the comment, declarations
        The kind is "section" (its title is the comment), "text" or "code".
    """
    comment: list[str] = []
    code: list[str] = []
    lines = iter([*text.split("\n"), ""])
    for line in lines:
        if line and not line.startswith("//") and not SKIPPED.match(line):
            while not line.startswith("#define") and (
                line.count("{") != line.count("}") or not re.search(r";\s*(//.*)?$", line)
            ):
                line += "\n" + next(lines)
            code.append(line)
            continue
        if code:
            yield "code", comment, code
            comment, code = [], []
        if section := re.match(r"// -+ (.*?) -+$", line):
            yield "section", [section[1]], []
        elif line.startswith("//"):
            comment.append(re.sub(r"^///? ?", "", line))
        elif comment:
            yield "text", comment, []
            comment = []


def rst(words: str) -> str:
    """Words of a comment: code between backticks, all else as it stands."""
    parts = words.split("`")
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = f":c:expr:`{part}`" if re.fullmatch(r"megcc_\w+", part) else f"``{part}``"
        else:
            parts[i] = re.sub(r"([*_|\\])", r"\\\1", part)
    return "".join(parts)


def paragraphs(comment: list[str]) -> list[str]:
    """A comment as reStructuredText: lines with four spaces in front stay as they are written."""
    made: list[str] = []
    table = False
    for line in comment:
        inside = line.startswith("    ")
        if inside and not table:
            made += ["", "::", ""]
        if table and not inside:
            made.append("")
        table = inside
        made.append(line if inside else rst(line))
    return made


def directive(name: str, arguments: list[str], body: list[str]) -> list[str]:
    first, *others = arguments
    head = [f".. c:{name}:: {first}", *(f"   {' ' * len(name)}      {each}" for each in others)]
    return ["", *head, "", *(f"   {line}" if line else "" for line in body), ""]


def members(kind: str, body: str) -> list[str]:
    """The values of an enum or the members of a struct, each with the comment behind it."""
    made: list[str] = []
    if "\n" not in body:
        body = body.replace(", ", "\n")
    # A comment that goes on in the next line belongs to what stands before it.
    body = re.sub(r"\n\s*///?<? ?(?=\S)", " ", body)
    for line in filter(None, map(str.strip, body.split("\n"))):
        code, _, comment = re.match(r"(.*?)[,;]?\s*(//+<? ?(.*))?$", line).groups("")
        if kind == "enum":
            made += directive("enumerator", [code.split(" = ")[0]], [rst(comment)])
            continue
        of_type, names = re.match(r"(.*?)(\w+(?:\[\w+\])?(?:, \w+)*)$", code).groups()
        made += directive("member", [of_type + n for n in names.split(", ")], [rst(comment)])
    return made


def described(declared: list[str], comment: list[str]) -> list[str]:
    """Declarations that share a comment; those of a kind with other words are apart."""
    if record := RECORD.match(declared[0]):
        kind, body, name = record.groups()
        return directive(kind, [name], [*paragraphs(comment), *members(kind, body)])
    if declared[0].startswith("#define "):
        _, name, *value = declared[0].split(maxsplit=2)
        return directive("macro", [name], [*paragraphs(comment), "", f"``{' '.join(value)}``"])
    if OPAQUE.match(declared[0]):
        made = []
        for name, behind in (OPAQUE.match(each).groups("") for each in declared):
            made += directive("type", [name], [rst(behind), *paragraphs(comment)])
        return made
    signatures = [
        " ".join(each.rstrip(";").split()).removeprefix("MEGCC_API ") for each in declared
    ]
    if declared[0].startswith("typedef "):
        return directive("type", [signatures[0].removeprefix("typedef ")], paragraphs(comment))
    return directive("function", signatures, paragraphs(comment))


class CHeader(SphinxDirective):
    """A header's comments and declarations."""

    required_arguments = 1

    def run(self):
        path = ROOT / self.arguments[0]
        self.env.note_dependency(str(path))
        lines: list[str] = []
        for kind, comment, declared in declarations(path.read_text(encoding="utf-8")):
            if kind == "section":
                lines += ["", f".. rubric:: {comment[0].capitalize()}", ""]
            elif kind == "text":
                lines += ["", *paragraphs(comment), ""]
            else:
                lines += described(declared, comment)
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=False)


def setup(app):
    app.add_directive("c-header", CHeader)
    return {"parallel_read_safe": True}
