"""JSON Schema: what a mask can hold of it, and what is checked afterwards."""
