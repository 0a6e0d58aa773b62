"""How Hypothesis runs: without deadlines, which would time the machine and not the code."""

from hypothesis import settings

settings.register_profile("strictcall", deadline=None)
settings.load_profile("strictcall")
