"""The vLLM child without a run around it: its environment, its interpreter, and `serve_args`."""

import sys

import pytest

from models.wrappers.vllm.arguments import deciding_options, serve_problems, serve_words
from models.wrappers.vllm.server import interpreter_problems, server_environment
from tests.support import fake_vllm

OURS = {"VLLM_API_KEY", "VLLM_NO_USAGE_STATS", "PYTHONSAFEPATH"}
SECRETS = """OPENAI_API_KEY ANTHROPIC_API_KEY WANDB_API_KEY AWS_SECRET_ACCESS_KEY GITHUB_TOKEN
    DB_PASSWORD api_key GOOGLE_APPLICATION_CREDENTIALS VLLM_S3_SECRET_KEY VLLM_HUB_TOKEN
    VLLM_DB_PASSWORD"""
FOR_THIS_PROCESS_ALONE = """RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK ROLE_RANK
    ROLE_NAME MASTER_ADDR MASTER_PORT TORCHELASTIC_RUN_ID VLLM_PYTHON"""
SETTINGS = """VLLM_CPU_KVCACHE_SPACE CUDA_VISIBLE_DEVICES HF_HUB_OFFLINE HF_HOME PATH
    TOKENIZERS_PARALLELISM VLLM_MAX_TOKENS_PER_EXPERT_FUSED_MOE OMP_NUM_THREADS
    VLLM_TOKENIZER_MODE VLLM_NUM_TOKENS HF_TOKEN HUGGING_FACE_HUB_TOKEN https_proxy"""


def test_settings_reach_the_server_and_neither_secrets_nor_what_is_meant_for_this_process():
    names = [*SECRETS.split(), *FOR_THIS_PROCESS_ALONE.split(), *SETTINGS.split()]
    environ = dict.fromkeys(names, "x")
    assert set(server_environment(environ, key="k")) == {*SETTINGS.split(), *OURS}


@pytest.mark.parametrize(("vllm_python", "remains"), [("/x/python", False), ("", True)])
def test_another_python_does_not_get_the_module_path_of_this_one(vllm_python, remains):
    environ = {"VLLM_PYTHON": vllm_python, "PYTHONPATH": "mine", "VLLM_API_KEY": "of-another"}
    got = server_environment(environ, key="k")
    assert (got.get("PYTHONPATH") == "mine") is remains
    assert got["PYTHONSAFEPATH"] == "1"  # nor the folder in which the run was started
    assert got["VLLM_API_KEY"] == "k"


def test_a_python_without_vllm_or_that_cannot_be_run_is_told_from_one_with_it(tmp_path):
    python = fake_vllm.install(tmp_path)
    assert interpreter_problems({"VLLM_PYTHON": str(python)}) == []
    [of_the_other] = interpreter_problems({"VLLM_PYTHON": str(python), "FAKE_VLLM": "absent"})
    assert "vLLM is not installed there" in of_the_other and "requirements/vllm.txt" in of_the_other
    [of_this_one] = interpreter_problems({})
    assert of_this_one.startswith(f"this program's own {sys.executable}: vLLM is not installed")
    assert "requirements/vllm.txt" in of_this_one and "VLLM_PYTHON=" in of_this_one
    python.write_text("#!/nowhere/python\n")
    for path in ("nowhere/python", str(python)):
        [problem] = interpreter_problems({"VLLM_PYTHON": path})
        assert problem.startswith(f"VLLM_PYTHON {path} cannot be run: ")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (["--max-num-seqs", "8"], ["--max-num-seqs", "8"]),
        (["--max-num-seqs", 8], ["--max-num-seqs", "8"]),
        (["--limit-mm-per-prompt", {"image": 1}], ["--limit-mm-per-prompt", '{"image": 1}']),
        ({"max-num-seqs": 8}, ["--max-num-seqs=8"]),
        ({"max_num_seqs": 8, "dtype": "float32"}, ["--max-num-seqs=8", "--dtype=float32"]),
        ({"--dtype": "float32"}, ["--dtype=float32"]),
        (
            {"enforce-eager": True, "enable-prefix-caching": False, "seed": None},
            ["--enforce-eager", "--no-enable-prefix-caching"],
        ),
        ({"limit-mm-per-prompt": {"image": 1}}, ['--limit-mm-per-prompt={"image": 1}']),
        ({"lora-modules": ["a=x", "b=y"]}, ["--lora-modules", "a=x", "b=y"]),
        ({"rope-theta": -1.5}, ["--rope-theta=-1.5"]),
        ({"hf_overrides.max_pixels": 5}, ["--hf-overrides.max_pixels=5"]),
        ({}, []),
    ],
)
def test_arguments_are_written_out(value, words):
    assert serve_words(value) == words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--max-num-seqs", "8", "-tp", "2", "-O3", "--seed", "-1"], []),
        (["--host", "0.0.0.0"], ['"--host": the program itself sets the server']),
        (["--hos=0.0.0.0"], ['"--hos": the program itself sets the server']),
        (
            ["--api_key", "x", "--port=1"],
            [
                '"--api-key": the program itself sets the server',
                '"--port": the program itself sets the server',
            ],
        ),
        (["--model", "x"], ['"--model": the checkpoint is model_path; leave it out']),
        (["--model-impl", "transformers"], []),
        (
            ["serve", "--seed", "1"],
            ['"serve" is not an option; the list must begin with one, like "--max-num-seqs"'],
        ),
    ],
)
def test_arguments_that_the_program_sets_itself_are_refused_shortened_too(words, message):
    problems = list(serve_problems(words))
    assert len(problems) == len(message)
    assert all(line.startswith(start) for line, start in zip(problems, message, strict=True))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (["--dtype", "float32"], ["--dtype=float32"], True),
        (["--dtype", "float32", "--seed", "1"], ["--seed", "1", "--dtype", "float32"], True),
        (["--max-num-seqs", "8"], ["-tp", "2", "--gpu_memory_utilization=0.5"], True),
        (["--enable-prefix-caching"], ["--no-enable-prefix-caching"], True),
        (["--dtype", "float32"], ["--dtype", "bfloat16"], False),
        ([], ["--quantization", "fp8"], False),
        ([], ["--an-option-nobody-here-knows"], False),
    ],
)
def test_options_of_speed_and_place_do_not_count_and_all_others_do(one, other, same):
    assert (deciding_options(one) == deciding_options(other)) is same
