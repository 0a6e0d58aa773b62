"""What commands share: how they read what they are given, what they show, and how they fail.

It knows no model, no engine and no HTTP. `terminal` has progress and failure, `files` reads what a command
is given, `reading` shows what was read of an answer, and `greeting` is what a ready server says.
"""
