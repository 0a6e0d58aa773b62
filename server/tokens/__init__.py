"""Between text and token ids, both ways, as the model's tokenizer has it; messages and masks are no matter.

`vocabulary` encodes, decodes and keeps control tokens apart from text that spells them, `markers` finds those
that a family's parser is told of, and `reader` turns an engine's ids into the parser's events.
"""
