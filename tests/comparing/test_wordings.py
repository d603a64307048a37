"""How much a model's figure changes where one element is asked for in other words."""

from itertools import count
from pathlib import Path

import pytest

from utils.comparing.pairing import pairs_of_samples
from utils.comparing.runs import ComparedRun, ScoredSet
from utils.comparing.wordings import by_element, wording_notes

NUMBERS = count()


def facts(element, wording, hit, image="a.png"):
    key = f"sample {next(NUMBERS)}"
    return {"key": key, "element_id": element, "wording": wording, "hit": hit, "image": image}


def scored(samples, *, has_score=True):
    by_key = {one["key"]: one for one in samples}
    return ScoredSet("L2", False, False, by_key, {}, {}, {}, {}, [], has_score=has_score)


def run(label, model="m", **sets):
    return ComparedRun(label, model, Path(), "", sets, {}, [], [], None)


def wording(name, *hits):
    """An element for each hit, `e0`, `e1`, ...; None: the wording does not ask for it."""
    return [facts(f"e{n}", name, hit) for n, hit in enumerate(hits) if hit is not None]


BASIC = wording("basic", 1, 1, 0, 1)
FUNCTIONAL = wording("functional", 1, 0, 0, None)


def test_two_wordings_of_a_run_are_compared_on_the_elements_that_both_ask_for():
    assert wording_notes([run("a", Table=scored([*BASIC, *FUNCTIONAL]))]) == [
        "a, Table: functional − basic = -33.3 (66.67 % to 33.33 %), "
        "3 elements asked for in both wordings, interval by image"
    ]


def test_with_many_images_the_difference_has_an_interval():
    samples = [
        facts(f"e{n}", name, hit, image=f"{n}.png")
        for n in range(20)
        for name, hit in (("basic", 1), ("functional", n % 2))
    ]
    [note] = wording_notes([run("a", Table=scored(samples))])
    assert "functional − basic = -50.0 [-" in note and "100 % to 50 %" in note.replace(".00", "")


def test_every_two_of_three_wordings_are_compared():
    samples = [*BASIC, *FUNCTIONAL, *wording("spatial", 0, 0, 0)]
    notes = wording_notes([run("a", Table=scored(samples))])
    assert [note.partition(" = ")[0] for note in notes] == [
        "a, Table: functional − basic",
        "a, Table: spatial − basic",
        "a, Table: spatial − functional",
    ]


def test_two_runs_of_a_model_are_compared_where_the_wordings_are_two_data_sets():
    runs = [run("a", First=scored(BASIC)), run("b", Second=scored(FUNCTIONAL))]
    [note] = wording_notes(runs)
    assert note.startswith("a and b, First: Second (functional) − First (basic) = -33.3 (66.67 %")


def test_two_data_sets_of_one_run_are_compared_under_its_own_name():
    [note] = wording_notes([run("a", First=scored(BASIC), Second=scored(FUNCTIONAL))])
    assert note.startswith("a, First: Second (functional) − First (basic)")


def test_two_runs_of_one_data_set_are_left_to_their_own_comparison():
    runs = [run("a", Table=scored(BASIC)), run("b", Table=scored(FUNCTIONAL))]
    assert wording_notes(runs) == []


def test_two_models_are_not_compared():
    runs = [run("a", "m", First=scored(BASIC)), run("b", "n", Second=scored(FUNCTIONAL))]
    assert wording_notes(runs) == []


def test_nothing_is_said_without_two_wordings_of_one_element():
    one_wording = run("a", First=scored(BASIC), Second=scored(wording("basic", 0, 0)))
    other_elements = run("a", Table=scored([*BASIC, facts("x", "functional", 1)]))
    plain = run("a", Table=scored([facts("e0", None, 1), facts("e0", "", 0), *BASIC]))
    without_score = run("a", Table=scored([*BASIC, *FUNCTIONAL], has_score=False))
    for compared in (one_wording, other_elements, plain, without_score):
        assert wording_notes([compared]) == []


@pytest.mark.parametrize("others", [[], wording("spatial", 1, 1)])
def test_runs_that_share_a_wording_are_paired_by_their_questions(others):
    whole = scored([*BASIC, *FUNCTIONAL, facts(None, None, 1)])
    part = scored([*FUNCTIONAL, *others])
    assert pairs_of_samples(part, whole) == [(sample, sample) for sample in FUNCTIONAL]
    assert pairs_of_samples(whole, part) == [(sample, sample) for sample in FUNCTIONAL]


def test_runs_without_a_wording_in_common_are_paired_by_element():
    pairs = pairs_of_samples(scored(FUNCTIONAL), scored(BASIC))
    assert pairs == [*zip(FUNCTIONAL, BASIC[:3], strict=True)]


def test_the_first_sample_of_an_element_stands_for_it():
    first, second, other = (facts(element, "basic", 1) for element in (7, "7", "x"))
    unknown = facts(None, "basic", 1)
    assert by_element([first, second, unknown, other]) == {"7": first, "x": other}
