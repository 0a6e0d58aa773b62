"""`/v1/messages`: a decoder into the internal request and encoders of the path's steps."""
