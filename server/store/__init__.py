"""Where responses are kept between requests: texts with an owner and an age, whatever is in them.

`responses` is the protocol and the store in memory, `file` the one that front ends share, and `open` chooses.
"""
