"""From a model's name to a server that answers, and to its end.

`locate` finds the model, which `default_model` makes ready if none is named; `families` says how it writes
calls; `start` loads the engine and makes the `Context`; `serving` runs the application until it is told to
stop. It knows the model's files and the engine's flags, and nothing of what requests ask for.
"""
