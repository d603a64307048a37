"""What is read in a document that people have changed: sheets, texts, slides, and their looks."""

import io
import zipfile

import pytest

from benchmarks.worlds.desktop.documents import read_file, written_files
from benchmarks.worlds.desktop.documents.package import package
from benchmarks.worlds.desktop.documents.sheets import cells_of_formula, column_name

CONFIG = "urn:oasis:names:tc:opendocument:xmlns:config:1.0"


def document(kind, body, automatic="", common="", masters="", **files):
    """A package of OpenDocument, with further files by name ("settings" is "settings.xml")."""
    content = io.BytesIO(package(kind, body, automatic, common, masters))
    with zipfile.ZipFile(content, "a") as archive:
        for name, text in files.items():
            archive.writestr(f"{name}.xml", text)
    return content.getvalue()


def spreadsheet(table, *, before="", attributes="", **parts):
    """What is read of a spreadsheet with one sheet, "One"."""
    body = (
        f'<office:spreadsheet>{before}<table:table table:name="One" {attributes}>{table}'
        "</table:table></office:spreadsheet>"
    )
    return read_file("a.ods", document("ods", body, **parts))


def sheet(table, **parts):
    return spreadsheet(table, **parts)["sheet One"]


def row(*cells, attributes=""):
    return f"<table:table-row {attributes}>{''.join(cells)}</table:table-row>"


def cell(kind, attributes="", inside="<text:p>shown</text:p>"):
    return f'<table:table-cell office:value-type="{kind}" {attributes}>{inside}</table:table-cell>'


def style(name, family, inside="", attributes=""):
    return (
        f'<style:style style:name="{name}" style:family="{family}" {attributes}>{inside}'
        "</style:style>"
    )


def text_document(body, **parts):
    return read_file("a.odt", document("odt", f"<office:text>{body}</office:text>", **parts))


def paragraphs(body, **parts):
    return text_document(body, **parts)["blocks"]


# -- sheets ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "name"), [(0, "A"), (25, "Z"), (26, "AA"), (51, "AZ"), (701, "ZZ"), (702, "AAA")]
)
def test_columns_are_named_as_a_spreadsheet_names_them(index, name):
    assert column_name(index) == name


@pytest.mark.parametrize(
    ("formula", "cells"),
    [
        ("=SUM([.A1:.B2])", {"A1", "A2", "B1", "B2"}),
        ("=[.$C$3]*2", {"C3"}),
        ("=[.Z9]+[.AA9]", {"Z9", "AA9"}),
        ("=[.#REF!]+[.A1]", {"A1"}),  # a reference to a cell that was deleted
        ("=[$Two.A1]", set()),  # of another sheet
        ("=12", set()),
    ],
)
def test_a_formula_refers_to_the_cells_of_its_own_sheet(formula, cells):
    assert cells_of_formula(formula) == cells


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (cell("float", 'office:value="3.5"'), 3.5),
        (cell("currency", 'office:value="12"'), 12.0),
        (cell("percentage", 'office:value="0.25"'), 0.25),
        (cell("date", 'office:date-value="2026-03-09"'), "2026-03-09"),
        (cell("date"), "shown"),
        (cell("boolean", 'office:boolean-value="true"'), "shown"),
        (cell("string", inside="<text:p>one</text:p><text:p>two</text:p>"), "one\ntwo"),
    ],
)
def test_a_cell_has_the_value_of_its_kind_and_not_what_is_shown(written, value):
    assert sheet(row(written))["cells"] == {"A1": {"value": value}}


def test_a_cell_has_its_formula_and_its_note_beside_its_value():
    note = "<office:annotation><text:p>ask</text:p><text:p>Ann</text:p></office:annotation>"
    written = cell(
        "float", 'office:value="3" table:formula="of:=[.B1]"', f"{note}<text:p>3</text:p>"
    )
    assert sheet(row(written))["cells"]["A1"] == {
        "value": 3.0,
        "formula": "=[.B1]",
        "note": "ask\nAnn",
    }


