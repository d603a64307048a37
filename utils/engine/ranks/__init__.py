"""Several processes that torchrun started ask one model: who, notes, shards, logs and merging."""
