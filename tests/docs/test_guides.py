"""The guides are true: configs pass `--check` but for their data, options are known, Python runs.

A block with a title is a file, as in the tutorials. What cannot be run here says why in a comment
before the block.
"""

import json
import re
import shlex
from collections import Counter

import pytest
import rapidjson

import compare
from tests.support.runs import PROJECT, environment, evaluate, run_here
from utils.config.options import parse_arguments

BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]+) -->\n)?"
    r"^```(?P<kind>\w*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<content>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
NAVIGATION = (PROJECT / "mkdocs.yml").read_text(encoding="utf-8")
GUIDES = re.findall(
    r": (\S+\.md)$", NAVIGATION.partition("Guides:")[2].partition("Reference:")[0], re.M
)
NOT_RUN = {
    "installs packages": 2,
    "needs a checkpoint of the hub": 1,
    "needs OSWorld": 1,
    "needs Slurm": 2,
    "no config, but rows of published figures": 1,
    "the class is yours": 1,
}
ENDPOINT = {"model_path": "http://127.0.0.1:8000/v1?model=m"}
DATA = {"GUIElementGrounding": {"mode": "all"}}
IS_ABSENT = re.compile(
    r"^/\S+/data/|: /checkpoints/\S+: no such folder|has no GPU$|: vLLM is not installed"
    r"|: not installed: torch, .*requirements/local\.txt$|^\d+ problems?\. Nothing was run"
)
"""What `--check` says here: data sets, checkpoints, GPUs, vLLM and, in the fast tier, torch are missing."""


def blocks_of(page):
    return list(BLOCK.finditer((PROJECT / "docs" / page).read_text(encoding="utf-8")))


def of_kind(page, *kinds):
    return [
        block["content"]
        for block in blocks_of(page)
        if block["kind"] in kinds and block["reason"] is None
    ]


def whole_config(text):
    """The config that a block shows, or shows a part of."""
    if not text.startswith("{"):
        text = "{" + text + "}"
    part = rapidjson.loads(text, parse_mode=rapidjson.PM_COMMENTS | rapidjson.PM_TRAILING_COMMAS)
    if not {"model", "data"} & set(part):
        part = {"model": part}
    return {"model": {"m": ENDPOINT}, "data": DATA, **part}


def test_the_guides_are_known_and_each_block_that_is_not_run_says_why():
    assert len(GUIDES) == 17
    blocks = [block for page in GUIDES for block in blocks_of(page)]
    assert {block["kind"] for block in blocks} == {"bash", "json", "jsonc", "python", "text"}
    assert Counter(block["reason"] for block in blocks if block["reason"]) == NOT_RUN


@pytest.mark.parametrize("page", [page for page in GUIDES if of_kind(page, "json", "jsonc")])
def test_a_config_of_a_guide_lacks_nothing_but_its_data(page, tmp_path):
    for block in blocks_of(page):
        if block["title"]:
            (tmp_path / block["title"]).write_text(block["content"], encoding="utf-8")
    (tmp_path / "run7" / "addresses").mkdir(parents=True)
    for text in of_kind(page, "json", "jsonc"):
        (tmp_path / "c.json").write_text(json.dumps(whole_config(text)), encoding="utf-8")
        variables = {"LMUData": "data", "MY_KEY": "key-of-mine-0123"}
        finished = evaluate("--config", "c.json", "--check", cwd=tmp_path, env=variables)
        problems = [line for line in finished.stderr.splitlines() if not IS_ABSENT.search(line)]
        assert problems == [], text


@pytest.mark.parametrize("page", [page for page in GUIDES if of_kind(page, "bash")])
def test_a_command_of_a_guide_has_options_that_the_program_knows(page, tmp_path):
    for line in "".join(of_kind(page, "bash")).splitlines():
        words = shlex.split(line, comments=True)
        if "evaluate.py" in words:
            parse_arguments(words[words.index("evaluate.py") + 1 :])
        else:
            command = words[words.index("compare.py") :]
            finished = run_here(compare.main, command, tmp_path, environment())
            assert not finished.stderr.startswith("compare.py: "), finished.stderr


@pytest.mark.parametrize("page", [page for page in GUIDES if of_kind(page, "python")])
def test_the_code_of_a_guide_can_be_imported(page):
    namespace = {"__name__": "of_a_guide"}
    for content in of_kind(page, "python"):
        exec(compile(content, page, "exec"), namespace)
