"""From a request's tools and forms to a structural tag: what the model may write, whatever its prompt.

`constrain` makes the tag from the plans of schemas and from `forms` that clients write themselves, which
`dead_ends` searches for what could not go on. `unsupported` refuses, or describes, what no mask holds, and
`compiling` keeps from the engine what would take it long. `trial` tries values on a mask without a model.
"""
