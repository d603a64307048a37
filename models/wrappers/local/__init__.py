"""`imp_type: "transformers"`: a checkpoint in this process."""
