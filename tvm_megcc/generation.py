"""Text from a package of a language model: a prompt goes on, a conversation is held.

Enters: a package made with ``tvmc compile --generate``, and a prompt. Leaves: `Generated`. The
package's program does it all, built first, and kept built; under qemu where it is for another CPU.

Example
-------
>>> generate("model_pkg", "Once upon a time", max_tokens=20).text    # doctest: +SKIP
', there was'
"""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.host import build_cache, decoder, files, toolchain
from tvm_megcc.host.package import Package
from tvm_megcc.host.package import opened as opened_package
from tvm_megcc.tokenizer.chat_templates import rendered
from tvm_megcc.tokenizer.message_roles import Messages

#: Bits of ``megcc_encode``.
_AROUND = 1

Take = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen, in the order in which the settings act.

    Attributes
    ----------
    repetition_penalty : float
        Logits of tokens that were are divided by it above 0, else multiplied.
    temperature : float
        0: the most likely token; else logits are divided by it, 0.001 to 1000.
    top_k : int
        So many most likely tokens; 0: all.
    top_p : float
        The fewest of them that have this probability together.
    min_p : float
        Those with at least so much of the most likely token's probability.
    seed : int
        Of the random numbers, 64 bits.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int = 0

    def check(self) -> None:
        """Raise InputError for a setting out of its range."""
        for name, value, least, most in (
            ("temperature", self.temperature, 0, 1000),
            ("top_p", self.top_p, 0, 1),
            ("min_p", self.min_p, 0, 1),
            ("repetition_penalty", self.repetition_penalty, 0, 1000),
            ("top_k", self.top_k, 0, 2**31 - 1),
            ("seed", self.seed, 0, 2**64 - 1),
        ):
            if not (math.isfinite(value) and least <= value <= most):
                raise InputError(f"{name} is {value}; give {least} to {most}")
        if 0 < self.temperature < 0.001:
            raise InputError(f"temperature is {self.temperature}; give 0, or 0.001 and more")


@dataclass(frozen=True, slots=True)
class Generated:
    """What a model made of a prompt.

    Attributes
    ----------
    text : str
        Without the prompt and special tokens.
    tokens : tuple of int
    finished : str
        ``most`` tokens were made, a ``stop`` token came, or the ``capacity`` is used up.
    prompt_tokens, kept_tokens : int
        Tokens of the prompt, and how many of them were there from the call before.
    prompt_seconds, decode_seconds : float
        Until the first token, and from there to the last one.
    """

    text: str
    tokens: tuple[int, ...]
    finished: str
    prompt_tokens: int
    kept_tokens: int
    prompt_seconds: float
    decode_seconds: float

    @property
    def prompt_tokens_per_second(self) -> float:
        """Tokens of the prompt that were computed in a second."""
        return _rate(self.prompt_tokens - self.kept_tokens, self.prompt_seconds)

    @property
    def decode_tokens_per_second(self) -> float:
        """Tokens behind the first one that were made in a second."""
        return _rate(len(self.tokens) - 1, self.decode_seconds)


def _rate(count: int, seconds: float) -> float:
    return count / seconds if count > 0 and seconds > 0 else 0.0


