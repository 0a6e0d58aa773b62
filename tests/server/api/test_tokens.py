"""`/tokenize` and `/detokenize`, on the default model's own tokenizer."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from parsers.registry import find
from server.app import create_app
from server.config.settings import Settings, default_cache
from server.prompt.template import choose_template
from server.startup.default_model import prepare
from server.tokens.vocabulary import Vocabulary
from tests.server.shell import client_of, make_context

TOOL = {"type": "function", "function": {"name": "get_zebra", "parameters": {"type": "object"}}}
HELLO = [{"role": "user", "content": "Hi"}]


@pytest.fixture(name="vocabulary", scope="module")
def _vocabulary() -> Vocabulary:
    return Vocabulary.load(str(prepare(default_cache() / "models", lambda line: None)))


@pytest.fixture(name="client")
async def _client(vocabulary: Vocabulary) -> AsyncIterator[httpx2.AsyncClient]:
    template = choose_template(vocabulary.chat_template, find("hermes"))
    context = make_context(Settings(), vocabulary=vocabulary, template=template)
    async with client_of(create_app(context)) as client:
        yield client


async def test_a_text_is_counted_and_listed(client: httpx2.AsyncClient) -> None:
    """VLLM's form: count, limit, ids; the pieces of text only if asked for."""
    answer = (await client.post("/tokenize", json={"prompt": "Hello<|im_end|>"})).json()

    assert answer == {"count": 2, "max_model_len": 2048, "tokens": [19556, 2], "token_strs": None}


async def test_the_pieces_are_shown_when_asked_for(client: httpx2.AsyncClient) -> None:
    """`return_token_strs` adds the text of each token, control tokens included."""
    body = {"prompt": "Hello<|im_end|>", "return_token_strs": True, "model": "small"}
    answer = (await client.post("/tokenize", json=body)).json()

    assert answer["token_strs"] == ["Hello", "<|im_end|>"]


async def test_a_conversation_is_counted_as_the_model_would_read_it(
    client: httpx2.AsyncClient, vocabulary: Vocabulary
) -> None:
    """Template, tools and the opening of the answer are all in the count."""
    answer = (await client.post("/tokenize", json={"messages": HELLO, "tools": [TOOL]})).json()

    text = vocabulary.decode(answer["tokens"])
    assert answer["count"] == len(answer["tokens"])
    assert "get_zebra" in text
    assert "<|im_start|>user\nHi<|im_end|>" in text
    assert text.endswith("<|im_start|>assistant\n")


async def test_tokens_become_text_again(client: httpx2.AsyncClient) -> None:
    """`/detokenize` is the way back, exact for any text."""
    text = "Zürich 🦓 <|im_end|>\n"
    tokens = (await client.post("/tokenize", json={"prompt": text})).json()["tokens"]

    answer = (await client.post("/detokenize", json={"tokens": tokens})).json()

    assert answer == {"prompt": text}


FAULTS: list[tuple[str, Any, int, str, str | None]] = [
    ("/tokenize", {}, 400, "missing_required_parameter", "messages"),
    ("/tokenize", {"prompt": 5}, 400, "invalid_type", "prompt"),
    ("/tokenize", [], 400, "invalid_type", None),
    ("/tokenize", {"messages": [{"role": "user"}]}, 400, "missing_required_parameter", "messages[0].content"),
    ("/tokenize", {"prompt": "a", "model": "gpt-4o"}, 404, "model_not_found", "model"),
    ("/tokenize", {"messages": HELLO, "model": "gpt-4o"}, 404, "model_not_found", "model"),
    ("/detokenize", {"tokens": [-1]}, 400, "integer_below_min_value", "tokens[0]"),
    ("/detokenize", {"tokens": [True]}, 400, "invalid_type", "tokens[0]"),
    ("/detokenize", {"tokens": [1], "model": "gpt-4o"}, 404, "model_not_found", "model"),
]


@pytest.mark.parametrize(("path", "body", "status", "code", "param"), FAULTS)
async def test_a_fault_is_named_by_its_place(
    path: str, body: Any, status: int, code: str, param: str | None, client: httpx2.AsyncClient
) -> None:
    """These endpoints refuse as chat does."""
    response = await client.post(path, json=body)

    error = response.json()["error"]
    assert (response.status_code, error["code"], error["param"]) == (status, code, param)


async def test_a_token_that_does_not_exist_is_refused_by_its_place(client: httpx2.AsyncClient) -> None:
    """No text is made up for it."""
    response = await client.post("/detokenize", json={"tokens": [1, 99_999_999]})

    assert response.status_code == 400
    assert response.json()["error"]["param"] == "tokens[1]"
    assert "there is no token 99999999" in response.json()["error"]["message"]