@pytest.mark.parametrize(
    ("properties", "marks"),
    [
        ('fo:font-weight="bold"', {"bold": "bold"}),
        ('fo:color="#ff0000" fo:font-size="14pt"', {"color": "#ff0000", "size": "14pt"}),
        ('fo:font-weight="normal" fo:color="#000000" fo:font-size="10pt"', {}),
    ],
)
def test_a_look_of_a_cell_is_read_where_it_is_not_the_usual_one(properties, marks):
    looks = style("c", "table-cell", f"<style:text-properties {properties}/>")
    cells = sheet(row(cell("string", 'table:style-name="c"')), automatic=looks)["cells"]
    assert cells == {"A1": {"value": "shown"} | marks}


def test_an_empty_cell_is_there_only_where_it_has_a_colour():
    looks = style(
        "c",
        "table-cell",
        '<style:table-cell-properties fo:background-color="#ffff00"/>'
        '<style:text-properties fo:font-weight="bold"/>',
    )
    table = row("<table:table-cell/>", '<table:table-cell table:style-name="c"/>')
    assert sheet(table, automatic=looks)["cells"] == {"B1": {"background": "#ffff00"}}


def test_a_cell_without_a_style_has_that_of_its_column():
    looks = style("c", "table-cell", '<style:text-properties fo:font-style="italic"/>')
    looks += style("d", "table-cell")
    columns = '<table:table-column table:default-cell-style-name="c"/>'
    own = cell("string", 'table:style-name="d"')
    cells = sheet(columns + row(cell("string"), cell("string")) + row(own), automatic=looks)[
        "cells"
    ]
    assert cells["A1"] == {"value": "shown", "italic": "italic"}
    assert cells["B1"] == cells["A2"] == {"value": "shown"}


def test_repeated_cells_and_rows_stand_in_each_of_their_places():
    table = row(
        cell("string", 'table:number-columns-repeated="2"'),
        "<table:covered-table-cell/>",
        cell("float", 'office:value="1"'),
        attributes='table:number-rows-repeated="2"',
    )
    cells = sheet(table)["cells"]
    assert [*cells] == ["A1", "B1", "D1", "A2", "B2", "D2"]
    assert cells["D2"] == {"value": 1.0}


def test_what_a_document_repeats_to_its_end_holds_nothing():
    table = (
        row(cell("string"), cell("string", 'table:number-columns-repeated="16000"'))
        + row(cell("string"), attributes='table:number-rows-repeated="1048000"')
        + row(cell("string", 'table:style-name="none"'))
    )
    assert [*sheet(table)["cells"]] == ["A1", "A1048002"]


def test_hidden_rows_and_columns_are_named_and_those_to_the_end_are_not():
    table = (
        '<table:table-column table:number-columns-repeated="2"/>'
        '<table:table-column table:visibility="collapse"/>'
        '<table:table-column table:number-columns-repeated="2000" table:visibility="collapse"/>'
        + row(cell("string"))
        + row(attributes='table:visibility="filter" table:number-rows-repeated="2"')
        + row(cell("string"))
        + row(attributes='table:visibility="collapse" table:number-rows-repeated="1048000"')
    )
    data = sheet(table)
    assert data["hidden columns"] == ["C"]
    assert data["hidden rows"] == [2, 3]
    assert [*data["cells"]] == ["A1", "A4"]


def test_a_merged_cell_says_over_how_many_columns_and_rows():
    spans = 'table:number-columns-spanned="3" table:number-rows-spanned="2"'
    cells = sheet(row(cell("string", spans)))["cells"]
    assert cells == {"A1": {"value": "shown", "merged": "3x2"}}


