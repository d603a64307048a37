"""Runs without a config file: `--endpoint`, `--checkpoint`, and the config that they stand for."""

import json
import re

import pytest

import evaluate
import models
from models.recipes import all_recipes
from tests.support.mock_server import Reply
from tests.support.stage import L1, L2
from utils import PROJECT

SERVED = "Qwen/Qwen3-VL-8B-Instruct"


@pytest.fixture
def served(staged):
    """A stage whose server offers some models."""

    def make(*names):
        stage = staged(answer=lambda _: Reply('{"point_2d": [200, 150]}'))
        stage.server.models = list(names)
        return stage

    return make


def typed(stage, *arguments):
    """A run of this stage that names no config."""
    before = len(stage.server.requests)
    result = evaluate_typed(stage, *arguments)
    return result, stage.server.requests[before:]


def evaluate_typed(stage, *arguments, work_dir=True):
    from tests.support.runs import evaluate as run

    options = ("--work-dir", stage.work_dir, *arguments) if work_dir else arguments
    return run(*options, cwd=stage.home, env=stage._env(None))


def printed_config(stage, *arguments):
    result = evaluate_typed(stage, *arguments, "--print-config")
    assert result.code == 0, result.output
    return json.loads(result.stdout)


def bodies(requests):
    return sorted(json.dumps(request.body, sort_keys=True) for request in requests)


def test_a_typed_run_sends_what_the_config_sends_that_it_stands_for(served):
    stage = served(SERVED)
    arguments = ("--endpoint", stage.server.url, "--data", "L2")
    config = printed_config(stage, *arguments)
    assert config == {
        "model": {
            "Qwen3-VL-8B-Instruct": {
                "recipe": "qwen3_vl",
                "model_path": f"{stage.server.url}?model={SERVED}",
            }
        },
        "data": {L2: {}},
    }
    result, requests = typed(stage, *arguments)
    assert result.code == 0, result.output
    assert f"model: {SERVED}, the only one on the server" in result.stdout
    assert "recipe: qwen3_vl, as the model is called Qwen3-VL-8B-Instruct" in result.stdout
    path = stage.config(json.dumps(config))
    again = stage.run("--config", path, "--work-dir", stage.home / "other")
    assert bodies(again.requests) == bodies(requests)
    assert len(requests) == 6
    reused = stage.run("--config", path, "--work-dir", stage.work_dir)
    assert reused.requests == []


def test_levels_limits_and_labels_go_with_it(served):
    stage = served(SERVED)
    arguments = ("--endpoint", stage.server.url, "--data", "L1", "L2", "--limit", "2")
    result, requests = typed(stage, *arguments, "--recipe", "qwen3_vl")
    assert result.code == 0, result.output
    assert len(requests) == 4
    assert [*printed_config(stage, *arguments)["data"]] == [L1, L2]


def test_the_printed_config_has_the_changes_of_set_but_no_secret(served):
    stage = served(SERVED)
    arguments = ("--endpoint", stage.server.url, "--data", "L2")
    name = SERVED.rpartition("/")[2]
    changes = (
        f"model.{name}.kwargs.max_pixels=1003520",
        "data.L2.mode=basic",
        f"model.{name}.generate_cfg.extra_headers.x-team=blue-team-0123456789",
    )
    config = printed_config(stage, *arguments, *(f"--set={change}" for change in changes))
    assert config["data"] == {L2: {"mode": "basic"}}
    [entry] = config["model"].values()
    assert entry["kwargs"] == {"max_pixels": 1003520}
    assert entry["generate_cfg"] == {"extra_headers": {"x-team": "[secret]"}}
    result = evaluate_typed(stage, *arguments, "--set=data.L3.mode=all", "--print-config")
    assert result.code == 2 and 'the config has no data "L3"' in result.output


