"""How families spell the arguments of a call: one module for each style, and what it needs to read."""
