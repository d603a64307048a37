"""`imp_type: "vllm"`: a checkpoint behind a server that this run starts."""
