"""What the check of JupyterLab's tasks takes for right, and what it refuses."""

import copy
import json

import pytest

from benchmarks.worlds.jupyterlab.checks import compare, compare_trees, edited, tree_of
from benchmarks.worlds.jupyterlab.folder import notebook
from benchmarks.worlds.jupyterlab.lab import LabEpisode
from benchmarks.worlds.jupyterlab.tasks import tasks
from tests.support.lab import need_lab

EXTRA = [
    ["delete", "archive/notes_2025.md"],
    ["folder", "Untitled Folder/"],
    ["write", "untitled.txt", ""],
    ["setting", "@jupyterlab:apputils-extension:themes", "theme", "JupyterLab Light"],
    ["cell.insert", "analysis.ipynb", 1, "code", ""],
    ["append", "README.md", "x"],
]


def first_choice(edits):
    return [edit if edit[0] != "any_of" else edit[1][0] for edit in edits]


def spoiled_edits(edits):
    """Edits with one of them left out, or with another value in one place, or one too many."""
    for number, (name, *arguments) in enumerate(edits):
        yield edits[:number] + edits[number + 1 :]
        for index, value in enumerate(arguments):
            for other in other_values(value):
                instead = [name, *arguments[:index], other, *arguments[index + 1 :]]
                yield [*edits[:number], instead, *edits[number + 1 :]]
    for extra in EXTRA:
        yield [*edits, extra]


def other_values(value):
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1] if value > 1 else [value + 1]
    if isinstance(value, list):
        return [[*value, "more"], [*value[:-1], f"{value[-1]}x"]]
    letters = [position for position, letter in enumerate(value) if letter.isalnum()]
    if not letters:
        return []
    return [value[: letters[-1]] + "7q" + value[letters[-1] + 1 :]]


def mutants(level, seed):
    """Trees that come about by spoiled edits, for each task; all of them must be refused."""
    for task in tasks(level, [seed]):
        edits = first_choice(task.get("edits", ()))
        start = tree_of({"files": task["files"], "settings": {}})
        for spoiled in spoiled_edits(edits):
            try:
                end = edited(start, spoiled)
            except (ValueError, IndexError):
                continue  # what it names is not there
            if end != edited(start, edits):
                yield task, edits, start, spoiled, end


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_is_done_wrongly_or_besides_is_refused(seed):
    count = 0
    for level in ("L3", "L4"):
        for task, edits, start, spoiled, end in mutants(level, seed):
            count += 1
            lines = compare_trees(edits, start, end).lines
            assert not all(fits for fits, _ in lines), (task["id"], spoiled)
    assert count > 400


@pytest.mark.parametrize("level", ["L3", "L4"])
def test_what_is_done_as_expected_is_right_and_nothing_done_is_not(level):
    for task in tasks(level, [0]):
        edits = task.get("edits", ())
        start = tree_of({"files": task["files"], "settings": {}})
        right = compare_trees(edits, start, edited(start, first_choice(edits)))
        assert all(fits for fits, _ in right.lines), task["id"]
        if edits:
            assert not all(fits for fits, _ in compare_trees(edits, start, start).lines), task["id"]


CELLS = notebook(["# One", {"type": "code", "source": "a = 1\nb = 2", "output": "3\n"}])


