"""Several processes that torchrun started ask one model: who, notes, signs of life, shares, logs."""
