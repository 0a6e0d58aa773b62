"""From messages and tools to a prompt's token ids; it knows templates, and neither masks nor HTTP.

At start, `traits` and `tool_places` find out what a `template` can do, and `renderer` chooses what writes
prompts: a `template`, one with the tools told in words (`tool_prompt`), or `harmony`. For a request, `render`
has `conversation` make the turns that it takes, with ids as `call_ids` has them, `thinking` turn reasoning on
or off, and `placeholders` keep control tokens out of text. `rehearsal` shows what of a conversation arrives.
"""
