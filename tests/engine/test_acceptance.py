"""The rule by which drafts are accepted: as the worker sets it up, it draws what single steps would draw."""

from collections import Counter

import numpy as np
import pytest
import torch
from vllm.platforms import current_platform
from vllm.triton_utils.dispatcher import register_kernels
from vllm.v1.sample.logits_processor import LogitsProcessors
from vllm.v1.sample.metadata import SamplingMetadata
from vllm.v1.sample.rejection_sampler import RejectionSampler
from vllm.v1.sample.sampler import Sampler
from vllm.v1.spec_decode.metadata import SpecDecodeMetadata

from server.engine.worker import EXPAND, expand

pytestmark = pytest.mark.engine

SEQUENCES = 20_000
PROBABILITIES = torch.tensor(
    [
        [0.50, 0.30, 0.15, 0.05, 0.0],
        [0.05, 0.20, 0.70, 0.05, 0.0],
        [0.00, 0.00, 0.25, 0.25, 0.5],
    ]
)
"""Of 5 tokens, at the places of two drafts and behind them. What is 0 is masked."""


def metadata(drafts: list[int]) -> SpecDecodeMetadata:
    """These drafts for every sequence."""
    each = len(drafts) + 1
    rows = torch.arange(SEQUENCES * each, dtype=torch.int32).view(SEQUENCES, each)
    ends = torch.arange(1, SEQUENCES + 1, dtype=torch.int32)
    return SpecDecodeMetadata(
        draft_token_ids=torch.tensor(drafts, dtype=torch.int32).repeat(SEQUENCES),
        num_draft_tokens=[len(drafts)] * SEQUENCES,
        cu_num_draft_tokens=ends * len(drafts),
        cu_num_sampled_tokens=ends * each,
        target_logits_indices=rows[:, :-1].flatten(),
        bonus_logits_indices=rows[:, -1].contiguous(),
        logits_indices=rows.flatten(),
    )


def sampling(*, temperature: float, top_k: int | None) -> SamplingMetadata:
    nothing = torch.zeros(SEQUENCES)
    greedy = temperature == 0
    return SamplingMetadata(
        temperature=None if greedy else torch.full((SEQUENCES,), temperature),
        all_greedy=greedy,
        all_random=not greedy,
        top_p=None,
        top_k=None if top_k is None else torch.full((SEQUENCES,), top_k, dtype=torch.int32),
        generators={},
        max_num_logprobs=None,
        no_penalties=True,
        prompt_token_ids=None,
        frequency_penalties=nothing,
        presence_penalties=nothing,
        repetition_penalties=nothing,
        output_token_ids=[],
        allowed_token_ids_mask=None,
        bad_words_token_ids={},
        logitsprocs=LogitsProcessors(),
    )


@pytest.fixture(autouse=True, scope="module")
def _kernels() -> None:
    """What vLLM's CPU worker registers, and then ours."""
    current_platform.register_triton_kernel_overrides()
    register_kernels({EXPAND: expand})


def drawn(drafts: list[int], parameters: SamplingMetadata) -> list[list[int]]:
    """What each sequence writes in the one step."""
    torch.manual_seed(0)
    sampler = RejectionSampler(Sampler(), None, torch.device("cpu"))
    logits = PROBABILITIES.log().repeat(SEQUENCES, 1)
    output = sampler(metadata(drafts), None, logits, parameters)
    tokens, _ = RejectionSampler.parse_output(output.sampled_token_ids, PROBABILITIES.shape[1])
    return list(tokens)


@pytest.mark.parametrize("drafts", [[0, 2], [3, 1], [1, 3]], ids=["likely", "unlikely", "other"])
@pytest.mark.parametrize(("temperature", "top_k"), [(1.0, None), (0.6, None), (1.5, 3)])
def test_each_token_behind_accepted_drafts_has_its_own_distribution(
    drafts: list[int], temperature: float, top_k: int | None
) -> None:
    """However likely a draft is: what was accepted, drawn in its place, or drawn behind it is as without."""
    weights = PROBABILITIES ** (1 / temperature)
    if top_k is not None:
        weights = torch.where(weights >= weights.topk(top_k).values[:, -1:], weights, 0)
    expected = (weights / weights.sum(dim=-1, keepdim=True)).numpy()
    answers = drawn(drafts, sampling(temperature=temperature, top_k=top_k))

    for place in range(3):
        reached = [answer for answer in answers if answer[:place] == drafts[:place]]
        assert all(len(answer) > place for answer in reached)
        counts = Counter(answer[place] for answer in reached)
        found = np.array([counts[token] / max(len(reached), 1) for token in range(5)])
        error = np.sqrt(expected[place] * (1 - expected[place]) / max(len(reached), 1))
        assert (np.abs(found - expected[place]) <= 4.5 * error + 1e-9).all() or not reached


@pytest.mark.parametrize(
    ("drafts", "answer"), [([0, 2], [0, 2, 4]), ([0, 1], [0, 2]), ([2, 2], [0])], ids=["all", "one", "none"]
)
def test_a_greedy_sequence_keeps_its_likeliest_tokens(drafts: list[int], answer: list[int]) -> None:
    """A draft is accepted where it is the likeliest token; the first that is not is replaced by it."""
    answers = drawn(drafts, sampling(temperature=0, top_k=None))

    assert {tuple(each) for each in answers} == {tuple(answer)}
