"""`--model-glob`: a model entry for each checkpoint of a training run."""

import pytest

from tests.support.runs import PROJECT, environment, run_process
from utils.config.checkpoints import enter_checkpoints

ENTRY = {"imp_type": "transformers", "generate_cfg": {"max_new_tokens": 8}}


@pytest.fixture
def runs(tmp_path):
    """Checkpoints of two training runs, and a file beside them."""
    for name in ("one/step-900", "one/step-1000", "one/step-50", "two/step-7/hf", "two/step-70/hf"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "one/step-9.log").touch()
    return tmp_path


def entered(config, pattern, *selected):
    problems = enter_checkpoints(config, str(pattern), selected)
    return problems, config["model"]


def test_each_folder_that_fits_is_a_model_in_the_order_of_its_steps(runs):
    problems, models = entered({"model": {"m": dict(ENTRY)}}, runs / "one/step-*")
    assert problems == []
    assert models == {
        f"m-step-{step}": {**ENTRY, "model_path": str(runs / f"one/step-{step}")}
        for step in (50, 900, 1000)
    }
    assert [*models] == ["m-step-50", "m-step-900", "m-step-1000"]


def test_folders_of_one_name_are_told_apart_by_the_path_before_it(runs):
    _, models = entered({"model": {"m": dict(ENTRY)}}, runs / "two/*/hf")
    assert [*models] == ["m-step-7-hf", "m-step-70-hf"]


def test_of_several_entries_the_one_that_is_named_has_the_settings(runs):
    config = {"model": {"a": dict(ENTRY), "b": {**ENTRY, "imp_type": "vllm"}}}
    problems, models = entered(config, runs / "one/step-9*", "b")
    assert (problems, [*models], models["b-step-900"]["imp_type"]) == ([], ["b-step-900"], "vllm")


@pytest.mark.parametrize(
    ("models", "pattern", "selected", "problem"),
    [
        ({"a": ENTRY, "b": ENTRY}, "step-*", (), "several. Name one of a, b"),
        ({"a": ENTRY}, "step-*", ("c",), "--model names c. Name one of a"),
        ({"a": ENTRY}, "epoch-*", (), "epoch-*: no folder has such a name"),
        (
            {"a": {"imp_type": "openai"}},
            "step-*",
            (),
            'model "a" has "imp_type": "openai"; expected "transformers" or "vllm"',
        ),
    ],
)
def test_what_no_checkpoint_can_follow_from_is_one_message(
    runs, models, pattern, selected, problem
):
    config = {"model": dict(models)}
    [message] = enter_checkpoints(config, str(runs / "one" / pattern), selected)
    assert message.startswith("--model-glob")
    assert message.endswith(problem) or problem in message
    assert config == {"model": models}


def test_the_command_line_checks_every_checkpoint(runs, tmp_path):
    config = tmp_path / "c.json"
    config.write_text(
        '{"model": {"m": {"imp_type": "transformers"}}, "data": {"GUIElementGrounding": {}}}'
    )
    ran = run_process(
        "evaluate.py",
        *("--config", config, "--model-glob", runs / "one/step-*", "--check"),
        cwd=tmp_path,
        env=environment(LMUData=PROJECT / "sample_data"),
    )
    for step in (50, 900, 1000):
        assert f'm-step-{step}"' in ran.output
