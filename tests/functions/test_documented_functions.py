"""The functions of the user's guide work as they stand, on a real (tiny) Qwen2.5-VL checkpoint."""

import json

import pytest

from tests.support import tiny_checkpoint
from tests.support.stage import L1, L2

ANSWER = "Action: click(point=[100,50])"
GUIDE = "tests.support.documented_uitars"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    random = tiny_checkpoint.build("qwen2_5_vl", folder / "random")
    return tiny_checkpoint.teach(random, folder / "taught", ANSWER)


def test_they_work_on_l2_with_a_local_checkpoint(stage, checkpoint):
    config = stage.config(f"""{{
    // configurations for model
    "model": {{
        "uitars": {{
            "model_path": {json.dumps(str(checkpoint))},
            "generate_cfg": {{"max_new_tokens": 40}},
            "imp_type": "transformers",
            "generate_function": "generate",
            "preprocess_function": "{GUIDE}.preprocess_uitars",
            "postprocess_function": "{GUIDE}.postprocess_uitars",
            "custom_prompt": {{"{L2}": "{GUIDE}.build_custom_prompt"}},
            "kwargs": {{"system_prompt": "model_default", "max_pixels": 2116800,
                        "min_pixels": 3136, "img_size": -1, "img_detail": "low"}}
        }}
    }},
    "data": {{
        "{L2}": {{"mode": "all", "parse_function": "{GUIDE}.parse_grounding_response"}},
        "{L1}": {{"mode": "all", "match_mode": "exact_match"}}
    }}
}}""")
    run = stage.run("--config", config, "--data", L2, "--work-dir", stage.work_dir)
    assert run.code == 0, run.output
    # (100, 50) on the grids 644x364, 308x644 and 392x308: in the box but for the narrow iOS screen.
    basic = stage.scores(L2, "uitars")["basic"]
    hits = {name: block["Total accuracy"] for name, block in basic.items()}
    assert hits == {"os_windows": 100.0, "os_ios": 0.0, "os_web": 100.0}
    answers = stage.answers(L2, "uitars")
    assert {record["reply"] for record in answers} == {ANSWER}
    seen_sizes = {
        tuple(record["sizes"]["file"]): tuple(record["sizes"]["seen"]) for record in answers
    }
    assert seen_sizes == {(640, 360): (644, 364), (295, 639): (308, 644), (400, 300): (392, 308)}
