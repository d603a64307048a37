"""The functions of the user's guide work as they stand, on a real (tiny) Qwen2.5-VL checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import tiny_checkpoint
from tests.support.runs import evaluate, make_data, run_folder

ANSWER = "Action: click(point=[100,50])"
GUIDE = "tests.support.documented_uitars"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    """A Qwen2.5-VL that answers `ANSWER` to everything."""
    folder = tmp_path_factory.mktemp("checkpoint")
    random = tiny_checkpoint.build("qwen2_5_vl", folder / "random")
    return tiny_checkpoint.teach(random, folder / "taught", ANSWER, steps=400)


def config_of_the_guide(path: Path, checkpoint: Path, *, custom_prompt: dict[str, str]) -> Path:
    """The guide's config, comments and all, with this checkpoint."""
    path.write_text(f"""{{
    // configurations for model
    "model": {{
        "uitars-1.5-7b-local": {{
            "model_path": {json.dumps(str(checkpoint))},
            "generate_cfg": {{"max_new_tokens": 40}},
            "imp_type": "transformers",
            "generate_function": "generate",
            "preprocess_function": "{GUIDE}.preprocess_uitars",
            "postprocess_function": "{GUIDE}.postprocess_uitars",
            "custom_prompt": {json.dumps(custom_prompt)},
            "kwargs": {{
                "system_prompt": "model_default",
                "max_pixels": 2116800,
                "min_pixels": 3136,
                "img_size": -1,
                "img_detail": "low"
            }}
        }}
    }},
    "data": {{
        "GUIElementGrounding": {{
            "mode": "all",
            "parse_function": "{GUIDE}.parse_grounding_response"
        }},
        "GUIContentUnderstanding": {{
            "mode": "all",
            "match_mode": "exact_match"
        }}
    }}
}}""")
    return path


def test_they_work_on_l2_with_a_local_checkpoint(tmp_path, checkpoint):
    data = make_data(tmp_path / "data")
    prompts = {"GUIElementGrounding": f"{GUIDE}.build_custom_prompt"}
    config = config_of_the_guide(tmp_path / "c.json", checkpoint, custom_prompt=prompts)

    run = evaluate("--config", config, "--data", "GUIElementGrounding", "--work-dir", tmp_path / "o",
                   cwd=tmp_path, env={"LMUData": str(data)})  # fmt: skip

    assert run.code == 0, run.output
    folder = run_folder(tmp_path / "o", "uitars-1.5-7b-local")
    score = json.loads((folder / "uitars-1.5-7b-local_GUIElementGrounding_score.json").read_text())
    # (100, 50) on the grids 644x364, 308x644 and 392x308: in the box but for the narrow iOS screen.
    hits = {name: block["Total accuracy"] for name, block in score["basic"].items()}
    assert hits == {"os_windows": 100.0, "os_ios": 0.0, "os_web": 100.0}
    records = [json.loads(line) for line in
               (folder / "uitars-1.5-7b-local_GUIElementGrounding.jsonl").read_text().splitlines()]  # fmt: skip
    answers = [record for record in records if record["kind"] == "answer"]
    assert {record["reply"] for record in answers} == {ANSWER}
    seen = {tuple(record["sizes"]["file"]): tuple(record["sizes"]["seen"]) for record in answers}
    assert seen == {(640, 360): (644, 364), (295, 639): (308, 644), (400, 300): (392, 308)}


def test_the_key_error_of_the_prompt_function_on_l1_is_a_failure_of_each_sample(
    tmp_path, checkpoint
):
    data = make_data(tmp_path / "data")  # 9 questions: one fewer than what stops a data set
    prompts = {"GUIContentUnderstanding": f"{GUIDE}.build_custom_prompt"}
    config = config_of_the_guide(tmp_path / "c.json", checkpoint, custom_prompt=prompts)

    run = evaluate("--config", config, "--data", "GUIContentUnderstanding", "--work-dir",
                   tmp_path / "o", cwd=tmp_path, env={"LMUData": str(data)})  # fmt: skip

    assert run.code == 1
    assert "9 (100.0 %) failed" in run.stdout
    assert "9 x prompt function: KeyError: 'instruction'" in run.stdout
    assert "Traceback" not in run.output


def test_with_skip_err_a_data_set_on_which_the_prompt_function_always_fails_is_scored_to_its_end(
    tmp_path, checkpoint
):
    pictures = [("os_web", (400, 300))] * 5  # 15 questions
    data = make_data(tmp_path / "data", pictures)
    prompts = {"GUIContentUnderstanding": f"{GUIDE}.build_custom_prompt"}
    config = config_of_the_guide(tmp_path / "c.json", checkpoint, custom_prompt=prompts)

    run = evaluate("--config", config, "--data", "GUIContentUnderstanding", "--work-dir",
                   tmp_path / "o", cwd=tmp_path,
                   env={"LMUData": str(data), "SKIP_ERR": "1"})  # fmt: skip

    assert run.code == 1
    assert "15 x prompt function: KeyError: 'instruction'" in run.stdout
