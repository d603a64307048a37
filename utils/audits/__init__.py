"""What stands behind a score: is the frame right, are letters read right, where are the misses?

Each audit is a collector (`utils.analysis`): it sees the stored replies, asks nobody, and keeps
some hundred bytes of a sample. `coordinate_audit` and `anatomy` belong to L2, `parse_audit` and
`letter_bias` to L1; `readings`, `option_replies` and `rows` are what they are made of.
"""
