"""The application: OpenAI's API in front, vLLM behind, and the path from a request to checked calls between."""
