"""What vLLM is given on a CPU."""

import pytest
from torch import cpu

from server.engine.vllm import CPU_OPTIONS, LONG_PREFILL, cpu_options, fitting


@pytest.mark.parametrize(
    ("architecture", "bf16", "dtype"),
    [
        pytest.param("x86_64", True, None, id="as-the-model-says"),
        pytest.param("x86_64", False, "float32", id="no-bfloat16-arithmetic"),
        pytest.param("aarch64", False, None, id="another-architecture"),
    ],
)
def test_float32_is_the_default_only_where_bfloat16_would_be_slow(
    monkeypatch: pytest.MonkeyPatch, architecture: str, bf16: bool, dtype: str | None
) -> None:
    """The user's own `--dtype` goes over it, as over every default."""
    able = {"architecture": architecture, "avx512_bf16": bf16}
    monkeypatch.setattr(cpu, "get_capabilities", lambda: able)

    assert cpu_options() == {**CPU_OPTIONS, **({"dtype": dtype} if dtype else {})}


@pytest.mark.parametrize(("context", "piece"), [(None, LONG_PREFILL), (4_096, LONG_PREFILL), (128, 128)])
def test_no_prompt_is_read_in_pieces_longer_than_the_context(context: int | None, piece: int) -> None:
    """With a smaller context vLLM would not start."""
    options = {**CPU_OPTIONS, **({"max_model_len": context} if context else {})}

    assert fitting(options)["long_prefill_token_threshold"] == piece
