"""The subcommands of `strictcall`, one module each.

A module has `run(argv) -> int`, which is given what stands after its name and returns the exit code, and
imports nothing slow before `run` is called. `server.main.COMMANDS` lists them.
"""