def test_a_rule_for_a_cell_is_what_the_document_says_of_it():
    rules = (
        "<table:content-validations>"
        '<table:content-validation table:name="v1" table:condition="of:a"/>'
        '<table:content-validation table:name="v2" table:condition="of:b"/>'
        "</table:content-validations>"
    )
    table = row(
        *(cell("string", f'table:content-validation-name="{name}"') for name in ("v2", "gone"))
    )
    cells = sheet(table, before=rules)["cells"]
    assert (cells["A1"]["rule"], cells["B1"]["rule"]) == ("of:b", "")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (
            '<number:percentage-style style:name="N1"><number:number number:decimal-places="2"/>'
            "<number:text>%</number:text></number:percentage-style>",
            "percent 2",
        ),
        (
            '<number:currency-style style:name="N1"><number:currency-symbol>$'
            '</number:currency-symbol><number:number number:decimal-places="2" '
            'number:grouping="true"/></number:currency-style>',
            "currency $ 2 ,",
        ),
        ('<number:number-style style:name="N1"><number:number/></number:number-style>', "number 0"),
        ('<number:date-style style:name="N1"><number:year/></number:date-style>', "date"),
        (
            '<number:currency-style style:name="N1"><number:currency-symbol/>'
            '<number:number number:decimal-places="0"/></number:currency-style>',
            "currency 0",
        ),
    ],
)
@pytest.mark.parametrize("place", ["automatic", "common"])
def test_a_format_of_numbers_is_read_in_few_words(place, written, words):
    other = style("N1", "paragraph")  # another kind of style with its name
    looks = style("c", "table-cell", attributes='style:data-style-name="N1"')
    parts = {"automatic": other + looks, "common": ""}
    parts[place] += written
    data = sheet(row(cell("float", 'office:value="1" table:style-name="c"')), **parts)
    assert data["cells"]["A1"] == {"value": 1.0, "format": words}


@pytest.mark.parametrize("name", ["N0", "N9"])
def test_the_usual_format_and_one_that_is_not_there_are_none(name):
    looks = style("c", "table-cell", attributes=f'style:data-style-name="{name}"')
    data = sheet(row(cell("float", 'office:value="1" table:style-name="c"')), automatic=looks)
    assert data["cells"]["A1"] == {"value": 1.0}


def test_a_style_has_what_the_one_above_it_has_unless_it_says_otherwise():
    looks = style(
        "above",
        "table-cell",
        '<style:text-properties fo:font-weight="bold" fo:color="#ff0000"/>',
        'style:data-style-name="N1"',
    )
    looks += style(
        "below",
        "table-cell",
        '<style:text-properties fo:color="#00ff00"/>',
        'style:parent-style-name="above"',
    )
    looks += '<number:percentage-style style:name="N1"/>'
    data = sheet(row(cell("float", 'office:value="1" table:style-name="below"')), automatic=looks)
    expected = {"value": 1.0, "format": "percent", "bold": "bold", "color": "#00ff00"}
    assert data["cells"]["A1"] == expected


def test_styles_that_are_made_from_each_other_come_to_an_end():
    properties = '<style:text-properties fo:font-weight="bold"/>'
    looks = style("a", "table-cell", attributes='style:parent-style-name="b"')
    looks += style("b", "table-cell", properties, 'style:parent-style-name="a"')
    data = sheet(row(cell("string", 'table:style-name="a"')), automatic=looks)
    assert data["cells"]["A1"] == {"value": "shown", "bold": "bold"}


def test_the_colour_of_a_tab_is_that_of_the_sheets_style():
    looks = style("ta1", "table", '<style:table-properties table:tab-color="#ff0000"/>')
    attributes = 'table:style-name="ta1"'
    assert sheet("", attributes=attributes, automatic=looks) == {"cells": {}, "tab": "#ff0000"}


CHART = (
    '<a xmlns:chart="urn:oasis:names:tc:opendocument:xmlns:chart:1.0" '
    'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0">{styles}'
    '<chart:chart chart:class="chart:{kind}">{inside}</chart:chart></a>'
)
TURNED = (
    '<style:style style:name="{name}"><style:chart-properties chart:vertical="{vertical}"/>'
    "</style:style>"
)


