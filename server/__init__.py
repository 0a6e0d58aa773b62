"""The application: OpenAI's API in front, vLLM behind, and between them the path to checked calls."""
