"""From the values of a schema to the grammar of their text, as XGrammar's EBNF."""
