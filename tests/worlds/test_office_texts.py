"""Texts that tasks ask for: every usual form of a right one passes, wrong ones do not."""

import functools
from collections import Counter

import pytest

from benchmarks.worlds.office.tasks.values import matches
from tests.support.office_tasks import tasks_of
from tests.support.office_texts import asked_texts, forms_of, unwanted_of

SEEDS = (0, 1, 2, 3)


@functools.cache
def asked():
    """All texts that tasks ask for, with the names of their tasks."""
    return [
        (f"{task['id']}, seed {task['seed']}, {text.where}", text)
        for level in ("L3", "L4")
        for seed in SEEDS
        for task in tasks_of(level, seed)
        for text in asked_texts(task)
    ]


def test_every_text_of_every_task_is_right_in_all_usual_forms():
    refused = [
        (name, form, text)
        for name, one in asked()
        for form, text in forms_of(one)
        if not matches(one.expected, text)
    ]
    assert refused == []


def test_more_than_ten_forms_are_tried_and_each_of_them_several_times():
    counts = Counter(form for _, one in asked() for form, _ in forms_of(one))
    assert len(counts) > 10
    assert min(counts.values()) >= 4, counts


@pytest.mark.parametrize("also", ["{} or {}", "{}\n{}", "{}, {}."])
def test_a_text_that_says_what_does_not_hold_as_well_is_refused(also):
    wrong = [
        (name, also.format(one.text, trap)) for name, one in asked() for trap in unwanted_of(one)
    ]
    assert len(wrong) > 100
    expected = dict(asked())
    passed = [text for name, text in wrong if matches(expected[name].expected, text)]
    assert passed == []


@pytest.mark.parametrize("also", ["{} (not {})", "{} instead of {}", "{}; before that it was {}"])
def test_a_text_may_say_what_does_not_hold_any_more(also):
    right = [
        (one.expected, also.format(one.text, trap))
        for _, one in asked()
        for trap in unwanted_of(one)
    ]
    assert [text for expected, text in right if not matches(expected, text)] == []
