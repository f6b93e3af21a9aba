"""Builds of others that are not here: their CMake functions are stand-ins, the compiler is gcc.

The tools of Zephyr, ESP-IDF, Arduino, PlatformIO and CMSIS have not seen these files;
docs/machines.md says so.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.runtime import programs as p
from tvm_megcc.codegen_c import emit
from tvm_megcc.core.contents import Content

needs_cmake = pytest.mark.skipif(not shutil.which("cmake"), reason="apt install cmake")

#: What Zephyr's build defines, with the meaning that its documentation gives it.
ZEPHYR = """cmake_minimum_required(VERSION 3.20)
project(app C)
macro(zephyr_library_named name)
  set(ZEPHYR_CURRENT_LIBRARY ${name})
  add_library(${name} STATIC "")
  target_link_libraries(${name} PUBLIC zephyr_interface)
endmacro()
function(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGV})
endfunction()
function(zephyr_library_include_directories)
  target_include_directories(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGV})
endfunction()
function(zephyr_library_compile_options)
  target_compile_options(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGV})
endfunction()
function(zephyr_include_directories)
  target_include_directories(zephyr_interface INTERFACE ${ARGV})
endfunction()
add_library(zephyr_interface INTERFACE)
add_subdirectory(package/zephyr module)
add_executable(app main.c)
target_link_libraries(app zephyr_interface megcc_corners)
"""

#: Likewise for ESP-IDF.
ESP_IDF = """cmake_minimum_required(VERSION 3.16)
project(app C)
set(ESP_PLATFORM 1)
macro(idf_component_register)
  cmake_parse_arguments(_ "" "" "SRCS;INCLUDE_DIRS;PRIV_INCLUDE_DIRS" ${ARGN})
  set(COMPONENT_LIB __idf_corners)
  add_library(${COMPONENT_LIB} STATIC ${__SRCS})
  target_include_directories(${COMPONENT_LIB} PUBLIC ${__INCLUDE_DIRS}
                             PRIVATE ${__PRIV_INCLUDE_DIRS})
endmacro()
add_subdirectory(package component)
add_executable(app main.c)
target_link_libraries(app __idf_corners)
"""

MAIN = """#include "corners.h"

int main(void) {
  static union {
    char bytes[MEGCC_MODEL_BYTES];
    void *align;
  } memory;
  megcc_model_t *model;
  return (int)megcc_model_open(&corners_image, &corners_kernels, &memory, sizeof memory, &model);
}
"""


def package(**options: str) -> dict[str, Content]:
    return emit.package({"portable": p.corners("portable")}, name="corners", **options)


@pytest.mark.slow
@needs_cmake
@pytest.mark.parametrize("lists", [ZEPHYR, ESP_IDF], ids=["zephyr", "esp-idf"])
def test_a_module_of_another_build(lists: str, tmp_path: Path) -> None:
    p.write(package(), tmp_path / "package")
    (tmp_path / "CMakeLists.txt").write_text(lists)
    (tmp_path / "main.c").write_text(MAIN)
    for command in (["-S", tmp_path, "-B", tmp_path / "b"], ["--build", tmp_path / "b", "-j2"]):
        done = subprocess.run(["cmake", *command], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert subprocess.run([tmp_path / "b" / "app"]).returncode == 0


def test_modules_are_for_microcontrollers() -> None:
    assert package()["zephyr/module.yml"] == "name: megcc_corners\nbuild:\n  cmake: zephyr\n"
    other = emit.package({"x86": p.corners("x86")}, name="corners")
    assert not any(path.startswith("zephyr/") for path in other)
    assert "library.json" not in other
    assert not any(path.endswith(".pdsc") for path in other)


def answer(folder: Path, sources: Sequence[str], flags: Sequence[str], tmp_path: Path) -> int:
    """Exit status of `MAIN` with these files of a package, compiled there with these flags."""
    (tmp_path / "main.c").write_text(MAIN)
    command = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", *flags, *sources]
    done = subprocess.run([*command, tmp_path / "main.c", "-o", tmp_path / "app"], cwd=folder)
    return done.returncode or subprocess.run([tmp_path / "app"]).returncode


def of_library(files: Iterable[str]) -> list[str]:
    """The C files of a package that are not of its runner."""
    kept = (path for path in files if path.startswith(("src/", "model/")))
    return sorted(path for path in kept if path.endswith(".c"))


def test_a_library_of_platformio(tmp_path: Path) -> None:
    """Its keys are those of PlatformIO's reference, and its filter keeps what the library is."""
    made = package()
    facts = json.loads(str(made["library.json"]))
    assert facts.keys() == {
        "name", "version", "description", "keywords", "frameworks", "platforms", "headers", "build",
    }  # fmt: skip
    assert facts["name"] == "megcc_corners" and f"include/{facts['headers']}" in made
    assert re.fullmatch(r"\d+\.\d+\.\d+", facts["version"])
    build = facts["build"]
    assert (build["srcDir"], build["includeDir"]) == (".", "include")
    kept: set[str] = set()
    for sign, pattern in (re.fullmatch("([+-])<(.*)>", f).groups() for f in build["srcFilter"]):
        # A folder is all that is below it; `*` ends at a slash, or at the end is all.
        whole = pattern + "**" if pattern.endswith("/") else pattern
        rule = ".*" if pattern == "*" else re.escape(whole).replace(r"\*\*", ".*")
        rule = rule.replace(r"\*", "[^/]*")
        found = {path for path in made if path.endswith(".c") and re.fullmatch(rule, path)}
        kept = kept | found if sign == "+" else kept - found
    assert sorted(kept) == of_library(made)
    flags = [word for flag in build["flags"] for word in flag.split()]
    folder = p.write(made, tmp_path / "package")
    assert answer(folder, sorted(kept), [*flags, f"-I{build['includeDir']}"], tmp_path) == 0


