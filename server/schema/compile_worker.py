"""A process that compiles structural tags, and can be killed while it does: XGrammar's compiler cannot stop.

It is started with this file as its program, and imports nothing of ours. The first line that it reads is a
vocabulary, as XGrammar writes it; each line behind that is a structural tag:

    > {"vocab_type": 0, …}                           < {"fault": null}
    > {"type": "structural_tag", "format": …}        < {"fault": "EBNF lexer error …"}
"""

import json
import sys
from collections.abc import Iterable, Iterator

import xgrammar


def answers(lines: Iterable[str]) -> Iterator[str]:
    """One answer to each line."""
    lines = iter(lines)
    tokens = xgrammar.TokenizerInfo.deserialize_json(next(lines))
    # The engine's compiler remembers as well; a larger cache here would promise what it cannot keep.
    compiler = xgrammar.GrammarCompiler(tokens, max_threads=1, cache_limit_bytes=64 * 2**20)
    yield json.dumps({"fault": None})
    for line in lines:
        yield json.dumps({"fault": fault(line, compiler)})


def fault(tag: str, compiler: xgrammar.GrammarCompiler) -> str | None:
    """Why a structural tag cannot be compiled, in XGrammar's words."""
    try:
        compiler.compile_structural_tag(tag)
    except (RuntimeError, ValueError) as error:
        return str(error)
    return None


def main() -> None:
    for answer in answers(sys.stdin):
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
