"""The families that are built in: `find("hermes")` gives the record of `parsers/families/hermes.py`."""

from parsers.families.apertus import APERTUS
from parsers.families.apriel import APRIEL
from parsers.families.cohere_command import COHERE_COMMAND
from parsers.families.deepseek_v3 import DEEPSEEK_V3
from parsers.families.deepseek_v4 import DEEPSEEK_V4
from parsers.families.deepseek_v31 import DEEPSEEK_V31
from parsers.families.deepseek_v32 import DEEPSEEK_V32
from parsers.families.ernie45 import ERNIE45
from parsers.families.functiongemma import FUNCTIONGEMMA
from parsers.families.gemma4 import GEMMA4
from parsers.families.generic import GENERIC
from parsers.families.gigachat3 import GIGACHAT3
from parsers.families.glm45 import GLM45
from parsers.families.glm47 import GLM47
from parsers.families.gpt_oss import GPT_OSS
from parsers.families.granite3 import GRANITE3
from parsers.families.granite4 import GRANITE4
from parsers.families.hermes import HERMES
from parsers.families.hunyuan_a13b import HUNYUAN_A13B
from parsers.families.hy3 import HY3
from parsers.families.internlm2 import INTERNLM2
from parsers.families.kimi_k2 import KIMI_K2
from parsers.families.kimi_k3 import KIMI_K3
from parsers.families.lfm2 import LFM2
from parsers.families.llama3_json import LLAMA3_JSON
from parsers.families.llama4_pythonic import LLAMA4_PYTHONIC
from parsers.families.minimax_m1 import MINIMAX_M1
from parsers.families.minimax_m2 import MINIMAX_M2
from parsers.families.minimax_m3 import MINIMAX_M3
from parsers.families.mistral_v3 import MISTRAL_V3
from parsers.families.mistral_v11 import MISTRAL_V11
from parsers.families.mistral_v13 import MISTRAL_V13
from parsers.families.nemotron_nano_v2 import NEMOTRON_NANO_V2
from parsers.families.olmo3 import OLMO3
from parsers.families.phi4_mini import PHI4_MINI
from parsers.families.qwen3_coder import QWEN3_CODER
from parsers.families.reka import REKA
from parsers.families.seed_oss import SEED_OSS
from parsers.families.step3 import STEP3
from parsers.families.step35 import STEP35
from parsers.families.xlam import XLAM
from parsers.family import Family

FAMILIES: tuple[Family, ...] = (
    DEEPSEEK_V4,
    DEEPSEEK_V32,
    DEEPSEEK_V3,
    DEEPSEEK_V31,
    MISTRAL_V11,
    MISTRAL_V13,
    MISTRAL_V3,
    KIMI_K2,
    KIMI_K3,
    APERTUS,
    GPT_OSS,
    GEMMA4,
    GRANITE3,
    GRANITE4,
    MINIMAX_M2,
    MINIMAX_M3,
    STEP3,
    SEED_OSS,
    STEP35,
    QWEN3_CODER,
    GLM47,
    GLM45,
    MINIMAX_M1,
    APRIEL,
    HUNYUAN_A13B,
    HY3,
    NEMOTRON_NANO_V2,
    PHI4_MINI,
    LFM2,
    COHERE_COMMAND,
    INTERNLM2,
    FUNCTIONGEMMA,
    OLMO3,
    GIGACHAT3,
    XLAM,
    LLAMA4_PYTHONIC,
    LLAMA3_JSON,
    ERNIE45,
    REKA,
    HERMES,
    GENERIC,
)
"""The most specific first: a model is of the first family of which its chat template spells a sign."""


class UnknownFamilyError(LookupError):
    """No family has this name. The message lists those that exist."""

    def __init__(self, name: str) -> None:
        known = ", ".join(family.name for family in FAMILIES)
        super().__init__(f"There is no model family '{name}'. The families are: {known}.")
        self.name = name


def find(name: str) -> Family:
    """The family called `name`. Raises `UnknownFamilyError`."""
    for family in FAMILIES:
        if family.name == name:
            return family
    raise UnknownFamilyError(name)
