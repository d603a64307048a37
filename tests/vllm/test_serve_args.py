"""`serve_args`: how they become a command line, what is refused, what counts as the answer's."""

import pytest

from models.wrappers.vllm.arguments import deciding_options, serve_problems, serve_words


@pytest.mark.parametrize(("value", "words"), [
    (["--max-num-seqs", "8"], ["--max-num-seqs", "8"]), (["--max-num-seqs", 8], ["--max-num-seqs", "8"]),
    (["--limit-mm-per-prompt", {"image": 1}], ["--limit-mm-per-prompt", '{"image": 1}']),
    ({"max-num-seqs": 8}, ["--max-num-seqs=8"]),
    ({"max_num_seqs": 8, "dtype": "float32"}, ["--max-num-seqs=8", "--dtype=float32"]),
    ({"--dtype": "float32"}, ["--dtype=float32"]),
    ({"enforce-eager": True, "enable-prefix-caching": False, "seed": None},
     ["--enforce-eager", "--no-enable-prefix-caching"]),
    ({"limit-mm-per-prompt": {"image": 1}}, ['--limit-mm-per-prompt={"image": 1}']),
    ({"lora-modules": ["a=x", "b=y"]}, ["--lora-modules", "a=x", "b=y"]),
    ({"rope-theta": -1.5}, ["--rope-theta=-1.5"]),
    ({"hf_overrides.max_pixels": 5}, ["--hf-overrides.max_pixels=5"]), ({}, []),
])  # fmt: skip
def test_arguments_are_written_out(value, words):
    assert serve_words(value) == words


@pytest.mark.parametrize(("words", "said"), [
    (["--max-num-seqs", "8", "-tp", "2", "-O3", "--seed", "-1"], []),
    (["--host", "0.0.0.0"], ['"--host": the program sets address']),
    (["--hos=0.0.0.0"], ['"--hos": the program sets address']),
    (["--api_key", "x", "--port=1"], [
        '"--api-key": the program sets address',
        '"--port": the program sets address',
    ]),
    (["--model", "x"], ['"--model": the checkpoint is model_path; leave it out']),
    (["--model-impl", "transformers"], []),
    (["serve", "--seed", "1"], [
        '"serve" is no option; the list must begin with one, like "--max-num-seqs"'
    ]),
])  # fmt: skip
def test_arguments_that_the_program_sets_itself_are_refused_shortened_too(words, said):
    found = list(serve_problems(words))
    assert len(found) == len(said)
    assert all(line.startswith(start) for line, start in zip(found, said, strict=True))


@pytest.mark.parametrize(("one", "other", "same"), [
    (["--dtype", "float32"], ["--dtype=float32"], True),
    (["--dtype", "float32", "--seed", "1"], ["--seed", "1", "--dtype", "float32"], True),
    (["--max-num-seqs", "8"], ["-tp", "2", "--gpu_memory_utilization=0.5"], True),
    (["--enable-prefix-caching"], ["--no-enable-prefix-caching"], True),
    (["--dtype", "float32"], ["--dtype", "bfloat16"], False), ([], ["--quantization", "fp8"], False),
    ([], ["--an-option-nobody-here-knows"], False),
])  # fmt: skip
def test_options_of_speed_and_place_do_not_count_and_all_others_do(one, other, same):
    assert (deciding_options(one) == deciding_options(other)) is same
