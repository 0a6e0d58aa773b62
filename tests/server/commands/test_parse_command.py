"""`strictcall parse`: what it reads, in any pieces, and what it says of what it cannot read."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from server.config.settings import default_cache
from server.main import main
from server.startup.default_model import DefaultModelError, prepare

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
RAW = (
    '<think>Hm.</think>Sure.\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>\n<tool_call>{x'
)
READ = {
    "content": "Sure.",
    "reasoning": "Hm.",
    "tool_calls": [{"id": "call_0", "name": "f", "arguments": '{"a": 1}'}],
    "failures": [{"reason": "bad_json", "raw": "<tool_call>{x"}],
}


@pytest.fixture(name="tokenizer")
def _tokenizer() -> str:
    """The directory of the default model, to which no marker is a token."""
    try:
        return str(prepare(default_cache() / "models", lambda line: None))
    except DefaultModelError as error:
        pytest.skip(str(error))


def parsed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *argv: str, text: str
) -> tuple[int, list[Any]]:
    """The exit code of the command, and what it wrote, line by line."""
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    code = main(["parse", *argv])
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("chunk", ["whole", 1, 5, "random:7"])
def test_every_line_is_read_in_the_pieces_it_asks_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, chunk: object
) -> None:
    """However an answer is cut, the same is read of it."""
    line = json.dumps({"family": "hermes", "tools": [TOOL], "raw": RAW, "chunk": chunk})

    assert parsed(capsys, monkeypatch, "--jsonl", text=f"{line}\n\n{line}\n") == (0, [READ, READ])


def test_line_may_begin_in_the_reasoning_span(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prompt may have opened it."""
    line = {"family": "hermes", "tools": [], "raw": "Hm.</think>Yes.", "prompt_opens_reasoning": True}
    _, (answer,) = parsed(capsys, monkeypatch, "--jsonl", text=json.dumps(line))

    assert (answer["content"], answer["reasoning"]) == ("Yes.", "Hm.")


def test_single_answer_is_read_with_the_tools_of_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Tools may stand in a request's envelope, or without it; ids are the model's where it wrote them."""
    (tmp_path / "tools.json").write_text(json.dumps([TOOL["function"]]), encoding="utf-8")
    argv = ("--family", "mistral_v11", "--tools", str(tmp_path / "tools.json"))
    code, (answer,) = parsed(capsys, monkeypatch, *argv, text="[TOOL_CALLS]f[CALL_ID]q1W2e3R4t[ARGS]{}")

    assert code == 0
    assert answer["tool_calls"] == [{"id": "q1W2e3R4t", "name": "f", "arguments": "{}"}]


BAD_LINES = {
    "no JSON": ("{", "not JSON"),
    "no object": ("[]", "'raw' is text"),
    "nothing to read": ('{"family": "hermes", "tools": []}', "'token_ids'"),
    "ids without a tokenizer": ('{"family": "hermes", "tools": [], "token_ids": [1]}', "--tokenizer"),
    "no text": ('{"family": "hermes", "tools": [], "raw": 3}', "'raw' is text"),
    "unknown family": ('{"family": "hermez", "tools": [], "raw": ""}', "no model family 'hermez'"),
    "tools that are none": ('{"family": "hermes", "tools": {}, "raw": ""}', "JSON array"),
    "tool without a name": ('{"family": "hermes", "tools": [3], "raw": ""}', "'name'"),
    "name that is no text": ('{"family": "xlam", "tools": [{"name": ["f"]}], "raw": ""}', "'name'"),
    "schema that is none": (
        '{"family": "glm45", "tools": [{"name": "f", "parameters": [1]}], "raw": ""}',
        "'f' are a JSON Schema",
    ),
    "too deep": ("[" * 100_000, "too deeply"),
    "unknown cut": ('{"family": "hermes", "tools": [], "raw": "", "chunk": 0}', "'chunk'"),
}


@pytest.mark.parametrize(("line", "said"), BAD_LINES.values(), ids=BAD_LINES.keys())
def test_bad_line_is_told_and_costs_the_others_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str, said: str
) -> None:
    """The line's place is taken by an answer in which nothing was read, and the exit code is 1."""
    good = '{"family": "hermes", "tools": [], "raw": "Hi"}'
    code, (first, second) = parsed(capsys, monkeypatch, "--jsonl", text=f"{line}\n{good}\n")

    assert code == 1
    assert said in first["error"]
    assert (first["tool_calls"], second["content"]) == ([], "Hi")


