"""The application: OpenAI's API in front, vLLM behind, and between them the path to checked calls.

A request comes in through `http` and a surface of `api`, which decodes it into a `request.Request`.
`answering` takes that down the path: `prompt` and `mask` make what `engine` is asked, `tokens` reads what it
writes. `startup` makes the `context` that all of them are given, from `config` and the model's files.
`docs/architecture.md` traces one request, and says what each part may know.
"""
