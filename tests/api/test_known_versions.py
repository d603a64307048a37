"""Versions that are known not to load a model: a warning before a run, with its source."""

import pytest

from models.wrappers import known_versions
from models.wrappers.known_versions import version_notes

OLD = {"transformers": "5.1.0"}


@pytest.mark.parametrize(
    ("model_type", "name", "versions", "expected"),
    [
        ("qwen3_5", "/data/any", OLD, ["transformers 5.1.0: it does not know"]),
        ("qwen3_5_moe", "/data/any", OLD, ["transformers 5.1.0: it does not know"]),
        ("qwen3_5", "/data/any", {"transformers": "5.2.0"}, []),
        ("qwen3_5", "/data/any", {}, []),
        ("qwen3_vl", "/data/any", OLD, []),
        ("", "/data/any", OLD, []),
        ("qwen3_vl", "a/b", {"vllm": "0.10.2rc1+cpu"}, ["vllm 0.10.2rc1+cpu: it does not know"]),
        ("qwen3_vl", "a/b", {"vllm": "0.11.0"}, []),
        ("qwen3_5", "Qwen/Qwen3.5-4B", {"transformers": "5.3.0", "vllm": "0.18.0"}, ["transfor"]),
        ("qwen3_5", "Qwen/Qwen3.5-9B", {"transformers": "5.3.0", "vllm": "0.18.0"}, []),
        ("qwen3_5", "Qwen/Qwen3.5-4B", {"transformers": "5.4.0", "vllm": "0.18.0"}, []),
        ("qwen3_5_moe", "Hcompany/Holo4-35B-A3B", {"vllm": "0.27.1"}, ["vllm 0.27.1: Holo4 needs"]),
        ("qwen2_5_vl", "a/b", {"vllm": "0.9.1"}, ["vllm 0.9.1: max_pixels"]),
    ],
)
def test_a_version_that_is_known_to_be_bad_is_named(model_type, name, versions, expected):
    notes = version_notes(model_type, name, versions)
    assert len(notes) == len(expected)
    for note, start in zip(notes, expected, strict=True):
        assert note.startswith(f"warning: {start}")
        assert note.endswith(f", collected {known_versions.known()['collected']})")


def test_each_row_says_of_what_it_is_and_where_it_is_from():
    for row in known_versions.known()["rows"]:
        assert row["problem"] and row["source"] and row["packages"]
        assert row.keys() & {"model_types", "names"}
        assert all(name == name.casefold() for name in row.get("names", ()))
        for limits in row["packages"].values():
            assert limits.keys() <= {"from", "below"} and limits
