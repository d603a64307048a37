"""Whose a function is, by its dotted path."""

import pytest

from utils.functions.names import is_in_program, is_own


@pytest.mark.parametrize(
    ("dotted", "own", "in_program"),
    [
        ("utils.coordinates.parse_per_mille", True, True),
        ("benchmarks", True, True),
        ("models.acme.parse_point", False, True),  # users put files there, as the README says
        ("my_functions.parse", False, False),
        ("utils_of_mine.parse", False, False),
    ],
)
def test_a_function_in_models_may_be_the_users(dotted, own, in_program):
    assert (is_own(dotted), is_in_program(dotted)) == (own, in_program)