@pytest.mark.parametrize(
    ("kind", "styles", "inside", "expected"),
    [
        ("bar", "", "", "bar"),
        ("bar", TURNED.format(name="p", vertical="true"), "plot", "horizontal bar"),
        ("bar", TURNED.format(name="p", vertical="false"), "plot", "bar"),
        ("bar", TURNED.format(name="other", vertical="true"), "plot", "bar"),
        ("line", TURNED.format(name="p", vertical="true"), "plot", "line"),
    ],
)
def test_bars_that_lie_are_another_kind_of_chart(kind, styles, inside, expected):
    plot = '<chart:plot-area chart:style-name="p"/>' if inside else ""
    chart = CHART.format(kind=kind, styles=styles, inside=plot)
    shown = '<draw:object xlink:href="./Object 1" draw:notify-on-update-of-ranges="One.B1:One.B2"/>'
    table = f"<table:shapes><draw:frame>{shown}</draw:frame></table:shapes>"
    [chart] = sheet(table, **{"Object 1/content": chart})["charts"]
    assert chart == {"kind": expected, "title": "", "cells": ["B1", "B2"]}


@pytest.mark.parametrize("files", [{}, {"Object 1/content": "<a/>"}])
def test_an_object_that_is_no_chart_is_one_all_the_same(files):
    shown = '<draw:object xlink:href="./Object 1"/>'
    table = f"<table:shapes><draw:frame>{shown}</draw:frame></table:shapes>"
    assert sheet(table, **files)["charts"] == [{"kind": "object"}]


def test_filters_and_names_of_ranges_are_read():
    body = (
        '<office:spreadsheet><table:table table:name="One"/>'
        "<table:named-expressions><table:named-range "
        'table:name="Costs" table:cell-range-address="$One.$B$2:.$B$9"/></table:named-expressions>'
        "<table:database-ranges>"
        '<table:database-range table:target-range-address="One.A1:One.C9" '
        'table:display-filter-buttons="true"/>'
        '<table:database-range table:target-range-address="One.E1:One.F9"/>'
        "</table:database-ranges></office:spreadsheet>"
    )
    data = read_file("a.ods", document("ods", body))
    assert data["filters"] == ["One.A1:One.C9"]
    assert data["names"] == {"Costs": "$One.$B$2:.$B$9"}


def view(*settings):
    """The settings of a document with a view for each of some sheets."""
    entries = "".join(
        "<c:config-item-map-entry>"
        + "".join(
            f'<c:config-item c:name="{name}">{value}</c:config-item>'
            for name, value in values.items()
        )
        + "<c:other/></c:config-item-map-entry>"
        for values in settings
    )
    return f'<a xmlns:c="{CONFIG}">{entries}</a>'


def split(horizontal, vertical, columns, rows):
    return {
        "HorizontalSplitMode": horizontal,
        "VerticalSplitMode": vertical,
        "HorizontalSplitPosition": columns,
        "VerticalSplitPosition": rows,
    }


@pytest.mark.parametrize(
    ("settings", "frozen"),
    [
        ([split("0", "2", "0", "1")], [[0, 1]]),  # the first row
        ([split("2", "2", "1", "3")], [[1, 3]]),
        ([split("2", "0", "2", "900")], [[2, 0]]),
        ([split("1", "1", "400", "900")], []),  # split, and both parts move
        ([split("0", "2", "0", "")], [[0, 0]]),
        ([{"ZoomValue": "100"}], []),
        (
            [split("0", "2", "0", "1"), split("0", "0", "0", "0"), split("0", "2", "0", "4")],
            [[0, 1], [0, 4]],
        ),
    ],
)
def test_columns_and_rows_that_stay_in_view_are_read_for_each_sheet(settings, frozen):
    assert spreadsheet("", settings=view(*settings))["frozen"] == frozen


@pytest.mark.parametrize(
    ("page", "layout", "orientation"),
    [("Default", "p", "landscape"), ("Report", "p", "portrait"), ("Default", "q", "portrait")],
)
def test_pages_are_held_as_the_usual_style_says(page, layout, orientation):
    masters = (
        '<office:automatic-styles><style:page-layout style:name="p"><style:page-layout-properties '
        'style:print-orientation="landscape"/></style:page-layout></office:automatic-styles>'
        f'<office:master-styles><style:master-page style:name="{page}" '
        f'style:page-layout-name="{layout}"/></office:master-styles>'
    )
    assert spreadsheet("", masters=masters)["orientation"] == orientation


