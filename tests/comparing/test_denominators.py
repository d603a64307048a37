"""Which row counts a printed accuracy can be of."""

import pytest

from tools.denominators import KNOWN, fitting_row_counts, main
from utils.errors import UserError


def rows_that_fit(figure, dataset):
    lines = fitting_row_counts(figure, dataset).splitlines()[1:]
    return [int(line.split()[0]) for line in lines if "fits:" in line]


@pytest.mark.parametrize(
    ("figure", "dataset", "rows"),
    [
        ("63.23", "OSWorldG", [563]),
        ("68.43", "OSWorldG", [510]),
        ("63.65", "OSWorldG", [564]),
        ("64.07", "ScreenSpotPro", [1581]),
        ("88.76", "GUIElementGrounding", [3594]),
        ("100", "OSWorldG", [564, 563, 510, 470]),
    ],
)
def test_published_figures_fit_the_row_counts_that_they_are_of(figure, dataset, rows):
    assert set(rows) <= set(rows_that_fit(figure, dataset))


def test_every_figure_of_a_row_count_fits_it():
    for hits in range(565):
        assert 564 in rows_that_fit(f"{100 * hits / 564:.2f}", "OSWorldG")


def test_the_command_prints_them(capsys):
    assert main(["63.23", "--data", "OSWorldG"]) == 0
    assert "563  fits: 356 hits" in capsys.readouterr().out


@pytest.mark.parametrize("figure", ["many", "101", "-1"])
def test_what_is_no_percentage_is_refused(figure):
    with pytest.raises(UserError):
        fitting_row_counts(figure, "OSWorldG")


def test_an_unknown_data_set_is_refused():
    with pytest.raises(UserError, match="row counts are known of"):
        fitting_row_counts("50.0", "Nothing")
    assert "OSWorldG" in KNOWN
