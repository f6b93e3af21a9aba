"""Chat templates: rendered, and as texts around messages where they are no more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.generation.tiny import CHATML, SPECIAL, checkpoint
from tvm_megcc.errors import InputError, UnsupportedError
from tvm_megcc.tokenizer import checkpoint as files
from tvm_megcc.tokenizer import read_tokenizer
from tvm_megcc.tokenizer.chat_templates import rendered, roles_of
from tvm_megcc.tokenizer.checkpoint import ChatTemplate
from tvm_megcc.tokenizer.message_roles import Roles

pytest.importorskip("jinja2", reason="no jinja2; it is in the extras 'test' and 'chat'")

#: The forms of Llama 3 (a text in front, trimmed messages), Gemma (no system, another name for the
#: assistant), Qwen 2 (a system's message of its own) and Phi 3.
TEMPLATES = {
    "chatml": CHATML,
    "llama3": """{{ bos_token }}{% for m in messages %}
{{- '<|head|>' + m['role'] + '<|tail|>\n\n' + m['content'] | trim + '<|eot|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|head|>assistant<|tail|>\n\n' }}{% endif %}""",
    "gemma": """{{ bos_token }}{% if messages[0]['role'] == 'system' %}
{{ raise_exception('System role not supported') }}{% endif %}
{% for m in messages %}
{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('Roles must alternate') }}{% endif %}
{% set role = 'model' if m['role'] == 'assistant' else m['role'] %}
{{ '<start>' + role + '\n' + m['content'] | trim + '<end>\n' }}
{% endfor %}
{% if add_generation_prompt %}{{ '<start>model\n' }}{% endif %}""",
    "qwen2": """{%- if messages[0]['role'] != 'system' %}
{{- '<|im_start|>system\nYou are helpful.<|im_end|>\n' }}
{%- endif %}"""
    + CHATML,
    "phi3": """{% for m in messages %}{{ '<|' + m['role'] + '|>\n' + m['content'] + '<|end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}""",
}


def template(name: str) -> ChatTemplate:
    tokens = {"bos_token": "<s>", "eos_token": "</s>"}
    return ChatTemplate("chat_template.jinja", TEMPLATES.get(name, name), tokens)


def talk(*contents: str, system: str | None = None) -> list[dict[str, str]]:
    """Messages of user and assistant in turn."""
    roles = ("user", "assistant")
    found = [] if system is None else [{"role": "system", "content": system}]
    return found + [{"role": roles[k % 2], "content": text} for k, text in enumerate(contents)]


@pytest.mark.parametrize("name", ["chatml", "llama3", "gemma", "qwen2"])
def test_roles_say_what_the_template_does(name: str) -> None:
    roles = roles_of(template(name))
    assert (roles.before_system is None) == (name == "gemma")
    assert roles.trims == (name in ("llama3", "gemma"))
    given = [talk("hi"), talk("  two\nlines  ", "é {{ x }}", "more"), talk(*"abcde")]
    if name != "gemma":
        given += [talk("hi", "ho", "hi", system=" be brief ")]
    for messages in given:
        assert roles.text(messages) == rendered(template(name), messages)


def test_roles_of_chatml() -> None:
    assert roles_of(template("chatml")) == Roles(
        "", "<|im_start|>system\n", "<|im_end|>\n", "<|im_start|>user\n", "<|im_end|>\n",
        "<|im_start|>assistant\n", "<|im_end|>\n",
    )  # fmt: skip
    assert roles_of(template("qwen2")).begin == ("<|im_start|>system\nYou are helpful.<|im_end|>\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEMPLATES["phi3"], "add_generation_prompt changes more than the end"),
        (
            "{% for m in messages %}[{{ m['content'] | upper }}]{% endfor %}"
            "{% for m in messages %}{{ m['content'] }}{% endfor %}",
            "a message is left out or comes twice",
        ),
        (
            "{% for m in messages %}<{{ loop.index }}>{{ m['content'] }}{% endfor %}",
            "the first message of the user looks different",
        ),
        (
            "{% for m in messages %}<u>{{ m['content'] | replace('\\n', ' ') }}</u>{% endfor %}",
            "a conversation of user is more than texts around messages",
        ),
        ("{{ raise_exception('no talk') }}", r"is refused \(no talk\)"),
        (
            "{% for m in messages %}<u>{{ m['content'] }}{% if not loop.last %}</u>{% endif %}"
            "{% endfor %}",
            "is more than texts around messages|looks different",
        ),
    ],
)
def test_other_templates_are_refused_by_what_they_do(text: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said) as error:
        roles_of(template(text))
    assert "use tvmc chat, which renders the template" in str(error.value)


def test_templates_that_cannot_be_rendered() -> None:
    with pytest.raises(InputError, match="cannot be rendered"):
        rendered(template("{% for %}"), talk("hi"))
    with pytest.raises(InputError, match="System role not supported; change the messages"):
        rendered(template("gemma"), talk("hi", system="x"))
    with pytest.raises(InputError, match="cannot be rendered"):  # the sandbox's
        rendered(template("{{ messages.append(1) }}"), talk("hi"))
    assert len(rendered(template("{{ strftime_now('%Y') }}"), talk("hi"))) == 4


def test_files_of_a_checkpoint(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "c", bos_token={"content": "<s>"})
    tokenizer = read_tokenizer(folder)
    found = files.chat_template(folder)
    assert found is not None and found.text == CHATML
    assert found.tokens == {"eos_token": SPECIAL[1], "bos_token": "<s>"}
    assert files.stops(folder, tokenizer) == [269]
    (folder / "generation_config.json").write_text('{"eos_token_id": [268, 7]}')
    assert files.stops(folder, tokenizer) == [268, 7]
    (folder / "chat_template.jinja").write_text("{{ 1 }}")
    assert files.chat_template(folder / "tokenizer.json") == ChatTemplate(
        str(folder / "chat_template.jinja"), "{{ 1 }}", found.tokens
    )
    several = [{"name": "tool", "template": "a"}, {"name": "default", "template": "b"}]
    (folder / "chat_template.jinja").unlink()
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": several}))
    found = files.chat_template(folder)
    assert found is not None and found.text == "b"
    (folder / "tokenizer_config.json").write_text("[")
    with pytest.raises(InputError, match="cannot be read"):
        files.chat_template(folder)