def test_a_cmsis_pack(tmp_path: Path) -> None:
    """Well-formed, of the elements that the schema wants, and of files that there are."""
    made = package()
    root = ElementTree.fromstring(str(made["tvm_megcc.corners.pdsc"]))
    assert [item.tag for item in root] == [
        "vendor", "name", "description", "url", "releases", "components",
    ]  # fmt: skip
    assert (root.findtext("vendor"), root.findtext("name")) == ("tvm_megcc", "corners")
    (release,), (component,) = root.findall("releases/release"), root.findall("components/*")
    version = json.loads(str(made["library.json"]))["version"]
    assert release.get("version") == component.get("Cversion") == version
    assert component.tag == "component" and all(map(component.get, ("Cclass", "Cgroup", "Csub")))
    files: dict[str | None, list[str]] = {}
    for item in component.findall("files/file"):
        files.setdefault(item.get("category"), []).append(item.get("name") or "")
    assert files.keys() == {"include", "header", "source", "other"}
    assert set(files["header"]) | set(files["source"]) | set(files["other"]) <= made.keys()
    assert sorted(files["source"]) == of_library(made)
    assert files["other"] == [path for path in made if path.endswith(".bin")]
    folder = p.write(made, tmp_path / "package")
    flags = [f"-I{path}" for path in files["include"]]
    assert answer(folder, files["source"], flags, tmp_path) == 0


ARDUINO_H = """#include <stdio.h>
#include <stdlib.h>
struct Printer {
  void begin(long) {}
  void println(const char *text) { puts(text); }
  void println(unsigned long number) { printf("%lu us\\n", number); }
};
static Printer Serial;
inline unsigned long micros() { return 0; }
inline void delay(unsigned long) { exit(0); }
void setup();
void loop();
"""


def test_an_arduino_library(tmp_path: Path) -> None:
    """Compiled as its documentation says: all C below src, src searched; the sketch is C++."""
    made = emit.arduino.layout(package(weights="c"))
    roots = {path.split("/")[0] for path in made}
    assert roots == {"examples", "library.properties", "manifest.json", "src"}
    assert "name=megcc_corners\n" in str(made["library.properties"])
    assert "@" not in "".join(str(made[path]) for path in made if path.endswith((".ino", "ties")))
    folder = p.write(made, tmp_path / "library")
    (tmp_path / "Arduino.h").write_text(ARDUINO_H)
    strict = ["-Wall", "-Wextra", "-Werror", f"-I{folder / 'src'}"]
    objects = []
    for k, source in enumerate(sorted((folder / "src").rglob("*.c"))):
        objects.append(tmp_path / f"{k}.o")
        command = ["gcc", "-std=gnu11", *strict, "-c", source, "-o", objects[-1]]
        subprocess.run(command, check=True)
    sketch = folder / "examples" / "corners_once" / "corners_once.ino"
    whole = tmp_path / "sketch.cpp"
    whole.write_text(sketch.read_text() + "int main() {\n  setup();\n  for (;;) loop();\n}\n")
    command = ["g++", "-std=gnu++11", *strict, "-include", tmp_path / "Arduino.h", "-c", whole]
    subprocess.run([*command, "-o", tmp_path / "sketch.o"], check=True)
    linked = ["g++", tmp_path / "sketch.o", *objects, "-o", tmp_path / "app"]
    subprocess.run(linked, check=True)
    done = subprocess.run([tmp_path / "app"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "0 us\n")


def test_a_sketch_is_there_where_memory_is_known() -> None:
    two = p.in_two_pools(p.planned("portable"))
    made = emit.arduino.layout(emit.package({"portable": two}, name="corners", weights="c"))
    assert not any(path.endswith(".ino") for path in made)
