"""What a user may set, and nothing of what it is for: it is read once, and passed.

`settings` is the table of all settings, `values` reads the text of one, and `sources` finds that text in
flags, environment and file.
"""
