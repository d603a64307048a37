"""Tasks in JupyterLab: what they are made of, and that solutions solve them in a browser."""

from pathlib import Path

import pytest

from benchmarks.l3_task_automation import GUITaskAutomation
from benchmarks.worlds.jupyterlab import suite
from benchmarks.worlds.jupyterlab.checks import edited, tree_of
from benchmarks.worlds.jupyterlab.tasks import tasks
from tests.support.browser import need_browser
from tests.support.lab import need_lab
from tests.support.lab_oracle import LabOracle
from utils.errors import UserError

LEVELS = ("L3", "L4")
PLAYED = (
    ("file_move", 1),
    ("file_new_with_text", 0),
    ("text_replace_whole_word", 0),
    ("text_comment_line", 0),
    ("cell_move_up", 1),
    ("cells_merge", 0),
    ("cell_split", 1),
    ("cell_tag", 0),
    ("setting_autosave", 1),
    ("mail_review_of_notebook", 0),
    ("notebook_total_to_sheet", 1),
)
"""Solutions that have most kinds of steps; `tools.lab_solutions` plays all."""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    need_lab()
    need_browser()
    world = suite.open_world(tmp_path_factory.mktemp("shots"))
    yield world
    world.close()


def test_tasks_are_played_only_where_the_config_names_them():
    def ids(**settings):
        benchmark = GUITaskAutomation(Path(), Path())
        benchmark.configure(settings)
        return {sample.line["task_id"].partition("/")[0] for sample in benchmark.load("all")[0]}

    assert ids() == {"office", "miniwob"}
    assert ids(tasks=["*file*"]) == {"office"}
    assert ids(tasks=["jupyterlab/file_*"]) == {"jupyterlab"}


@pytest.mark.parametrize("pattern", ["jupyterlab*", "*/cells_merge"])
def test_a_pattern_that_fits_optional_tasks_without_naming_their_suite_is_refused(pattern):
    benchmark = GUITaskAutomation(Path(), Path())
    benchmark.configure({"tasks": ["office/mail_write", pattern]})
    with pytest.raises(UserError) as error:
        benchmark.load("all")
    assert str(error.value) == (
        f'data.GUITaskAutomation.tasks: "{pattern}" fits only tasks of jupyterlab, and these need '
        'a pattern that begins with "jupyterlab/", such as "jupyterlab/*"'
    )


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize("level", LEVELS)
def test_every_edit_fits_the_files_that_its_task_begins_with(level, seed):
    for task in tasks(level, [seed]):
        start = tree_of({"files": task["files"], "settings": {}})
        edits = [edit if edit[0] != "any_of" else edit[1][0] for edit in task.get("edits", ())]
        changed = edited(start, edits) != start
        assert changed or task.get("answer") or task["expect"] or not task.get("feasible", True), (
            task["id"]
        )
        assert task["ways"], task["id"]


@pytest.mark.parametrize(("name", "way"), PLAYED)
def test_a_solution_solves_its_task_with_mouse_and_keyboard(world, name, way):
    [task] = [task for level in LEVELS for task in tasks(level, [0], [name])]
    world.reset(task)
    LabOracle(world).play([task["oracle"], *task["ways"]][way])
    assert [text for fits, text in world.evaluate().lines if not fits] == [], task["goal"]
