"""`strictcall check`: a table for people, lines for programs, and an exit code for scripts."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from server.main import main

SCHEMA = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}


def written(folder: Path, name: str, value: Any) -> str:
    (folder / name).write_text(json.dumps(value), encoding="utf-8")
    return str(folder / name)


def lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *asked: Any) -> list[Any]:
    """What is answered to lines of JSON, or of other text."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in asked]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(texts)))
    assert main(["check", "--jsonl"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_table_has_a_row_for_each_constraint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the place, the keyword, who holds it, and why it is not the mask."""
    assert main(["check", written(tmp_path, "schema.json", SCHEMA)]) == 0

    head, *rows, total = capsys.readouterr().out.splitlines()
    assert head.split() == ["pointer", "keyword", "handling", "why"]
    assert [row.split()[:3] for row in rows[:4]] == [
        ["#", "type", "mask"],
        ["#", "properties", "mask"],
        ["#/properties/a", "type", "mask"],
        ["#/properties/a", "uniqueItems", "check"],
    ]
    assert total.startswith(f"{len(rows)} constraints: ")


@pytest.mark.parametrize(
    ("value", "code", "said"),
    [
        ({"a": [1, 2]}, 0, "The value fits."),
        ({"a": [1, 1]}, 1, "  $.a: expected items that all differ, got 1 at [0] and [1]"),
    ],
)
def test_a_value_is_checked_against_the_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], value: Any, code: int, said: str
) -> None:
    """A script sees by the exit code whether it fits, a person what is wrong with it."""
    files = [written(tmp_path, "s.json", SCHEMA), "--instance", written(tmp_path, "v.json", value)]

    assert main(["check", *files]) == code

    assert capsys.readouterr().out.splitlines()[-1] == said


def test_a_schema_that_no_value_fits_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a request with it would be."""
    schema = {"type": "string", "minLength": 3, "maxLength": 2}

    assert main(["check", written(tmp_path, "schema.json", schema)]) == 1

    assert capsys.readouterr().out.startswith("refused: no value satisfies the schema")


def test_strict_closes_objects_that_do_not_say(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a strict tool does; a schema by itself leaves them open."""
    asked = {"schema": SCHEMA, "instance": {"b": 1}}

    open_, closed = lines(monkeypatch, capsys, asked, {**asked, "strict": True})

    assert [open_["mask_accepts"], closed["mask_accepts"]] == [True, False]
    assert [open_["valid"], closed["valid"]] == [True, True]


def test_lines_say_what_mask_and_check_make_of_a_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mask lets pass what the check refuses, and the plan has said so."""
    (answer,) = lines(monkeypatch, capsys, {"schema": SCHEMA, "instance": {"a": [1, 1]}, "strict": True})

    assert (answer["accepted"], answer["error"]) == (True, None)
    assert (answer["mask_accepts"], answer["valid"]) == (True, False)
    assert answer["errors"][0]["path"] == "$.a"
    assert {"pointer", "keyword", "handling", "why"} == set(answer["plan"][0])
    assert "uniqueItems" in [row["keyword"] for row in answer["plan"] if row["handling"] == "check"]
    assert answer["compile_ms"] > 0


@pytest.mark.parametrize(
    "line", ["no json", "[]", "{}", "[" * 100_000, '{"schema": {"type": "strin"}}', '{"schema": 1}']
)
def test_a_line_that_cannot_be_answered_costs_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    """It has an error of its own, in its place."""
    wrong, right = lines(monkeypatch, capsys, line, {"schema": True})

    assert (wrong["accepted"], right["accepted"]) == (False, True)
    assert wrong["error"]["message"]


@pytest.mark.parametrize(
    "content",
    [None, "{", b"\xff", "[" * 100_000],
    ids=["missing", "no JSON", "no UTF-8", "too deep"],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | bytes | None
) -> None:
    """With the reason, on the error stream."""
    path = tmp_path / "schema.json"
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    assert main(["check", str(path)]) == 1

    assert "schema.json" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["1e400", "1" + "0" * 5000])
def test_a_number_that_no_float_holds_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: str
) -> None:
    """It is a number as any other."""
    (tmp_path / "value.json").write_text(number, encoding="utf-8")
    files = [written(tmp_path, "s.json", {"type": "number"}), "--instance", str(tmp_path / "value.json")]

    assert main(["check", *files]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "The value fits."


def test_a_policy_refuses_what_the_mask_cannot_hold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a server would under it, naming each keyword and its place."""
    asked = {"schema": {**SCHEMA, "minProperties": 1}, "strict": True}

    taken, refused, exact = lines(
        monkeypatch,
        capsys,
        {**asked, "policy": "validate"},
        {**asked, "policy": "reject"},
        {"schema": {"type": "null"}, "policy": "reject"},
    )

    assert [taken["accepted"], refused["accepted"], exact["accepted"]] == [True, False, True]
    assert refused["error"]["pointer"] == "#/properties/a"
    assert "the mask cannot hold 'uniqueItems' at '#/properties/a'" in refused["error"]["message"]


def test_a_profile_refuses_what_another_service_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For one file, and for each line."""
    [refused] = lines(monkeypatch, capsys, {"schema": {"type": "object"}, "profile": "openai"})
    code = main(["check", written(tmp_path, "s.json", {"type": "object"}), "--profile", "openai"])

    assert refused["error"] == {
        "pointer": "#",
        "message": "'additionalProperties' is required to be supplied and to be false",
    }
    assert (code, capsys.readouterr().out[:31]) == (1, "refused: 'additionalProperties'")


def test_a_value_too_deep_to_be_tried_is_checked_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mask's verdict is then left open."""
    deep: Any = []
    for _ in range(400):
        deep = [deep]
    [answer] = lines(monkeypatch, capsys, {"schema": {"items": {"$ref": "#"}}, "instance": deep})

    assert (answer["mask_accepts"], answer["valid"]) == (None, True)


@pytest.mark.parametrize("name", ["policy", "profile"])
def test_a_policy_that_there_is_not_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """With those that there are."""
    [answer] = lines(monkeypatch, capsys, {"schema": True, name: "strictest"})

    assert f"its '{name}' is one of" in answer["error"]["message"]


def test_limits_are_those_of_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So that a schema can be tried against its settings."""
    schema = written(tmp_path, "s.json", SCHEMA)

    assert main(["check", schema, "--schema-limit", "properties=1"]) == 0
    assert main(["check", schema, "--schema-limit", "depth=1"]) == 1
    assert "--schema-limit depth=" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv",
    [[], ["s.json", "--jsonl"], ["--jsonl", "--strict"], ["--jsonl", "--policy", "reject"]],
)
def test_what_says_no_schema_or_two_is_a_wrong_command_line(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing that was said on it is left out in silence."""
    with pytest.raises(SystemExit) as stopped:
        main(["check", *argv])

    assert stopped.value.code == 2
    assert "--jsonl" in capsys.readouterr().err


def test_a_directory_without_a_tokenizer_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In words that say what is missing."""
    assert main(["check", written(tmp_path, "s.json", SCHEMA), "--tokenizer", str(tmp_path)]) == 1

    assert "there is no tokenizer in it" in capsys.readouterr().err
