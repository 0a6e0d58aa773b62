"""How much a server takes on, and for how long; it knows requests only as something that takes a place.

`admission` counts who spends model time and who waits for it, and `time_limit` ends what takes too long.
"""