def state(text, path="a.ipynb", **settings):
    return {"files": {path: text}, "settings": settings}


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["metadata"].update(kernelspec={"name": "python3"}),
        lambda content: content.update(nbformat_minor=4),
        lambda content: content["cells"][0].update(id="other"),
        lambda content: content["cells"][0]["metadata"].update(collapsed=True, tags=[]),
        lambda content: content["cells"][0].update(source="# One\n\n"),
        lambda content: content["cells"][1].update(execution_count=None),
    ],
)
def test_what_jupyterlab_writes_by_itself_is_no_difference(change):
    content = json.loads(CELLS)
    change(content)
    assert compare([], state(CELLS), state(json.dumps(content))).lines == []


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["cells"][0].update(cell_type="raw"),
        lambda content: content["cells"][0].update(source="# Two"),
        lambda content: content["cells"][1].update(source="a = 1\n\nb = 2"),
        lambda content: content["cells"][1].update(source=" a = 1\nb = 2"),
        lambda content: content["cells"][1].update(outputs=[]),
        lambda content: content["cells"][1]["metadata"].update(tags=["skip"]),
        lambda content: content["cells"].reverse(),
        lambda content: content["cells"].pop(),
        lambda content: content["cells"].append(copy.deepcopy(content["cells"][0])),
        lambda content: content.pop("cells"),
        lambda content: content.update(cells=[1]),
        lambda content: content["cells"][0].update(metadata=None),
    ],
)
def test_another_cell_or_another_place_is_a_difference(change):
    content = json.loads(CELLS)
    change(content)
    [(fits, text)] = compare([], state(CELLS), state(json.dumps(content))).lines
    assert not fits
    assert text.startswith("a.ipynb: ")


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        ("a\nb\n", "a\nb", True),
        ("a\nb\n", "a  \nb\n\n\n", True),
        ("a\nb\n", "a\r\nb\r\n", True),
        ("| a | b |\n", "|a|b|\n", True),
        ("a\nb\n", "a\n\nb\n", False),
        ("a\n", " a\n", False),
        ("a\n", "A\n", False),
        ("a,b\n", "a, b\n", False),
        ("", "x", False),
    ],
)
def test_texts_are_compared_line_by_line(before, after, is_same):
    assert (compare([], state(before, "x.txt"), state(after, "x.txt")).lines == []) is is_same


def test_settings_count_by_their_values():
    path = "@jupyterlab/apputils-extension/themes.jupyterlab-settings"
    edits = [["setting", "@jupyterlab:apputils-extension:themes", "theme", "JupyterLab Dark"]]
    text = '{"theme": "JupyterLab Dark"}'
    lines = compare(edits, state("", "x"), state("", "x", **{path: text})).lines
    assert lines == [(True, "settings:@jupyterlab:apputils-extension:themes is as expected")]
    assert compare([], state("", "x"), state("", "x", **{path: "{}"})).lines == []


def test_settings_of_a_plugin_that_has_none_of_its_own_are_read(tmp_path):
    need_lab()
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    (schemas / "tags.json").write_text('{"type": "object"}')
    episode = LabEpisode("http://127.0.0.1:9/", tmp_path / "episode", {}, schemas)
    saved = tmp_path / "episode" / "settings" / "tags.jupyterlab-settings"
    saved.parent.mkdir()
    saved.write_text("{\n}")
    assert episode.dump()["settings"] == {"tags.jupyterlab-settings": "{}"}


def test_one_of_several_ways_to_end_is_enough():
    edits = [["any_of", [["write", "x", "1"]], [["write", "x", "2"], ["folder", "f/"]]]]
    start = state("0", "x")
    assert compare(edits, start, state("1", "x")).lines == [(True, "x is as expected")]
    second_way = {"files": {"x": "2", "f/": ""}, "settings": {}}
    assert all(fits for fits, _ in compare(edits, start, second_way).lines)
    assert not all(fits for fits, _ in compare(edits, start, state("2", "x")).lines)


@pytest.mark.parametrize(
    ("files", "done", "is_spoiled"),
    [
        ({"x": "a\nb"}, 0, False),
        ({"x": "A\nb"}, 1, False),
        ({"x": "A\nB"}, 2, False),
        ({"x": "A\nB", "f/": ""}, 3, False),
        ({"x": "a\nB", "f/": ""}, 2, False),
        ({"x": "A\nB\nc", "f/": ""}, 0, True),
        ({"x": "A\nB", "f/": "", "g/": ""}, 0, True),
    ],
)
def test_edits_that_are_done_count_as_long_as_nothing_else_has_changed(files, done, is_spoiled):
    edits = [["replace", "x", "a", "A"], ["replace", "x", "b", "B"], ["folder", "f/"]]
    comparison = compare(edits, state("a\nb", "x"), {"files": files, "settings": {}})
    assert (comparison.done, comparison.count) == (done, 3)
    assert comparison.is_spoiled is is_spoiled
