"""`strictcall doctor`: a model examined without running it."""