class Generator:
    """A package's program, waiting for prompts. What two of them have in common is kept.

    Attributes
    ----------
    capacity : int
        Most tokens of a prompt and its answer together.
    memory_bytes : int
        Of caches, arena and logits; the weights are apart.
    """

    def __init__(
        self, package: Package, process: subprocess.Popen[bytes], prefix: Path | None = None
    ) -> None:
        self.package = package
        self._prompt_tokens = 0  # of the latest prompt
        self._prefix = prefix  # where the first prompt will be saved
        self._process = process
        assert process.stdin is not None and process.stdout is not None
        self._to: IO[bytes] = process.stdin
        self._from: IO[bytes] = process.stdout
        self.capacity, self.memory_bytes = map(int, self._line()[:2])
        if prefix is not None and prefix.exists():
            self.load(prefix)
            self._prefix = None

    def generate(
        self,
        prompt: str,
        *,
        max_tokens: int = 128,
        sampling: Sampling | None = None,
        special: bool = True,
        take: Take | None = None,
    ) -> Generated:
        """Go on with a prompt.

        Parameters
        ----------
        prompt : str
        max_tokens : int
        sampling : Sampling, optional
            By default the most likely token each time.
        special : bool
            With the special tokens that the model has around a text; a conversation names its own.
        take : callable, optional
            Called with pieces of the text as they come.

        Raises
        ------
        InputError
            The prompt has too many tokens, or a setting is out of its range.
        ToolError
            The program failed.
        """
        how = sampling or Sampling()
        how.check()
        if max_tokens < 0 or max_tokens >= 2**32:
            raise InputError(f"max_tokens is {max_tokens}; give 0 or more")
        try:
            data = prompt.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"the prompt is no text ({error.reason}); give Unicode") from error
        numbers = [
            max_tokens, how.temperature, how.top_k, how.top_p, how.min_p, how.repetition_penalty,
            how.seed, _AROUND if special else 0, len(data),
        ]  # fmt: skip
        self._send(" ".join(map(str, numbers)).encode() + b"\n" + data)
        found = self._answer(take)
        self._prompt_tokens = found.prompt_tokens
        if self._prefix is not None:
            self.save(self._prefix)
            self._prefix = None
        return found

    def save(self, path: str | Path) -> int:
        """Write what the model remembers of the latest prompt to a file; return its tokens.

        Raises InputError if there was no prompt, or the file cannot be written.
        """
        if self._prompt_tokens == 0:
            raise InputError("there is no prompt to save yet; generate something first")
        self._send(f"save {self._prompt_tokens}\n".encode())
        data = self._from.read(int(self._line()[0]))
        with files.replacing(Path(path)) as fresh:
            fresh.write_bytes(data)
        return self._prompt_tokens

    def load(self, path: str | Path) -> int:
        """Replace the sequence by a saved prompt; return its tokens. Prompts that begin so go on.

        Raises InputError if the file cannot be read, was saved by another package or machine, is
        damaged, or has more tokens than the capacity. The sequence is then as it was before.
        """
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise InputError(f"'{path}' cannot be read ({error.strerror})") from error
        self._send(f"load {len(data)}\n".encode() + data)
        try:
            self._prompt_tokens = int(self._line()[0])
        except InputError as error:
            raise InputError(f"'{path}': {error}") from None
        return self._prompt_tokens

    def _send(self, request: bytes) -> None:
        try:
            self._to.write(request)
            self._to.flush()
        except BrokenPipeError:
            raise self._failure() from None

    def chat(
        self,
        messages: Messages,
        *,
        max_tokens: int = 128,
        sampling: Sampling | None = None,
        take: Take | None = None,
    ) -> Generated:
        """The assistant's next message of a conversation, by the model's own chat template.

        `messages` have a ``role`` (``system``, ``user``, ``assistant``) and a ``content``. Raises
        as `generate` does, and InputError if the package has no template, or it does not take them.
        """
        text = rendered(decoder.read_template(self.package.path), messages)
        return self.generate(
            text, max_tokens=max_tokens, sampling=sampling, special=False, take=take
        )

    def _line(self) -> list[str]:
        """Words of a line of the program, without the first one."""
        words = self._from.readline().decode().split(" ")
        if words[0] == "error":
            raise InputError(" ".join(words[1:]).strip())
        if len(words) < 2:
            raise self._failure()
        return words if words[0] in ("token", "end") else words[1:]

    def _answer(self, take: Take | None) -> Generated:
        pieces, tokens = [], []
        while (words := self._line())[0] == "token":
            piece = self._from.read(int(words[2])).decode()
            if int(words[1]) >= 0:
                tokens.append(int(words[1]))
            pieces.append(piece)
            if take is not None and piece:
                take(piece)
        _, finished, prompt, kept, first, _, rest = words
        return Generated(
            "".join(pieces), tuple(tokens), finished, int(prompt), int(kept), float(first) / 1e3,
            float(rest) / 1e3,
        )  # fmt: skip

    def _failure(self) -> ToolError:
        self._to.close()
        stderr = self._process.stderr
        said = "" if stderr is None else stderr.read().decode(errors="replace").strip()
        status = self._process.wait()
        return ToolError(said.removeprefix("run: error: ") or f"it ended with status {status}")


