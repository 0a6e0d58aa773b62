"""`strictcall doctor`: what it says, to a terminal and to a file, and how it ends."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from parsers.families.hermes import HERMES
from server.config.settings import DEFAULT_MODEL
from server.doctor.checks import CHECKS
from server.doctor.subject import Difference, Passed, of_template
from server.doctor.text import Paint, abilities, paint_for, report, told
from server.main import main
from server.prompt.template import ChatTemplate
from server.prompt.traits import SystemRole
from server.tokens.vocabulary import Vocabulary
from templates import read_template
from tests.server.prompting import TEMPLATES

SOURCE = read_template("hermes") or ""


@pytest.fixture(name="page")
def _page(tmp_path: Path) -> str:
    page = tmp_path / "hermes.jinja"
    page.write_text(SOURCE, encoding="utf-8")
    return str(page)


def test_a_template_that_passes(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Family and template with the reasons, the prompt, a line for each check, and the sum."""
    assert main(["doctor", page]) == 0
    out = capsys.readouterr().out

    assert out.startswith(
        "Family: hermes, because the chat template writes <tool_call>.\n"
        "Template: the model's own.\n"
        "  It shows tools; calls, two in one turn; results. It takes"
    )
    assert '  {"name": "feed_numbat", "arguments": {"meal": "termites"}}\n  </tool_call>' in out
    assert out.count("\npass  ") == len(CHECKS)
    assert out.endswith(f"\nAll {len(CHECKS)} checks pass.\n")


def test_the_default_model_passes(smollm2: Vocabulary, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a model, control tokens stand in brackets, and markers that are text do not."""
    assert main(["doctor", DEFAULT_MODEL]) == 0
    out = capsys.readouterr().out

    assert "Template: templates/hermes.jinja, because the model's own does not show tools." in out
    assert "⟦<|im_start|>⟧assistant\n  <tool_call>\n" in out
    assert "pass  markers can be written (text: <tool_call> </tool_call>)" in out
    assert "pass  written calls are read back token by token\n" in out


def test_another_family_than_the_template_s_fails(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The first difference is shown with both sides."""
    assert main(["doctor", page, "--family", "deepseek_v31"]) == 1
    out = capsys.readouterr().out

    assert out.startswith("Family: deepseek_v31, because --family names it.\n")
    assert (
        "FAIL  calls are written as the template shows them: the writer's letters are not the template's\n"
        "      wanted  <｜tool▁calls▁begin｜>" in out
    )
    assert "2 of 19 checks fail.\n" in out


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        ([], 2, "MODEL_OR_TEMPLATE"),
        (["nowhere.jinja"], 2, "The chat template nowhere.jinja cannot be read: No such file"),
        (["x.jinja", "--family", "hermez"], 2, "There is no model family 'hermez'"),
        (["/nowhere"], 1, "There is no model directory '/nowhere'"),
    ],
)
def test_what_cannot_be_examined_is_told(
    argv: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong command line is 2; a model that is not there is 1."""
    try:
        status = main(["doctor", *argv])
    except SystemExit as exit:
        status = int(exit.code or 0)

    assert status == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [(b"{% if %}", 1, "cannot be compiled"), (b"\xff", 2, "is not UTF-8 text")],
)
def test_a_file_that_is_no_template_is_told(
    content: bytes, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message has the file's name, and the reason."""
    page = tmp_path / "broken.jinja"
    page.write_bytes(content + b"<|tool_call|><|start_of_role|>")

    assert main(["doctor", str(page)]) == code
    err = capsys.readouterr().err
    assert said in err
    assert "broken.jinja" in err


def test_a_tokenizer_that_ends_no_answer_is_told(
    smollm2: Vocabulary, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mask needs to know what may come last."""
    smollm2._tokenizer.save(str(tmp_path / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": SOURCE}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")

    assert main(["doctor", str(tmp_path)]) == 1
    assert "does not say which token ends an answer" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals() -> None:
    """And for those who have not asked for none."""
    assert paint_for(Terminal(), {}) is Paint.COLOURED
    assert paint_for(Terminal(), {"NO_COLOR": ""}) is Paint.COLOURED
    assert paint_for(Terminal(), {"NO_COLOR": "1"}) is Paint.PLAIN
    assert paint_for(io.StringIO(), {}) is Paint.PLAIN


def test_markers_and_verdicts_have_colours() -> None:
    """Without a vocabulary no token is known to be a control token."""
    subject = of_template(SOURCE, name="hermes.jinja", named=HERMES)

    assert "\x1b[36m<tool_call>\x1b[0m" in "\n".join(report(subject, Paint.COLOURED))
    assert "\x1b" not in "\n".join(report(subject, Paint.PLAIN))
    assert list(told("a rule", Passed(), Paint.COLOURED)) == ["\x1b[32mpass\x1b[0m  a rule"]
    assert list(told("a rule", Difference("no"), Paint.COLOURED)) == ["\x1b[31mFAIL\x1b[0m  a rule: no"]
    assert Paint.COLOURED.control("<s>") == "\x1b[7m<s>\x1b[0m"


def test_the_first_difference_is_pointed_at() -> None:
    """A few letters before it are shown, line breaks as one letter."""
    finding = Difference("they differ", "\n" * 30 + '{"a": 1}', "\n" * 30 + '{"a":1}')

    assert list(told("a rule", finding, Paint.PLAIN)) == [
        "FAIL  a rule: they differ",
        f"      wanted  {'␤' * 19}" + '{"a": 1}',
        f"      found   {'␤' * 19}" + '{"a":1}',
        f"              {' ' * 24}^",
    ]


def test_what_was_found_is_shown_where_nothing_else_was_wanted() -> None:
    """Its first letters, on one line."""
    found = list(told("a rule", Difference("it lets this through", found="a\n\tb" * 40), Paint.PLAIN))

    assert found == ["FAIL  a rule: it lets this through", "      " + "a␤␉b" * 20]


def test_abilities_are_told_in_words() -> None:
    """Whatever a template can do, or cannot."""

    def told_of(name: str) -> str:
        source = (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")
        return abilities(ChatTemplate(source, origin="a test").traits)

    assert abilities(ChatTemplate("{{ messages[0].content }}", origin="a test").traits) == (
        "It does not show tools."
    )
    assert "calls, one in each turn" in told_of("one_call")
    assert "Thinking is switched by enable_thinking." in told_of("opens_reasoning")
    assert "ids of nine letters or digits" in told_of("nine_letter_ids")
    assert "arguments as JSON text" in told_of("text_arguments")


def test_calls_that_are_shown_as_text_are_told_of() -> None:
    """Such a template takes no calls, and so no form of theirs."""
    traits = ChatTemplate(SOURCE, origin="a test").traits

    assert abilities(replace(traits, calls=False, text_calls=True)).startswith(
        "It shows tools; calls that are written into the text of their turn; results. It takes system"
    )
    assert abilities(replace(traits, calls=False, results=False, text_calls=False, thinking=None)) == (
        "It shows tools. It takes system messages anywhere."
    )


def test_every_place_for_system_messages_has_words() -> None:
    """A new one would otherwise fail where it is told."""
    traits = ChatTemplate(SOURCE, origin="a test").traits

    for place in SystemRole:
        assert "system message" in abilities(replace(traits, system=place))
