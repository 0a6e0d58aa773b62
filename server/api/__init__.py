"""One module per HTTP surface: a decoder into the internal request and an encoder from the checked events."""