def test_a_condition_without_a_value_is_called_by_its_kind():
    table = (
        '<c:conditional-format xmlns:c="urn:calcext" c:target-range-address="One.A1">'
        "<c:color-scale/></c:conditional-format>"
    )
    expected = [{"cells": "One.A1", "condition": "color-scale", "style": ""}]
    assert spreadsheet(table)["conditions"] == expected


# -- texts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("a<text:s/>b", "a b"),
        ('a<text:s text:c="3"/>b', "a   b"),
        ("a<text:tab/>b<text:line-break/>c", "a\tb\nc"),
        ('a<text:a xlink:href="x">link</text:a>b', "alinkb"),
        ("a<office:annotation><text:p>ask</text:p></office:annotation>b", "ab"),
        ("a<text:note><text:note-body><text:p>x</text:p></text:note-body></text:note>b", "ab"),
        ("<text:span>a<text:span>b</text:span>c</text:span>", "abc"),
    ],
)
def test_a_paragraph_has_the_text_that_people_see_in_it(written, text):
    [block] = paragraphs(f"<text:p>{written}</text:p>")
    assert block["runs"] == [[text, {}]]


def test_a_paragraph_without_text_has_no_runs():
    assert paragraphs("<text:p/>") == [{"style": "Standard", "runs": []}]


LOOKS = (
    ("fo:font-weight", "bold", "bold"),
    ("fo:font-style", "italic", "italic"),
    ("style:text-underline-style", "solid", "underline"),
    ("style:text-line-through-style", "solid", "strike"),
    ("fo:color", "#ff0000", "color"),
    ("fo:background-color", "#ffff00", "highlight"),
    ("style:text-position", "super 58%", "position"),
)


@pytest.mark.parametrize(("attribute", "value", "mark"), LOOKS)
def test_a_part_of_a_paragraph_has_the_marks_of_its_style(attribute, value, mark):
    look = style("T1", "text", f'<style:text-properties {attribute}="{value}"/>')
    body = '<text:p>One <text:span text:style-name="T1">two</text:span> three</text:p>'
    [block] = paragraphs(body, automatic=look)
    assert block["runs"] == [["One ", {}], ["two", {mark: value}], [" three", {}]]


def test_parts_that_look_alike_are_one():
    look = style("T1", "text", '<style:text-properties fo:font-weight="bold"/>')
    look += style("T2", "text", '<style:text-properties fo:font-weight="bold" fo:color="#000000"/>')
    parts = "".join(
        f'<text:span text:style-name="{name}">{text}</text:span>'
        for name, text in (("T1", "one "), ("T2", "two"), ("T3", " three"))
    )
    [block] = paragraphs(f"<text:p>{parts}</text:p>", automatic=look)
    assert block["runs"] == [["one two", {"bold": "bold"}], [" three", {}]]


def test_what_the_style_of_a_paragraph_has_anyway_is_no_mark():
    bold = '<style:text-properties fo:font-weight="bold"/>'
    common = style("Heading_20_1", "paragraph", bold)
    automatic = style("P1", "paragraph", bold, 'style:parent-style-name="Heading_20_1"')
    body = '<text:h text:style-name="P1">One</text:h>'
    assert paragraphs(body, automatic=automatic, common=common) == [
        {"style": "Heading 1", "runs": [["One", {}]]}
    ]