def test_no_key_is_printed(served):
    stage = served(SERVED)
    url = f"{stage.server.url}?api_key=sk-test-1234567890"
    result = evaluate_typed(stage, "--endpoint", url, "--data", "L2", "--print-config")
    assert "sk-test-1234567890" not in result.output
    assert "api_key=${API_KEY}&model=" in result.stdout


@pytest.mark.parametrize(
    ("offered", "arguments", "problem"),
    [
        ([], (), "the server lists no models; name the model with --name"),
        (["a", "b"], (), 'the server offers "a", "b"; name the model with --name'),
        (["my-model"], (), "my-model: the name fits no recipe; name one with --recipe"),
        (["Qwen2.6-VL"], (), 'fits no recipe, near: "qwen2_5_vl"'),
        (["x"], ("--name", "other"), 'model: other; the server does not list it. It offers "x"'),
        ([], ("--name", "x", "--recipe", "qwen3_v"), 'there is no recipe "qwen3_v"'),
    ],
)
def test_what_cannot_be_found_out_is_asked_for(offered, arguments, problem, served):
    stage = served(*offered)
    result, requests = typed(stage, "--endpoint", stage.server.url, "--data", "L2", *arguments)
    assert (result.code, requests) == (2, [])
    assert problem in result.stderr


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://127.0.0.1:9/v1", "the server's models cannot be listed: GET /models: connection"),
        ("h:80/v1", "--endpoint: must begin with http:// or https://"),
        (
            "http://a/v1,http://b/v1",
            "--endpoint takes one address; to use several servers of one model",
        ),
    ],
)
def test_an_address_that_leads_to_no_server_is_named_with_what_to_do(url, problem, served):
    result, _ = typed(served(), "--endpoint", url, "--data", "L2")
    assert result.code == 2
    assert problem in result.stderr
    assert "the server lists no models" not in result.stderr


def test_advice_of_a_run_without_a_config_can_be_pasted(staged):
    reply = '<answer>\n{"coordinate": [200, 150]}\n</answer>'
    stage = staged(answer=lambda _: Reply(f"<grounding_think>x</grounding_think>\n{reply}"))
    stage.server.models = ["MAI-UI-8B"]
    arguments = ("--endpoint", stage.server.url, "--data", "L2")
    first, _ = typed(stage, *arguments)
    assert "notes of the recipe: python evaluate.py --recipes mai_ui\n" in first.stdout
    option = re.search(r"add --set '([^']+)' to the command", first.stdout)[1]
    again, requests = typed(stage, *arguments, "--mode", "eval", "--set", option)
    assert requests == []
    assert "unparsed" not in again.stdout


def test_a_named_model_needs_no_server_to_be_chosen(served):
    url = "http://127.0.0.1:9/v1"
    config = printed_config(served(), "--endpoint", url, "--name", SERVED, "--data", "L2")
    assert [*config["model"]] == ["Qwen3-VL-8B-Instruct"]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (
            "/nowhere/x",
            "--checkpoint /nowhere/x: no such folder; expected a checkpoint with config",
        ),
        ("./x", "--checkpoint ./x: no such folder"),
        ("empty", "--checkpoint empty: no readable config.json in it"),
        ("file.json", "--checkpoint file.json: is a file; expected a folder with config.json"),
    ],
)
def test_a_path_that_is_no_checkpoint_is_named_before_its_recipe_is_looked_for(
    path, problem, served
):
    stage = served()
    (stage.home / "empty").mkdir()
    (stage.home / "file.json").write_text("{}")
    result, _ = typed(stage, "--checkpoint", path, "--data", "L2")
    assert result.code == 2
    assert problem in result.stderr
    assert "fits no recipe" not in result.stderr


