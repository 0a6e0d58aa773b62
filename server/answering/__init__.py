"""The path of one request, from the internal `Request` to checked steps; nothing here knows HTTP or a body.

`answer` is the way in. `check` refuses what it can, `attempt` renders and constrains. `choice` goes from
attempt to attempt: `slices` takes the engine's output in turns, `sequence` reads it through `stop` and
`validate`, and `repair` makes the conversation of the next attempt. `merge` brings the choices together,
`verdict` says what held the answer to its schemas, and `observe` tells metrics and log what became of it.
"""
