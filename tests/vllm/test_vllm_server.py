"""The vLLM child without a run around it: its environment, its port, proxies."""

import os

import pytest

from models.wrappers.vllm.server import free_port, interpreter_problems, server_environment
from models.wrappers.vllm.wrapper import _ask_directly
from tests.support import fake_vllm

BASE = {"PATH": "/bin", "HOME": "/h"}


def passed_on(environ, needs_hub=False):
    got = server_environment({**BASE, **environ}, key="thekey", needs_hub=needs_hub)
    ours = ("VLLM_API_KEY", "VLLM_NO_USAGE_STATS", "PYTHONSAFEPATH")
    return {name: value for name, value in got.items() if name not in ours and name not in BASE}


@pytest.mark.parametrize("name", [
    "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "WANDB_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN",
    "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "MYKEY", "api_key",
    "GOOGLE_APPLICATION_CREDENTIALS", "VLLM_S3_SECRET_KEY", "VLLM_HUB_TOKEN", "VLLM_DB_PASSWORD",
])  # fmt: skip
def test_secrets_of_the_run_do_not_reach_the_server(name):
    assert passed_on({name: "precious"}) == {}


@pytest.mark.parametrize("name", [
    "VLLM_CPU_KVCACHE_SPACE", "CUDA_VISIBLE_DEVICES", "HF_HUB_OFFLINE", "HF_HOME",
    "TOKENIZERS_PARALLELISM", "VLLM_MAX_TOKENS_PER_EXPERT_FUSED_MOE", "OMP_NUM_THREADS",
    "VLLM_TOKENIZER_MODE", "VLLM_NUM_TOKENS",
])  # fmt: skip
def test_settings_do(name):
    assert passed_on({name: "1"}) == {name: "1"}


@pytest.mark.parametrize("name", [
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK", "ROLE_NAME",
    "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "VLLM_PYTHON",
])  # fmt: skip
def test_what_is_meant_for_this_process_alone_does_not(name):
    assert passed_on({name: "1"}) == {}


def test_a_checkpoint_of_the_hub_keeps_its_token_and_the_proxy():
    environ = {"HF_TOKEN": "t", "https_proxy": "http://me:pw@proxy:1", "OPENAI_API_KEY": "k"}
    assert set(passed_on(environ, needs_hub=True)) == {"HF_TOKEN", "https_proxy"}
    assert passed_on(environ) == {}


def test_the_key_goes_through_the_environment():
    environ = {"VLLM_API_KEY": "of-somebody-else"}
    assert server_environment(environ, key="k", needs_hub=False)["VLLM_API_KEY"] == "k"


@pytest.mark.parametrize(("vllm_python", "kept"), [("/x/python", False), ("", True)])
def test_another_python_does_not_get_the_module_path_of_this_one(vllm_python, kept):
    environ = {"VLLM_PYTHON": vllm_python, "PYTHONPATH": "mine"}
    got = server_environment(environ, key="k", needs_hub=False)
    assert (got.get("PYTHONPATH") == "mine") is kept
    assert got["PYTHONSAFEPATH"] == "1"  # nor the folder in which the run was started


def test_a_port_that_is_taken_is_not_chosen(monkeypatch):
    import socket

    with socket.socket() as taken:
        port = free_port()
        taken.bind(("127.0.0.1", port))
        monkeypatch.setattr("models.wrappers.vllm.server._PORTS", range(port, port + 2))
        assert free_port() == port + 1


@pytest.mark.parametrize(("before", "after"), [
    ({}, {"NO_PROXY": "127.0.0.1"}),
    ({"NO_PROXY": "a.b"}, {"NO_PROXY": "a.b,127.0.0.1"}),
    ({"NO_PROXY": "*"}, {"NO_PROXY": "*"}),
    ({"NO_PROXY": "127.0.0.1", "no_proxy": ""}, {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}),
])  # fmt: skip
def test_a_proxy_is_not_asked_for_the_server_on_this_machine(before, after, monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "")  # so that it is put back afterwards
        monkeypatch.delenv(name)
    for name, value in before.items():
        monkeypatch.setenv(name, value)
    _ask_directly()
    assert {
        name: os.environ[name] for name in ("NO_PROXY", "no_proxy") if name in os.environ
    } == after


def test_a_python_without_vllm_is_told_from_one_with_it(tmp_path):
    python = str(fake_vllm.install(tmp_path))
    assert interpreter_problems({"VLLM_PYTHON": python}) == []
    [problem] = interpreter_problems({"VLLM_PYTHON": python, "FAKE_VLLM": "absent"})
    assert "vLLM is not installed there" in problem and "requirements/vllm.txt" in problem


def test_a_python_that_does_not_exist_is_named():
    [problem] = interpreter_problems({"VLLM_PYTHON": "nowhere/python"})
    assert problem.startswith("VLLM_PYTHON nowhere/python: no such program")


def test_without_vllm_beside_this_program_the_user_is_told_how_to_get_it():
    [problem] = interpreter_problems({})
    assert "requirements/vllm.txt" in problem and "VLLM_PYTHON=" in problem