def test_recipes_of_the_current_folder_are_shown_by_the_name_that_a_run_takes(served):
    stage = served()
    source = (PROJECT / "models" / "recipes" / "showui.py").read_text()
    (stage.home / "foo_ground.py").write_text(source)
    result = evaluate_typed(stage, "--recipes", "foo_ground", work_dir=False)
    assert result.code == 0, result.output
    assert "foo_ground: ShowUI" in result.stdout
    assert "read by   foo_ground.parse_point" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--endpoint", "http://h/v1"), "--data NAME is missing"),
        (
            ("--config", "c", "--endpoint", "http://h/v1", "--data", "L2"),
            "--config cannot be combined",
        ),
        (("--endpoint", "http://h/v1", "--checkpoint", "x", "--data", "L2"), "cannot be combined"),
        (("--config", "c", "--vllm"), "--vllm needs --checkpoint"),
        (("--config", "c", "--name", "x"), "--name needs --endpoint"),
        (("--config", "c", "--recipe", "x"), "--recipe cannot be combined with --config"),
        (("--config", "c", "--print-config"), "--print-config needs --endpoint or --checkpoint"),
        ((), "--config FILE is missing (or --endpoint URL, --checkpoint PATH)"),
    ],
)
def test_options_that_do_not_go_together_are_named(arguments, problem, capsys):
    assert evaluate.main([*arguments]) == 2
    assert problem in capsys.readouterr().err


def test_a_name_stands_in_one_place(served):
    stage = served()
    url = f"{stage.server.url}?model=a"
    result, _ = typed(stage, "--endpoint", url, "--name", "b", "--data", "L2")
    assert "--endpoint and --name both name a model" in result.stderr


@pytest.mark.parametrize(("options", "kind"), [((), "transformers"), (("--vllm",), "vllm")])
def test_a_checkpoint_is_known_by_its_folder_or_its_config(options, kind, served, tmp_path):
    stage = served()
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"_name_or_path": "Tongyi-MAI/MAI-UI-8B"}))
    arguments = ("--checkpoint", str(folder), *options, "--data", "L2", "--print-config")
    result = evaluate_typed(stage, *arguments)
    config = json.loads(result.stdout)
    assert "recipe: mai_ui, as its config.json names Tongyi-MAI/MAI-UI-8B\n" in result.stderr
    entry = {"recipe": "mai_ui", "imp_type": kind, "model_path": str(folder)}
    assert config["model"] == {"weights": entry}
    named = printed_config(stage, "--checkpoint", "ByteDance-Seed/UI-TARS-1.5-7B", "--data", "L2")
    assert named["model"]["UI-TARS-1.5-7B"]["recipe"] == "ui_tars_1_5"


@pytest.mark.parametrize(
    ("name", "recipes"),
    [
        ("MAI-UI-8B", ["mai_ui"]),
        ("mai-ui-8b", ["mai_ui"]),
        ("MAI-UI-8B-AWQ", ["mai_ui"]),
        ("Qwen3-VL-8B", ["qwen3_vl"]),
        ("llava", []),
        ("my-Qwen3.5-9B-sft", ["qwen3_5"]),
        ("Qwen2.5-VL-7B-sft", ["qwen2_5_vl"]),
        ("Qwen3.5-9B:my-lora", ["qwen3_5"]),
        ("my-Qwen3.5-9B-on-Qwen2.5-VL-7B", ["qwen2_5_vl", "qwen3_5"]),
        ("my-Qwen3.5-9Bx", []),
    ],
)
def test_a_family_is_known_by_the_name_of_its_checkpoints(name, recipes):
    assert models.recipes_for([name]) == recipes


def test_every_hub_id_leads_to_its_recipe():
    for name, recipe in all_recipes().items():
        for hub_id in recipe.hub_ids:
            assert name in models.recipes_for([hub_id.rpartition("/")[2]]), hub_id


@pytest.mark.parametrize("name", ["endpoint", "checkpoint", "recipe", "vllm", "print_config"])
def test_from_python_a_config_says_all_of_it(name):
    with pytest.raises(Exception, match=f"{name} is no option here; set the model in the config"):
        evaluate.run({"model": {}, "data": {}}, **{name: "x"})
