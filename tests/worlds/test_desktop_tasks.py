"""Tasks on the desktop, played by mouse and keyboard; `tools.desktop_solutions` plays all ways."""

import pytest

from benchmarks.worlds.desktop.suite import open_world
from benchmarks.worlds.desktop.tasks import tasks
from tests.support.desktop import need_desktop
from tests.support.desktop_play import Player

PLAYED = (
    ("calc_sort", 1),
    ("writer_name", 0),
    ("impress_delete", 1),
    ("gimp_rotate", 0),
    ("files_move", 0),
    ("editor_line_numbers", 0),
    ("pdf_page", 0),
    ("sheet_to_text", 0),
    ("calc_chart", 0),
    ("calc_pivot", 0),
    ("impress_notes", 0),
    ("settings_theme", 0),
)
"""A task and one of its right ways: of each application, more of those that have most."""
PLAYED_WRONG = ("calc_sort", "writer_name", "gimp_rotate", "files_move", "settings_theme")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    need_desktop()
    world = open_world(tmp_path_factory.mktemp("shots"))
    yield world
    world.close()


def outcome_of(world, name, ways, number):
    [task] = [task for level in ("L3", "L4") for task in tasks(level, [0], [name])]
    world.reset(task)
    Player(world).play(task[ways][number])
    return world.evaluate()


@pytest.mark.parametrize(("name", "way"), PLAYED)
def test_a_right_way_solves_its_task(world, name, way):
    outcome = outcome_of(world, name, "ways", way)
    assert outcome.success, [text for fits, text in outcome.lines if not fits]


@pytest.mark.parametrize("name", PLAYED_WRONG)
def test_a_wrong_way_does_not_solve_its_task(world, name):
    assert not outcome_of(world, name, "wrong_ways", 0).success
