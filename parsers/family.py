"""The record of a model family: what it writes, stated once."""
