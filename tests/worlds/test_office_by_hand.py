"""`python -m benchmarks.worlds.office`: a task in a browser of one's own."""

import io

import pytest

from benchmarks.worlds.office.__main__ import main


@pytest.mark.parametrize(
    ("arguments", "typed", "expected"),
    [
        ([], "\n", "No task: look around."),
        (["L3", "mail_write", "--seed", "2"], "done\n", "✗ add mail: recipients"),
        (["L3", "mail_write", "--look", "phone"], "", "/phone/mail/"),
        (["L4"], "", "calendar_accept_or_decline: "),
    ],
)
def test_an_office_is_served_until_a_line_is_empty(monkeypatch, capsys, arguments, typed, expected):
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    main(arguments)
    assert expected in capsys.readouterr().out


def test_a_task_that_there_is_not_is_named(capsys):
    with pytest.raises(SystemExit):
        main(["L3", "mail_burn"])
    assert "L3 has no task 'mail_burn'" in capsys.readouterr().err
