"""Times servers that speak the API of OpenAI, over HTTP: `strictcall bench`, and what benchmarks build on."""
