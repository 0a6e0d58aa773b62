"""Whether what a mask lets through is right: answers of random logits, for schemas that people wrote.

    $ python benchmarks/walks.py --sample sample.jsonl.gz --tokenizer models/qwen3
    300 schemas, 20 answers each, a vocabulary of 151,669
    …

The sample has JSON lines with a `schema` each, as JSONSchemaBench has them. Every answer is written token by
token from logits of pure chance under the mask, and ends values where it may once it is long; one that does
not end is counted. It has to be JSON, and to pass the check, but for what the plan notes as
unmasked.
"""

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xgrammar
from transformers import AutoTokenizer

from server.config.settings import default_cache
from server.mask.forms import compact_tag
from server.schema.document import SchemaError
from server.schema.instance import NotJsonError, parse_json
from server.schema.plan import SchemaPlan, plan_schema
from server.startup.default_model import prepare

LONG = 60
"""Tokens after which an answer is pushed to its end."""
LONGEST = 600
"""Tokens after which an answer is given up."""
OPAQUE = frozenset({"anyOf", "oneOf", "contains", "unevaluatedItems", "unevaluatedProperties"})
"""Keywords whose errors do not tell which constraint inside was broken."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    info: xgrammar.TokenizerInfo
    tokens: tuple[bytes, ...]
    end: int
    closing: tuple[int, ...]
    """The ids of the tokens that only end values."""

    @classmethod
    def load(cls, folder: Path) -> "Vocabulary":
        info = xgrammar.TokenizerInfo.from_huggingface(AutoTokenizer.from_pretrained(folder))
        tokens = tuple(info.decoded_vocab)
        ends = [id for id, token in enumerate(tokens) if token and not token.strip(b'"]}')]
        return cls(info, tokens, info.stop_token_ids[0], tuple(ends))


def pick(
    row: "np.ndarray[Any, np.dtype[np.int32]]",
    vocabulary: Vocabulary,
    chance: np.random.Generator,
    *,
    is_long: bool,
) -> int:
    """The token of the largest logit of those the mask allows: each is as likely as any other."""
    if is_long:
        ending = [vocabulary.end, *vocabulary.closing]
        closing = [token for token in ending if row[token >> 5] >> (token & 31) & 1]
        if closing:
            return int(chance.choice(closing))
    words = row.nonzero()[0]
    bits = np.unpackbits(row[words].view(np.uint8), bitorder="little").nonzero()[0]
    chosen = int(chance.choice(bits))
    return int(words[chosen >> 5]) * 32 + (chosen & 31)


def walk(mask: xgrammar.CompiledGrammar, vocabulary: Vocabulary, chance: np.random.Generator) -> str | None:
    """An answer that the mask lets through, or None if it does not end in time."""
    matcher = xgrammar.GrammarMatcher(mask)
    size = len(vocabulary.tokens)
    bitmask = xgrammar.allocate_token_bitmask(1, size)
    row = bitmask.numpy()[0]
    written: list[bytes] = []
    for _ in range(LONGEST):
        matcher.fill_next_token_bitmask(bitmask)
        token = pick(row, vocabulary, chance, is_long=len(written) > LONG)
        if not matcher.accept_token(token):
            raise ValueError(f"a dead end after {b''.join(written)!r}")
        if token == vocabulary.end:
            return b"".join(written).decode()
        written.append(vocabulary.tokens[token])
    return None


def verdict(plan: SchemaPlan, text: str | None) -> tuple[str, str]:
    """What the answer is counted as, and what is wrong with it."""
    if text is None:
        return "not ended", ""
    noted = {entry.keyword for entry in plan.unmasked}
    try:
        errors = plan.validator.errors(parse_json(text))
    except NotJsonError as refusal:
        is_noted = refusal.error.keyword in noted - {"json"}
        return ("noted", "") if is_noted else ("not JSON", f"{refusal}: {text}")
    if noted - {"duplicate_key"}:
        noted |= OPAQUE
    unexplained = [error for error in errors if error.keyword not in noted]
    if unexplained:
        return "invalid", f"{unexplained[0]}: {text}"
    return ("noted" if errors else "valid"), ""


def sample(path: Path, count: int) -> Iterator[tuple[int, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        schemas = [json.loads(line)["schema"] for line in lines]
    yield from list(enumerate(schemas))[:: max(1, len(schemas) // count)][:count]


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--sample", type=Path, required=True, help="gzipped JSON lines with a schema each")
    options.add_argument("--tokenizer", type=Path, help="a folder; the default model's if not given")
    options.add_argument("--schemas", type=int, default=300)
    options.add_argument("--answers", type=int, default=20, help="for each schema")
    options.add_argument("--json", type=Path, help="also write the figures to this file")
    given = options.parse_args()
    vocabulary = Vocabulary.load(given.tokenizer or prepare(default_cache() / "models", print))
    size = len(vocabulary.tokens)
    print(f"{given.schemas} schemas, {given.answers} answers each, a vocabulary of {size:,}")
    compiler = xgrammar.GrammarCompiler(vocabulary.info, max_threads=1)
    counts: Counter[str] = Counter()
    for number, schema in sample(given.sample, given.schemas):
        try:
            plan = plan_schema(schema, closed=False)
        except SchemaError as refusal:
            counts["schemas refused"] += 1
            print(f"schema {number} is refused: {refusal}", file=sys.stderr)
            continue
        mask = compiler.compile_structural_tag(compact_tag(plan.format))
        chance = np.random.default_rng(number)
        for _ in range(given.answers):
            kind, fault = verdict(plan, walk(mask, vocabulary, chance))
            counts[kind] += 1
            if fault:
                print(f"schema {number}: {kind}: {fault}", file=sys.stderr)
    for kind, count in counts.most_common():
        print(f"{count:>6}  {kind}")
    if given.json:
        given.json.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    sys.exit(bool(counts["invalid"] or counts["not JSON"]))


if __name__ == "__main__":
    main()