@pytest.mark.parametrize(
    ("align", "expected"),
    [
        ("start", {}),
        ("left", {}),
        ("end", {"align": "right"}),
        ("center", {"align": "center"}),
        ("justify", {"align": "justify"}),
    ],
)
def test_a_paragraph_is_aligned_to_the_left_unless_it_says_otherwise(align, expected):
    look = style("P1", "paragraph", f'<style:paragraph-properties fo:text-align="{align}"/>')
    [block] = paragraphs('<text:p text:style-name="P1">One</text:p>', automatic=look)
    assert block == {"style": "Standard", "runs": [["One", {}]]} | expected


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ('fo:break-before="page"', {"break-before": "page"}),
        ('fo:break-before="auto"', {}),
        ('fo:margin-left="1cm"', {"margin-left": "1cm"}),
        ('fo:margin-left="0.5cm"', {}),  # as in its style
        ('fo:margin-left="0cm"', {}),
        ('fo:text-indent="2cm"', {"text-indent": "2cm"}),
        ('fo:line-height="100%"', {}),
        ('fo:line-height="200%"', {"line-height": "200%"}),
    ],
)
def test_breaks_and_margins_count_where_they_are_set_by_hand(own, expected):
    common = style("Standard", "paragraph", '<style:paragraph-properties fo:margin-left="0.5cm"/>')
    automatic = style(
        "P1",
        "paragraph",
        f"<style:paragraph-properties {own}/>",
        'style:parent-style-name="Standard"',
    )
    body = '<text:p text:style-name="P1">One</text:p>'
    [block] = paragraphs(body, automatic=automatic, common=common)
    assert block == {"style": "Standard", "runs": [["One", {}]]} | expected


def test_images_in_a_paragraph_are_counted_and_their_captions_are_no_text():
    frame = "<draw:frame><draw:text-box><text:p>Picture 1</text:p></draw:text-box></draw:frame>"
    [block] = paragraphs(f"<text:p>One{frame * 2} two</text:p>")
    assert block == {"style": "Standard", "runs": [["One two", {}]], "images": 2}


@pytest.mark.parametrize(
    ("name", "place", "kind"),
    [("L1", "automatic", "bullet"), ("L2", "common", "number"), ("L3", "automatic", "list")],
)
def test_a_list_has_its_paragraphs_with_the_kind_of_list(name, place, kind):
    parts = {
        "automatic": '<text:list-style style:name="L1"><text:list-level-style-bullet/>'
        '</text:list-style><text:list-style style:name="L3"/>',
        "common": '<text:list-style style:name="L2"><text:list-level-style-number/>'
        "</text:list-style>",
    }
    assert f'"{name}"' in parts[place]
    items = "".join(
        f"<text:list-item><text:p>{text}</text:p></text:list-item>" for text in ("one", "two")
    )
    blocks = paragraphs(f'<text:list text:style-name="{name}">{items}</text:list>', **parts)
    assert [(block["runs"][0][0], block["list"]) for block in blocks] == [
        ("one", kind),
        ("two", kind),
    ]


def test_paragraphs_of_a_section_are_blocks_and_what_is_no_text_is_none():
    body = "<text:sequence-decls/><text:section><text:p>one</text:p></text:section><text:p>two</text:p>"
    assert [block["runs"][0][0] for block in paragraphs(body)] == ["one", "two"]


def test_a_table_has_the_texts_of_its_cells_row_by_row():
    inside = (
        "<table:table-header-rows>"
        + row(cell("string", inside="<text:p>a</text:p><text:p>b</text:p>"), cell("string"))
        + "</table:table-header-rows>"
        + row(cell("string", inside="<text:p>c</text:p>"), "<table:covered-table-cell/>")
    )
    assert paragraphs(f"<table:table>{inside}</table:table>") == [
        {"table": [["a\nb", "shown"], ["c"]]}
    ]


def test_headers_and_footers_have_their_texts_and_page_numbers_are_named():
    masters = (
        '<office:automatic-styles><style:page-layout style:name="p"><style:page-layout-properties '
        'style:print-orientation="landscape"/></style:page-layout></office:automatic-styles>'
        "<office:master-styles><style:master-page><style:header><text:p>Plan</text:p>"
        "</style:header><style:footer><text:p>Page <text:page-number>1</text:page-number></text:p>"
        "<text:p>end</text:p></style:footer></style:master-page></office:master-styles>"
    )
    data = text_document("<text:p>One</text:p>", masters=masters)
    assert data["header"] == ["Plan"]
    assert data["footer"] == ["<page-number>", "end"]
    assert data["page"] == {"orientation": "landscape"}


