"""How an episode on the desktop is judged: documents, texts, pictures and settings, without one."""

import copy
import functools
import io
import zipfile

import pytest
from PIL import Image, ImageOps

from benchmarks.worlds.desktop.checks import compare_trees, edited, judge, tree_of
from benchmarks.worlds.desktop.documents import read_file, written_files
from benchmarks.worlds.desktop.documents.package import package
from benchmarks.worlds.desktop.documents.pictures import grey_picture, open_picture
from benchmarks.worlds.desktop.expected import matches
from benchmarks.worlds.desktop.tasks import tasks

LEVELS = ("L3", "L4")
SEEDS = (0, 1, 2)
CHANNELS = ".config/xfce4/xfconf/xfce-perchannel-xml/"


def all_tasks():
    return [task for level in LEVELS for task in tasks(level, SEEDS)]


def first_choice(edits):
    """The edits of the first of several ways in which a task may end."""
    return [part for edit in edits for part in (edit[1] if edit[0] == "any_of" else [edit])]


def concrete(value):
    """A tree with something that fits in place of what only has to fit."""
    if isinstance(value, dict):
        if "uses" in value:
            return f"=SUM([.{value['uses'].replace(':', ':.')}])"
        for way in ("near", "any", "text"):
            if way in value:
                return value[way]
        if "one_of" in value:
            return concrete(value["one_of"][0])
        return {key: concrete(item) for key, item in value.items() if key != "*"}
    return [concrete(item) for item in value] if isinstance(value, list) else value


