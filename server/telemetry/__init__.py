"""What a server tells those who run it, in a closed set of words: never what a user or a model wrote.

`metrics` has every metric, `labels` the values of their labels, `logs` the form of the log, and `tracing` the
spans. When they are told is for the parts that do the work.
"""
