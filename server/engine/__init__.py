"""What generates tokens: the protocol, vLLM in process, and a scripted engine for tests."""
