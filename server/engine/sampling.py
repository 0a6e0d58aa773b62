"""How a request draws its tokens, with the model's own defaults filled in: the same for every engine.

drawn(SamplingParams(temperature=0.2), {"top_p": 0.9})     # {"temperature": 0.2, "top_p": 0.9}
model_defaults("/models/qwen")                             # {"top_p": 0.9}, of generation_config.json
"""

from collections.abc import Mapping
from typing import Any

from server.request import SamplingParams

FIELDS = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")
"""What a model's generation config may have a default for."""

LEAST_TOP_P = 1e-6
"""What stands for OpenAI's `top_p: 0`, the likeliest token alone, which vLLM does not take."""


def drawn(sampling: SamplingParams, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `FIELDS` that the request or else the model sets. `defaults` are the model's."""
    asked = {name: getattr(sampling, name) for name in FIELDS}
    found = {name: defaults.get(name) if value is None else value for name, value in asked.items()}
    if found["top_p"] == 0:
        found["top_p"] = LEAST_TOP_P
    return {name: value for name, value in found.items() if value is not None}


def model_defaults(model: str) -> dict[str, Any]:
    """Return what the generation config of a directory or hub name sets; none is no error."""
    from transformers import GenerationConfig

    try:
        config = GenerationConfig.from_pretrained(model).to_diff_dict()
    except OSError:
        return {}
    return {name: config[name] for name in FIELDS if config.get(name) is not None}