@contextmanager
def opened(
    path: str | Path,
    *,
    arch: str | None = None,
    capacity: int = 1024,
    chunk: int = 64,
    threads: int = 1,
    stop: Sequence[str] = (),
    prefix_cache: str | Path | None = None,
    cc: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Iterator[Generator]:
    """Build a package, start its program, and end it after the body.

    Parameters
    ----------
    path : path
        A package directory or a tar of one, made with ``tvmc compile --generate``.
    arch : str, optional
        Of a package for several; by default this machine's.
    capacity : int
        Most tokens of a prompt and its answer together.
    chunk : int
        Tokens of a prompt that are computed together: more are faster, and take more memory.
    threads : int
        How many threads compute.
    stop : sequence of str
        Tokens that end a text, beside those of the model.
    prefix_cache : path, optional
        A file to begin with, see `Generator.load`; where there is none, the first prompt is saved
        there.
    cc : str, optional
        The C compiler.
    progress : callable, optional
        Called with what is being done.

    Raises
    ------
    InputError
        This is no such package, or it takes no sequence so long.
    ToolError
        The compiler is missing, or the program failed.
    """
    tell = progress or (lambda stage: None)
    for name, value, most in (("capacity", capacity, 2**31 - 1), ("chunk", chunk, 2**31 - 1)):
        if not 1 <= value <= most:
            raise InputError(f"{name} is {value}; give 1 to {most}")
    with opened_package(Path(path)) as package:
        if not package.manifest.get("generates"):
            raise InputError(
                f"'{path}' has no tokenizer; compile it with tvmc compile --generate DIR"
            )
        chosen = package.choose(arch)
        toolchain.check_compiler(cc, chosen)
        options = ["--serve", "--capacity", str(capacity), "--chunk", str(chunk)]
        options += ["--threads", str(threads)] if threads > 1 else []
        options += [word for name in stop for word in ("--stop", name)]
        tell("build")
        with build_cache.built(
            package, chosen, threads=threads > 1, cc=cc, progress=progress
        ) as program:
            command = toolchain.generate_command(program, chosen, package.manifest, options)
            tell("run")
            with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            ) as process:
                try:
                    prefix = None if prefix_cache is None else Path(prefix_cache)
                    yield Generator(package, process, prefix)
                finally:
                    process.kill()


def generate(
    package: str | Path,
    prompt: str,
    *,
    max_tokens: int = 128,
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    repetition_penalty: float = 1.0,
    seed: int = 0,
    stop: Sequence[str] = (),
    capacity: int = 1024,
    threads: int = 1,
    prefix_cache: str | Path | None = None,
    arch: str | None = None,
    take: Take | None = None,
) -> Generated:
    """Go on with a prompt, by the package of a language model.

    Parameters are those of `opened`, `Generator.generate` and `Sampling`; raises as these do. For
    several prompts `opened` starts the program once.
    """
    sampling = Sampling(temperature, top_k, top_p, min_p, repetition_penalty, seed)
    sampling.check()
    with opened(
        package,
        arch=arch,
        capacity=capacity,
        threads=threads,
        stop=stop,
        prefix_cache=prefix_cache,
    ) as generator:
        return generator.generate(prompt, max_tokens=max_tokens, sampling=sampling, take=take)