def test_a_text_without_a_layout_of_pages_is_held_upright():
    data = text_document("<text:p>One</text:p>")
    assert (data["page"], data["header"], data["footer"]) == ({"orientation": "portrait"}, [], [])


def test_a_paragraph_is_written_with_what_is_set_by_hand():
    blocks = [
        {"text": "a & b", "bold": True, "align": "center"},
        {"text": "c", "italic": True},
        {"text": "d\te\nf", "style": "Text body"},
    ]
    content = written_files({"a.odt": {"blocks": blocks}})["a.odt"]
    assert read_file("a.odt", content)["blocks"] == [
        {"style": "Standard", "runs": [["a & b", {"bold": "bold"}]], "align": "center"},
        {"style": "Standard", "runs": [["c", {"italic": "italic"}]]},
        {"style": "Text body", "runs": [["d\te\nf", {}]]},
    ]


# -- slides ----------------------------------------------------------------------------------------


def slides(*pages, automatic=""):
    body = f"<office:presentation><office:other/>{''.join(pages)}</office:presentation>"
    return read_file("a.odp", document("odp", body, automatic))["slides"]


def frame(*lines, kind="", inside=""):
    texts = "".join(f"<text:p>{line}</text:p>" for line in lines)
    return (
        f'<draw:frame presentation:class="{kind}"><draw:text-box>{texts}</draw:text-box>{inside}'
        "</draw:frame>"
    )


def test_a_slide_has_its_title_its_texts_and_its_images():
    image = frame(inside="<draw:image/>")
    shapes = [frame("Plan", "2026", kind="title"), frame("one", "", "two"), image, image]
    [slide] = slides(f"<draw:page>{''.join(shapes)}</draw:page>")
    assert slide == {"title": "Plan\n2026", "body": ["one", "two"], "images": 2}


@pytest.mark.parametrize(
    ("lines", "notes"),
    [(("say it", "slowly"), {"notes": "say it\nslowly"}), ((), {}), ((" ",), {})],
)
def test_notes_of_a_slide_are_read_where_there_are_any(lines, notes):
    page = f"<draw:page><presentation:notes>{frame(*lines)}</presentation:notes></draw:page>"
    assert slides(page) == [{"title": "", "body": []} | notes]


@pytest.mark.parametrize(
    ("properties", "look"),
    [
        ('presentation:visibility="hidden"', {"hidden": True}),
        ('presentation:visibility="visible"', {}),
        ('smil:type="fade"', {"transition": "fade"}),
        ('draw:fill="solid" draw:fill-color="#ff0000"', {"background": "#ff0000"}),
        ('draw:fill="none" draw:fill-color="#ff0000"', {}),
        ('draw:fill="solid"', {}),
    ],
)
def test_a_slide_is_hidden_moves_and_is_coloured_as_its_style_says(properties, look):
    looks = style(
        "dp1",
        "drawing-page",
        f'<style:drawing-page-properties xmlns:smil="urn:smil" {properties}/>',
    )
    page = '<draw:page draw:style-name="dp1"/>'
    assert slides(page, automatic=looks) == [{"title": "", "body": []} | look]


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ods", "odt", "odp"])
def test_a_document_without_a_body_cannot_be_read(kind):
    assert set(read_file(f"a.{kind}", document(kind, ""))) == {"unreadable"}


@pytest.mark.parametrize("content", [3, {"sheet": []}, None])
def test_what_is_no_content_of_a_file_is_named_with_its_path(content):
    with pytest.raises(ValueError, match=r"Documents/a\.ods: no content of a file"):
        written_files({"Documents/a.ods": content})


def test_a_text_is_compared_without_white_space_at_its_ends_and_other_files_as_they_are():
    assert read_file("a.TXT", b"one  \r\n\ntwo\n\n\n") == ["one", "", "two"]
    first, same, other = (read_file("a.bin", content) for content in (b"x", b"x", b"x\n"))
    assert first == same != other and set(first) == {"bytes"}
