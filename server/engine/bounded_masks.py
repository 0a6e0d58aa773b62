"""Ends a request whose mask becomes slow, before all others have to wait for it.

    grammar = BoundedGrammar.of(grammar, given_up=given_up.add)
    grammar.fill_bitmask(masks, row)                # counted
    grammar.accept_tokens(request_id, [28])         # False once it took more than it may: the request ends

A grammar may read the same text in ever more ways, as `list ::= "ab" | list list` does; each mask then takes
longer than the one before it. Masks are filled for everybody between two steps of the model, so that one such
request would slow down every stream.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Self

from torch import Tensor
from vllm.v1.structured_output.backend_xgrammar import XgrammarGrammar

FREE_SECONDS = 1.0
"""Of a processor, for a whole answer: a large grammar takes most of its time for its first masks."""

TOKEN_SECONDS = 0.005
"""That each token adds. The masks of real tools take less than a hundredth of it."""


def allowed(tokens: int) -> float:
    """Seconds that the masks of an answer of so many tokens may have taken."""
    return FREE_SECONDS + TOKEN_SECONDS * tokens


@dataclass
class BoundedGrammar(XgrammarGrammar):
    """A request's grammar that counts the seconds it takes, and fails when they are too many."""

    given_up: Callable[[str], None] = lambda _: None
    """Told of the request that ends."""
    spent: float = 0.0

    @classmethod
    def of(cls, grammar: XgrammarGrammar, *, given_up: Callable[[str], None]) -> Self:
        made = {each.name: getattr(grammar, each.name) for each in fields(grammar) if each.init}
        return cls(**made, given_up=given_up)

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        accepted: bool = self._timed(super().accept_tokens, request_id, tokens)
        if accepted and self.spent > allowed(self.num_processed_tokens) and not self.is_terminated():
            self.given_up(request_id)
            return False
        return accepted

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        valid: list[int] = self._timed(super().validate_tokens, tokens)
        return valid

    def fill_bitmask(self, bitmask: Tensor, idx: int) -> None:
        self._timed(super().fill_bitmask, bitmask, idx)

    def _timed(self, work: Callable[..., Any], *arguments: Any) -> Any:
        # Of this thread: on a busy machine the time that others have would be counted.
        began = time.thread_time()
        done = work(*arguments)
        self.spent += time.thread_time() - began
        return done
