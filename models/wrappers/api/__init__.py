"""`imp_type: "openai"`: a model behind an OpenAI-style server."""