@pytest.mark.parametrize("tools", [None, "{", b"\xff", "[" * 100_000, "{}"])
def test_tools_that_cannot_be_read_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, tools: str | bytes | None
) -> None:
    """The message names the file, whatever is wrong with it."""
    path = tmp_path / "tools.json"
    if tools is not None:
        path.write_bytes(tools.encode() if isinstance(tools, str) else tools)

    assert main(["parse", "--family", "hermes", "--tools", str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"strictcall: {path}")


def test_a_family_that_is_none_is_a_wrong_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    """As for the other commands that take one."""
    assert main(["parse", "--family", "hermez"]) == 2
    assert "'hermez'" in capsys.readouterr().err


@pytest.mark.parametrize("flag", [["--tools", "tools.json"], ["--prompt-opens-reasoning"]])
def test_flags_for_a_single_answer_are_refused_with_lines(
    capsys: pytest.CaptureFixture[str], flag: list[str]
) -> None:
    """They would have no effect: each line says such things for itself."""
    with pytest.raises(SystemExit) as stopped:
        main(["parse", "--jsonl", *flag])

    assert stopped.value.code == 2
    assert "each line" in capsys.readouterr().err


def test_half_of_a_surrogate_pair_is_written_as_json_can(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """UTF-8 cannot."""
    line = '{"family": "hermes", "raw": "a\\ud800"}'

    assert parsed(capsys, monkeypatch, "--jsonl", text=line)[1][0]["content"] == "a\ud800"


def test_half_of_a_surrogate_pair_has_no_tokens(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tokenizer: str
) -> None:
    """The line has an error, in its place."""
    line = '{"family": "hermes", "raw": "a\\ud800"}'
    code, (answer,) = parsed(capsys, monkeypatch, "--jsonl", "--tokenizer", tokenizer, text=line)

    assert code == 1
    assert "surrogate" in answer["error"]


def test_bytes_that_are_no_utf_8_are_replaced(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the locale says of standard input."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("é".encode() + b"\xff"), "ascii"))

    assert main(["parse", "--family", "hermes"]) == 0
    assert json.loads(capsys.readouterr().out)["content"] == "é\ufffd"


def test_with_a_tokenizer_only_a_token_is_a_marker(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, model_data: Path
) -> None:
    """Text of the same letters, in other tokens, stays text."""
    call = [4913, 606, 788, 330, 69, 9207]
    ids = ([151657, *call, 151658], [27, 14172, 13429, 29, *call])
    lines = [json.dumps({"family": "hermes", "tools": [TOOL], "token_ids": each}) for each in ids]
    argv = ("--jsonl", "--tokenizer", str(model_data / "tokenizers" / "qwen3"))
    code, (token, text) = parsed(capsys, monkeypatch, *argv, text="\n".join(lines))

    assert code == 0
    assert token["tool_calls"] == [{"id": "call_0", "name": "f", "arguments": "{}"}]
    assert (text["tool_calls"], text["content"]) == ([], '<tool_call>{"name": "f"}')


def test_with_a_tokenizer_the_same_is_read_in_any_pieces(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tokenizer: str
) -> None:
    """Where no marker is a token of the vocabulary, tokens read as the text that they spell."""
    line = {"family": "hermes", "tools": [TOOL], "raw": RAW}
    lines = [json.dumps(line | {"chunk": chunk}) for chunk in ("whole", 1, "random:7")]
    argv = ("--jsonl", "--tokenizer", tokenizer)

    assert parsed(capsys, monkeypatch, *argv, text="\n".join(lines)) == (0, [READ] * 3)


def test_single_answer_is_read_with_a_tokenizer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tokenizer: str
) -> None:
    """What ends the turn is no part of the answer."""
    argv = ("--family", "hermes", "--tokenizer", tokenizer)

    assert parsed(capsys, monkeypatch, *argv, text="Hi é.<|im_end|>")[1][0]["content"] == "Hi é."


def test_ids_that_no_token_has_are_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tokenizer: str
) -> None:
    """The message names the range."""
    wrong = (3, [True], [-1], [49152], ["a"])
    lines = [json.dumps({"family": "hermes", "tools": [], "token_ids": ids}) for ids in wrong]
    argv = ("--jsonl", "--tokenizer", tokenizer)
    code, answers = parsed(capsys, monkeypatch, *argv, text="\n".join(lines))

    assert code == 1
    told = [answer["error"] for answer in answers]
    assert told == ["'token_ids' is an array of whole numbers from 0 to 49151."] * len(wrong)


def test_a_tokenizer_that_is_not_there_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hub name is none: what is read here is a directory."""
    monkeypatch.setattr("sys.stdin", io.StringIO(""))

    assert main(["parse", "--jsonl", "--tokenizer", "/nowhere"]) == 1
    assert "/nowhere" in capsys.readouterr().err
