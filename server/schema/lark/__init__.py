"""Lark grammars, which say what text a custom tool is called with."""