def spoiled(value):
    """Yield copies of plain data, each with one thing that is not as it should be."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("content", "format", "mode", "colours"):
                continue
            for other in spoiled(item):
                yield {**value, key: other}
        return
    if isinstance(value, list):
        yield from spoiled_lists(value)
    elif isinstance(value, bool) or value is None:
        yield "another"
    elif isinstance(value, (int, float)):
        yield value + 1
    else:
        yield f"{value}x"


def spoiled_lists(values):
    for index, item in enumerate(values):
        for other in spoiled(item):
            yield [*values[:index], other, *values[index + 1 :]]
    if values:
        yield values[1:]
    yield [*values, values[0] if values else "one too many"]


@pytest.mark.parametrize("lock", ["Documents/.~lock.a.txt#", ".~lock.a.txt#"])
def test_marks_of_open_documents_are_no_change_and_other_hidden_files_are(lock):
    before, mine = {"a.txt": b"a"}, {"a.txt": b"a", "Documents/.mine": b""}
    for files in ({**before, lock: b"user,09.03.2026 09:00"}, {**before, lock: b"09:01"}, before):
        assert judge({}, {**before, lock: b"09:00"}, files, "done").success
    assert not judge({}, before, mine, "done").success


def test_a_document_is_read_as_it_was_written():
    files = written_files(
        {
            "a.ods": {
                "sheets": {"One": [["Item", 2], [["=B1*2", 4], ""]], "Two": [["x"]]},
                "bold": ["A1"],
            },
            "a.odt": {
                "blocks": ["One", {"text": "Two", "style": "Heading 1"}, {"table": [["a", "b"]]}]
            },
            "a.odp": {"slides": [{"title": "Plan", "body": ["one", "two"]}]},
            "a.pdf": {"pages": [["one (1)"], ["two"]]},
        }
    )
    sheets = read_file("a.ods", files["a.ods"])
    assert sheets["sheets"] == ["One", "Two"]
    assert sheets["sheet One"]["cells"] == {
        "A1": {"value": "Item", "bold": "bold"},
        "B1": {"value": 2.0},
        "A2": {"value": 4.0, "formula": "=[.B1]*2"},
    }
    blocks = read_file("a.odt", files["a.odt"])["blocks"]
    assert blocks[:2] == [
        {"style": "Standard", "runs": [["One", {}]]},
        {"style": "Heading 1", "runs": [["Two", {}]]},
    ]
    assert blocks[2] == {"table": [["a", "b"]]}
    slides = read_file("a.odp", files["a.odp"])["slides"]
    assert slides == [{"title": "Plan", "body": ["one", "two"]}]
    assert read_file("a.pdf", files["a.pdf"]) == {"pages": 2}


@pytest.mark.parametrize("changed", ["the paragraph", "the style"])
def test_the_spacing_of_lines_counts_whether_a_paragraph_or_its_style_has_it(changed):
    properties = '<style:paragraph-properties fo:line-height="150%"/>'
    common, automatic = (properties, "") if changed == "the style" else ("", properties)
    content = package(
        "odt",
        '<office:text><text:p text:style-name="P1">One</text:p></office:text>',
        '<style:style style:name="P1" style:family="paragraph" '
        f'style:parent-style-name="Standard">{automatic}</style:style>',
        f'<style:style style:name="Standard" style:family="paragraph">{common}</style:style>',
    )
    [block] = read_file("a.odt", content)["blocks"]
    assert block == {"style": "Standard", "runs": [["One", {}]], "line-height": "150%"}


def test_a_picture_is_compared_by_its_pixels():
    files = written_files({"a.png": {"picture": {"seed": 1, "size": [120, 80]}}})
    start = tree_of(files)
    turned = edited(start, [["picture", "a.png", [["rotate", 90]]]])
    assert turned["a.png"]["size"] == [80, 120]
    back = edited(turned, [["picture", "a.png", [["rotate", 90]]]])
    assert back["a.png"]["pixels"] != start["a.png"]["pixels"]
    flipped = edited(start, [["picture", "a.png", [["flip", "h"]]]])
    assert flipped["a.png"]["pixels"] != start["a.png"]["pixels"]


def test_a_picture_in_another_size_has_to_look_the_same_and_not_to_have_the_same_pixels():
    files = written_files({"a.png": {"picture": {"seed": 1, "size": [120, 80], "frame": 10}}})
    start = tree_of(files)
    assert start["a.png"]["size"] == [140, 100]
    edits = [["picture", "a.png", [["scale", [70, 50]]]]]

    def saved(change):
        image = change(open_picture(files["a.png"]))
        file = io.BytesIO()
        image.save(file, "PNG")
        return tree_of({"a.png": file.getvalue()})

    by_nearest = saved(lambda image: image.resize((70, 50), Image.Resampling.NEAREST))
    assert compare_trees(edits, start, by_nearest).lines[0][0]
    upside_down = saved(lambda image: ImageOps.flip(image.resize((70, 50))))
    assert not compare_trees(edits, start, upside_down).lines[0][0]
    other_size = saved(lambda image: image.resize((72, 50)))
    assert not compare_trees(edits, start, other_size).lines[0][0]
    grey = saved(grey_picture)
    assert compare_trees([["picture", "a.png", [["grey"]]]], start, grey).lines[0][0]
    coloured = saved(lambda image: grey_picture(image).convert("RGB"))
    assert tree_of(files)["a.png"]["mode"] == coloured["a.png"]["mode"] == "RGB"
    assert not compare_trees([["picture", "a.png", [["grey"]]]], start, coloured).lines[0][0]


def test_what_a_sheet_has_besides_cells_is_read():
    body = (
        "<office:spreadsheet><table:content-validations><table:content-validation "
        'table:name="v" table:condition="of:cell-content()&gt;1"/></table:content-validations>'
        '<table:table table:name="One"><table:shapes><draw:frame><draw:object '
        'draw:notify-on-update-of-ranges="One.A1:One.B2" xlink:href="./Object 1"/></draw:frame>'
        "</table:shapes><table:table-row><table:table-cell "
        'office:value-type="float" office:value="3" table:content-validation-name="v"/>'
        "</table:table-row><c:conditional-formats "
        'xmlns:c="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0">'
        '<c:conditional-format c:target-range-address="One.A1:One.A9"><c:condition '
        'c:value="&gt;5" c:apply-style-name="Accent_20_1"/></c:conditional-format>'
        "</c:conditional-formats></table:table><table:data-pilot-tables><table:data-pilot-table>"
        '<table:source-cell-range table:cell-range-address="One.A1:One.C9"/>'
        '<table:data-pilot-field table:source-field-name="Region" table:orientation="row"/>'
        '<table:data-pilot-field table:source-field-name="Cost" table:orientation="data" '
        'table:function="sum"/><table:data-pilot-field table:source-field-name="City" '
        'table:orientation="hidden"/></table:data-pilot-table></table:data-pilot-tables>'
        "</office:spreadsheet>"
    )
    masters = (
        '<office:automatic-styles><style:page-layout style:name="p"><style:page-layout-properties '
        'style:print-orientation="landscape"/></style:page-layout></office:automatic-styles>'
        '<office:master-styles><style:master-page style:name="Default" '
        'style:page-layout-name="p"/></office:master-styles>'
    )
    chart = (
        '<a xmlns:chart="urn:oasis:names:tc:opendocument:xmlns:chart:1.0">'
        '<chart:chart chart:class="chart:circle"><chart:title>Costs</chart:title></chart:chart></a>'
    )
    content = io.BytesIO(package("ods", body, masters=masters))
    with zipfile.ZipFile(content, "a") as file:
        file.writestr("Object 1/content.xml", chart)
    data = read_file("a.ods", content.getvalue())
    assert data["orientation"] == "landscape"
    assert data["conditions"] == [
        {"cells": "One.A1:One.A9", "condition": ">5", "style": "Accent 1"}
    ]
    assert data["pivots"] == [
        {"cells": "One.A1:One.C9", "row": ["Region", "auto"], "data": ["Cost", "sum"]}
    ]
    assert data["sheet One"]["charts"] == [
        {"kind": "circle", "title": "Costs", "cells": ["A1", "A2", "B1", "B2"]}
    ]
    assert data["sheet One"]["cells"]["A1"]["rule"] == "of:cell-content()>1"


def test_a_document_may_be_open_or_closed_at_the_end():
    task = {"edits": []}
    files = {"Documents/a.txt": b"x\n", "Documents/.~lock.a.ods#": b",user,"}
    assert judge(task, files, {"Documents/a.txt": b"x\n"}, "done").success
    assert not judge(task, files, {}, "done").success


@pytest.mark.parametrize(
    ("expected", "actual", "fits"),
    [
        (1.0, 1.0000000000001, True),
        (1.0, 2.0, False),
        ({"uses": "B2:B4"}, "=SUM([.B2:.B4])", True),
        ({"uses": "B2:B4"}, "=SUM([.$B$1:.$B$9])", True),
        ({"uses": "B2:B4"}, "=[.B2]+[.B3]+[.B4]", True),
        ({"uses": "B2:B4"}, "=SUM([.B2:.B3])+12", False),
        ({"uses": "B2:B4"}, None, False),
        ({"one_of": [1, 2]}, 2, True),
        ({"text": "Total"}, " total ", True),
        ({"near": [10, 20], "by": 2}, [11, 18], True),
        ({"near": [10, 20], "by": 2}, [11, 17], False),
        ({"near": [10, 20], "by": 2}, [11], False),
        ({"a": 1, "*": ["b"]}, {"a": 1, "b": 5}, True),
        ({"a": 1}, {"a": 1, "b": 5}, False),
        ([1, 2], [1], False),
        (None, False, False),
    ],
)
def test_data_is_compared_by_what_it_means(expected, actual, fits):
    assert matches(expected, actual) is fits


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_task_expects_can_be_made_of_its_files_and_is_a_success(seed):
    for task in [task for level in LEVELS for task in tasks(level, [seed])]:
        start = tree_of(written_files(task["files"]))
        edits = first_choice(task["edits"])
        end = concrete(edited(start, edits))
        outcome = compare_trees(task["edits"], start, end)
        assert all(fits for fits, _ in outcome.lines) and not outcome.is_spoiled, task["id"]
        has_effect = edited(start, edits) != start
        assert has_effect or task.get("answer") or not task.get("feasible", True), task["id"]


def test_an_end_that_is_spoiled_in_one_place_is_refused(whole):
    counts = {"refused": 0, "taken": []}
    for task in all_tasks() if whole else tasks("L3", [0]):
        start = tree_of(written_files(task["files"]))
        expected = concrete(edited(start, first_choice(task["edits"])))
        ends = [start] if expected != start else []
        for path, content in expected.items():
            ends += [{**expected, path: other} for other in spoiled(content)]
            ends.append({name: item for name, item in expected.items() if name != path})
        ends.append({**expected, "Documents/one more.txt": ["x"]})
        for end in ends:
            outcome = compare_trees(task["edits"], start, end)
            if all(fits for fits, _ in outcome.lines):
                counts["taken"].append(task["id"])
            else:
                counts["refused"] += 1
    assert counts["refused"] > (1000 if whole else 500)
    assert len(counts["taken"]) <= 0.02 * counts["refused"], counts["taken"]


def test_every_task_says_how_it_is_done_and_how_it_is_missed():
    for task in all_tasks():
        assert len(task["ways"]) >= 2 and len(task["wrong_ways"]) >= 2, task["id"]
        assert all(way for way in [*task["ways"], *task["wrong_ways"]]), task["id"]
        paths = [str(edit[1]) for edit in first_choice(task["edits"]) if edit[0] != "write"]
        if any(path.endswith((".ods", ".odt", ".odp")) for path in paths):
            assert "save" in task["goal"].casefold(), task["id"]


def test_a_task_is_the_same_whenever_it_is_made_and_another_under_another_seed():
    first, again = (tasks("L3", [0]) for _ in range(2))
    assert first == again
    differing = [
        one["id"]
        for one, other in zip(first, tasks("L3", [1]), strict=True)
        if one["files"] != other["files"]
    ]
    assert len(differing) == len(first)


def test_twins_can_be_done_under_half_of_the_seeds():
    for task_id in {task["id"] for task in all_tasks() if "feasible" in task}:
        variants = [task for level in LEVELS for task in tasks(level, range(4), [task_id])]
        feasible = [task["feasible"] for task in variants]
        assert sum(feasible) == 2, task_id


@pytest.mark.parametrize("end", ["done", "answer", "fail", ""])
def test_an_end_that_claims_nothing_is_no_success(end):
    [task] = tasks("L3", [0], ["calc_total"])
    files = written_files(task["files"])
    assert not judge(task, files, files, end).success


def test_settings_count_where_they_are_named_and_the_programs_own_never():
    xml = '<channel name="{}"><property name="{}" type="empty"><property name="{}" value="{}"/></property></channel>'
    files = {
        f"{CHANNELS}xsettings.xml": xml.format(
            "xsettings", "Net", "ThemeName", "Greybird"
        ).encode(),
        f"{CHANNELS}thunar.xml": xml.format("thunar", "last-window", "width", "640").encode(),
        ".config/glib-2.0/settings/keyfile": b"[org/xfce/mousepad/state/window]\nwidth=640\n",
    }
    start = tree_of(files)
    assert start == {"settings:xsettings/Net/ThemeName": "Greybird"}
    named = tree_of(files, frozenset({"org/xfce/mousepad/state/window/width"}))
    assert named["settings:org/xfce/mousepad/state/window/width"] == "640"
    end = copy.deepcopy(start)
    end["settings:xsettings/Net/ThemeName"] = "Adwaita"
    assert not compare_trees([], start, end).lines[0][0]
    assert compare_trees([["setting", "xsettings/Net/ThemeName", "Adwaita"]], start, end).lines[0][
        0
    ]


@functools.cache
def broken_documents():
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("content.xml", b"<a>" + b" " * (20 << 20) + b"</a>")
        package.writestr("styles.xml", b"<a/>")
    laughs = io.BytesIO()
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    with zipfile.ZipFile(laughs, "w") as package:
        package.writestr("content.xml", f'<!DOCTYPE a [<!ENTITY l0 "ha">{entities}]><a>&l11;</a>')
        package.writestr("styles.xml", "<a/>")
    outside = io.BytesIO()
    with zipfile.ZipFile(outside, "w") as package:
        text = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
        package.writestr("content.xml", text)
        package.writestr("styles.xml", text)
    large = (
        b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + b"\0\x01\0\0\0\x01\0\0\x08\x02\0\0\0" + bytes(40)
    )
    return {
        "bomb.ods": bomb.getvalue(),
        "laughs.odt": laughs.getvalue(),
        "outside.odp": outside.getvalue(),
        "half.ods": written_files({"a.ods": {"sheets": {"S": [[1]]}}})["a.ods"][:300],
        "no package.odt": b"PK\x03\x04 nothing",
        "large.png": large,
        "no picture.jpg": b"\xff\xd8\xff",
        "no text.txt": b"\xff\xfe\x00\xd8",
        "no document.pdf": b"%!PS",
    }


@pytest.mark.parametrize("name", [*broken_documents()])
def test_a_document_that_cannot_be_read_is_a_difference_and_no_error(name):
    content = broken_documents()[name]
    assert set(read_file(name, content)) == {"unreadable"}
    assert "root:" not in str(read_file(name, content))


def test_folders_and_links_are_what_they_are_and_not_files():
    files = {"a/": b"", "a/b.txt": b"x", "c.txt": b"-> /etc/hostname", ".hidden": b"x"}
    assert tree_of(files) == {
        "a/": "a folder",
        "a/b.txt": ["x"],
        "c.txt": {"link": "-> /etc/hostname"},
    }


@pytest.mark.parametrize(
    ("path", "content", "expected"),
    [
        (
            f"{CHANNELS}xfwm4.xml",
            '<channel name="xfwm4"><property name="a" type="array"><value value="1"/>'
            '<value value="2"/></property><other name="b" value="3"/></channel>',
            {"xfwm4/a": ["1", "2"]},
        ),
        (f"{CHANNELS}xfwm4.xml", "<channel", {}),
        (f"{CHANNELS}xfwm4.txt", '<channel name="xfwm4"/>', {}),
        (
            ".config/glib-2.0/settings/keyfile",
            "[org/gnome/evince]\nShowSidebar=true\n",
            {"org/gnome/evince/ShowSidebar": "true"},
        ),
        (".config/glib-2.0/settings/keyfile", "no group=1", {}),
        (
            ".config/libreoffice/4/user/registrymodifications.xcu",
            '<oor:items xmlns:oor="http://openoffice.org/2001/registry">'
            '<item oor:path="/org.openoffice.Office.Calc/Grid"><prop oor:name="Show">'
            "<value>true</value></prop></item>"
            '<item oor:path="/org.openoffice.Office.Calc/Grid"><prop oor:name="Show">'
            "<value>false</value></prop></item></oor:items>",
            {"Office.Calc/Grid/Show": "false"},  # what is written last
        ),
    ],
)
def test_settings_are_read_from_each_programs_own_file(path, content, expected):
    keys = frozenset({*expected, "never/set"})
    settings = {f"settings:{key}": value for key, value in expected.items()}
    assert tree_of({path: content.encode()}, keys) == settings | {"settings:never/set": None}


@pytest.mark.parametrize(
    ("edit", "end", "line"),
    [
        (["write", "a.txt", "one\ntwo"], ["one", "2"], 'a.txt: 2: "two" is expected, not "2"'),
        (["write", "a.txt", "one\ntwo"], ["one"], 'a.txt: 2: "two" is expected, not null'),
        (
            ["set", "b.ods", ["sheet S", "tab"], "#ff0000"],
            {"sheet S": {"tab": "#00ff00", "content": 1}},
            'b.ods: sheet S tab: "#ff0000" is expected, not "#00ff00"',
        ),
        (["write", "a.txt", "x" * 300], ["x"], f'a.txt: 1: "{"x" * 198}… is expected, not "x"'),
    ],
)
def test_a_difference_is_named_with_its_place(edit, end, line):
    start = {"a.txt": ["one"], "b.ods": {"sheet S": {"content": 2}}}
    outcome = compare_trees([edit], start, {**start, edit[1]: end})
    assert (False, line) in outcome.lines


@pytest.mark.parametrize(
    ("edits", "problem"),
    [
        ([["rename", "none.txt", "b.txt"]], r"there is no none\.txt"),
        ([["replace", "a.txt", "three", "3"]], r"a\.txt does not have 'three'"),
        ([["picture", "a.png", [["blur", 2]]]], "no operation 'blur'"),
    ],
)
def test_an_edit_that_does_not_fit_the_files_is_refused(edits, problem):
    files = {"a.txt": "one\ntwo", "a.png": {"picture": {"seed": 1, "size": [120, 80]}}}
    with pytest.raises(ValueError, match=problem):
        edited(tree_of(written_files(files)), edits)


def test_edits_of_plain_data_change_what_they_name_and_nothing_else():
    start = {"a": {"rows": [1, 2, 3], "b": {"x": 1, "y": 2}}, "c": "z"}
    edits = [
        ["move", "a", ["rows", 0], 2],
        ["insert", "a", ["rows", 0], 9],
        ["remove", "a", ["b", "x"]],
        ["update", "a", ["b"], {"y": None, "z": 3, "none": None}],
        ["set", "c", [], "new"],
    ]
    end = {"a": {"rows": [9, 2, 3, 1], "b": {"z": 3}}, "c": "new"}
    assert edited(start, edits) == end
    assert start["a"]["rows"] == [1, 2, 3] and "x" in start["a"]["b"]


def test_edits_of_sheets_keep_their_order_and_their_cells():
    start = {"a.ods": {"sheets": ["One", "Two"], "sheet One": {"cells": {"A1": {"value": 1}}}}}
    start["a.ods"]["sheet Two"] = {"cells": {}}
    cells = {"A1": {"bold": "bold"}, "B1": 5, "C1": None}
    edits = [
        ["sheet.rename", "a.ods", "One", "First"],
        ["sheet.insert", "a.ods", 1, "New", {"A1": "x"}],
        ["sheet.remove", "a.ods", "Two"],
        ["cells", "a.ods", "First", cells],
    ]
    data = edited(start, edits)["a.ods"]
    assert data == {
        "sheets": ["First", "New"],
        "sheet First": {"cells": {"A1": {"value": 1, "bold": "bold"}, "B1": {"value": 5}}},
        "sheet New": {"cells": {"A1": {"value": "x"}}},
    }
    emptied = edited(start, [["cells", "a.ods", "One", {"A1": None}]])
    assert emptied["a.ods"]["sheet One"]["cells"] == {}


def test_files_and_folders_are_renamed_copied_and_deleted_with_all_in_them():
    start = {"a/": "a folder", "a/b.txt": ["x"], "ab.txt": ["y"]}
    assert edited(start, [["rename", "a/", "c/"]]) == {
        "c/": "a folder",
        "c/b.txt": ["x"],
        "ab.txt": ["y"],
    }
    assert edited(start, [["delete", "a/"]]) == {"ab.txt": ["y"]}
    copied = edited(start, [["copy", "a/", "c/"], ["folder", "d/"]])
    assert copied == start | {"c/": "a folder", "c/b.txt": ["x"], "d/": "a folder"}
