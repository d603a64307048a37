"""Several processes that torchrun started ask one model: who, notes, shares, logs and merging."""
