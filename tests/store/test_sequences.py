"""Random sequences of commands come to what they must; `tools.sequences` plays more of them."""

from tools.sequences import Sequences


def test_random_sequences_of_commands_come_to_what_they_must(tmp_path):
    sequences = Sequences(tmp_path)
    for seed in (1, 2, 3):
        sequences.play(seed)
    assert not sequences.differences, "\n\n".join(sequences.differences)
    assert sequences.checks > 10
