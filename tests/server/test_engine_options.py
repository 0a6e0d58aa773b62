"""What vLLM is given on a CPU."""

import pytest
from torch import cpu

from server.engine.vllm import CPU_OPTIONS, cpu_options


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
