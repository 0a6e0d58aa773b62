"""Languages of text as finite automata: what strings, keys and numbers may be."""
