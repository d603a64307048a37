"""Scripted solutions, played with mouse and keyboard, solve their tasks."""

import pytest

from benchmarks.worlds.office.suite import open_world
from tests.support.office_oracle import Oracle
from tests.support.office_tasks import LEVELS, task_named, tasks_of

PLAYED = (
    ("shop_price_to_sheet", 1),
    ("contacts_company_to_mail", 1),
    ("chat_unpin", 0),
    ("files_append", 0),
    ("calendar_move", 2),
    ("todo_new", 1),
    ("live_handover_changed", 1),
    ("infeasible_guest", 0),
    ("mail_attachment_question", 2),
    ("long_common_hour", 0),
    ("chat_votes_to_file", 1),
    ("long_tickets", 0),
    ("files_shopping_list", 1),
    ("files_rename", 2),
    ("shop_cancel", 1),
    ("todo_due_week_to_mail", 0),
    ("infeasible_attach", 1),
    ("calendar_infeasible", 1),
    ("contacts_company", 2),
    ("files_folder", 2),
    ("todo_rename_with_note", 2),
    ("long_expense_claims", 0),
    ("shop_price_to_sheet", 0),
    ("chat_edit_own", 0),
    ("chat_delete_own", 0),
    ("contacts_company", 0),
    ("files_append", 1),
    ("mail_star_newest", 0),
    ("mail_star_newest", 1),
    ("mail_archive_subject", 0),
    ("mail_archive_subject", 1),
    ("mail_write_with_copy", 2),
    ("mail_out_of_archive", 0),
    ("mail_forward", 0),
    ("mail_attachment_question", 1),
    ("sheets_set", 2),
    ("shop_best_rated", 1),
    ("todo_reopen", 0),
    ("todo_infeasible", 1),
    ("chat_unpin", 1),
    ("mail_delete_namesakes", 0),
    ("shop_order", 2),
    ("long_double_bookings", 0),
)
"""Few solutions with every kind of step, way of doing one, look, and what others do besides.

The first six are short and have every application and look: they stay in the fast tier."""


def solution(task, way):
    """A solution of a task by its number; 0 is the first."""
    return [task["oracle"], *task["ways"]][way]


def kind_of(verb):
    """A kind of step; what is done "by keys" or "by list" is one in all applications."""
    _, separator, way = verb.partition(" by ")
    return separator + way if way else verb


def kinds_of(task, steps):
    """What is met in a task that is solved with these steps."""
    happenings = {name for name in ("events", "replies") if name in task}
    return {task["look"], *happenings, *(kind_of(step[0]) for step in steps)}


def test_the_solutions_that_are_played_have_every_kind_of_step_and_every_look():
    every = [task for level in LEVELS for task in tasks_of(level)]
    solutions = [(task, steps) for task in every for steps in (task["oracle"], *task["ways"])]
    kinds = set().union(*(kinds_of(task, steps) for task, steps in solutions))
    for name, way in PLAYED:
        task = task_named(name)
        kinds -= kinds_of(task, solution(task, way))
    assert not kinds, "play one more solution with each of these"


@pytest.fixture(scope="module")
def world(tmp_path_factory, chromium):
    world = open_world(tmp_path_factory.mktemp("shots"))
    yield world
    world.close()


def test_a_task_that_is_done_but_not_ended_is_no_success(world):
    task = task_named("todo_postpone")
    world.reset(task)
    Oracle(world).play(task["oracle"][:-1])
    assert [text for fits, text in world.evaluate().lines if not fits] == [
        "ends with done or answer"
    ]


@pytest.mark.parametrize(
    ("name", "way"), [pytest.param(name, way, id=f"{name}-{way}") for name, way in PLAYED]
)
def test_a_solution_solves_its_task_with_mouse_and_keyboard(world, name, way):
    task = task_named(name)
    world.reset(task)
    Oracle(world).play(solution(task, way))
    assert [text for fits, text in world.evaluate().lines if not fits] == [], task["goal"]
