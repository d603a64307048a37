"""How checks of the office compare: other right ways pass, wrong ones that look alike do not."""

import pytest

from benchmarks.worlds.office.apps import APPS
from benchmarks.worlds.office.store import Store
from benchmarks.worlds.office.tasks.checks import check
from benchmarks.worlds.office.tasks.formulas import cell_text, is_same_formula
from benchmarks.worlds.office.tasks.values import matches
from benchmarks.worlds.office.tasks.variants import variant
from benchmarks.worlds.office.week import base_store
from tests.support.office_store import StoreHand
from tests.support.office_tasks import task_named

QUOTE = "\n\nOn 2026-03-06 15:45, Ana Haddad wrote:\n> May I book it, or no?\n> Yes or no?"


@pytest.mark.parametrize(
    ("expected", "actual", "fits"),
    [
        ("12345.67", "12345.70", False),
        ("12345.67", "12,345.670", True),
        ("0.1234567", "0.123457", False),
        ("The keys are here.", "the keys are here!", True),
        ("9:05", "09:05", True),
        ("+44 20 7946 0777", "+442079460777", True),
        ("+44 20 7946 0777", "(+44) 20-7946-0777", True),
        ("+44 20 7946 0777", "0044 20 7946 0777", True),
        ("+44 20 7946 0777", "+44 20 7946 0778", False),
        ("+44 20 7946 0777", "+44 20 7946 0777 or +44 20 7946 0778", False),
        ({"number": "12345.67"}, "12345.72", False),
        ({"number": "15300"}, "EUR15,300.00", True),
        ({"money": "12.30"}, "12.30", True),
        ({"money": "12.30"}, "12.30 €", True),
        ({"money": "12.30"}, "€12.3", True),
        ({"money": "12.30"}, "EUR 12.30", True),
        ({"money": "12.30"}, "12330", False),
        ({"money": "12.30"}, "12.30 USD", False),
        ({"money": "1850"}, "1,850.00 EUR", True),
        ({"contains": ["15300"]}, "They cost 15,300 EUR a year.", True),
        ({"contains": ["15300"]}, "They cost EUR15300.", True),
        ({"contains": ["140"]}, "140.00 EUR", True),
        ({"contains": ["140"]}, "1140 EUR", False),
        ({"contains": ["140"]}, "140.50 EUR", False),
        ({"contains": ["2026-03-20", "10:05"]}, "On 20 March 2026 at 10:05.", True),
        ({"contains": ["2026-03-20"]}, "On March 20th, 2026", True),
        ({"contains": ["2026-03-20"]}, "On 20 March 2027", False),
        ({"contains": ["+44 20 7946 0777"]}, "Phone: +442079460777", True),
        ({"contains": ["140"], "without": ["38"]}, "Hotels: 140 EUR, meals: 38 EUR", False),
        ({"contains": ["140"]}, "Hotels: 140 EUR, meals: 38 EUR", True),
        ({"contains": ["2026-03-20"], "without": ["2026-03-21"]}, "2026-03-20 or 21 March", False),
        ({"contains": ["Pier 7"]}, "At Pier 7.5", False),
        ({"contains": ["Pier 7"], "without": ["Pier 7", "Gate 21"]}, "At Pier 7.", True),
        ({"contains": ["Pier 7"], "without": ["Pier 7", "Gate 21"]}, "Pier 7, Gate 21", False),
        ({"contains": ["A"], "without": [{"title": "B"}]}, "A and B", False),
        ({"contains": ["A"], "without": [{"title": "B"}]}, "A, not B", True),
        ({"lines": ["Barn", {"number": 1850}]}, "barn\n1,850 EUR", True),
        ({"lines": ["Barn", {"number": 1850}]}, "1850\nBarn", False),
        ({"reply": {"contains": ["140"]}}, f"140 EUR{QUOTE}", True),
        ({"reply": {"contains": ["15:45"]}}, f"Hello{QUOTE}", False),
    ],
)
def test_numbers_dates_and_telephone_numbers_are_compared_as_such(expected, actual, fits):
    assert matches(expected, actual) is fits


USUAL_FORMS = [
    # names of things that one counts, in the plural
    ({"contains": ["Cirrus Desk lamp"]}, "I took 4 Cirrus Desk lamps instead", True),
    ({"contains": ["Dune Whiteboard"]}, "Two dune whiteboards.", True),
    ({"contains": ["Arbor Lunch box"]}, "5 x Arbor Lunch boxes", True),
    ({"contains": ["Basalt USB stick"]}, "3 Basalt USB-sticks", True),
    ({"contains": ["Arbor Mug set"]}, "Arbor Mug sets (6)", True),
    ({"contains": ["Cirrus Desk lamp"]}, "I took 4 Cirrus Desk lampshades", False),
    ({"contains": ["Cirrus Desk lamp"]}, "I took 4 Basalt Desk lamps", False),
    ({"contains": ["Nils Brandt"]}, "Nils Brandtner", False),
    # amounts
    ({"contains": ["210.05"]}, "In all 210,05 €", True),
    ({"contains": ["1412.50"]}, "Total: 1.412,50 EUR", True),
    ({"contains": ["1412.50"]}, "1,412.50 EUR, delivery included", True),
    ({"contains": ["1412"]}, "1.412 EUR", True),
    ({"contains": ["0.50"]}, "0,5 EUR a piece", True),
    ({"contains": ["1412.50"]}, "1,412,50", False),
    ({"contains": ["210.05"]}, "210,50", False),
    ({"money": "12.30"}, "12,30 EUR", True),
    ({"money": "1850"}, "1.850,00", True),
    ({"money": "1850"}, "1,85", False),
    ({"number": "1412.50"}, "1.412,50 EUR", True),
    # times
    ({"contains": ["13:00"]}, "At 1 pm.", True),
    ({"contains": ["13:00"]}, "1:00 PM", True),
    ({"contains": ["13:00"]}, "at 1 p.m. in Room Cedar", True),
    ({"contains": ["13:00"]}, "13.00", True),
    ({"contains": ["09:00"]}, "09:00: Welcome", True),
    ({"contains": ["12:00"]}, "at noon", True),
    ({"contains": ["00:30"]}, "12:30 am", True),
    ({"contains": ["13:00"]}, "1 am", False),
    ({"contains": ["13:00"]}, "13.05", False),
    ({"contains": ["13:00"]}, "at 1", False),
    # dates
    ({"contains": ["2026-03-16"]}, "16.03.2026", True),
    ({"contains": ["2026-03-16"]}, "Mon, 16 Mar", True),
    ({"contains": ["2026-03-16"]}, "16/03/2026 or 03/16/2026, as you write it", True),
    ({"contains": ["2026-03-16"]}, "16-Mar-2026", True),
    ({"contains": ["2026-03-16"]}, "am 16.03.", True),
    ({"contains": ["2026-03-16"]}, "17.03.2026", False),
    ({"contains": ["2026-03-16"]}, "16.03.2027", False),
    ({"contains": ["2026-03-18", "2026-03-20"]}, "18 March\n2026-03-20", True),
    ({"contains": ["9900"]}, "Until 28 October, 9900 EUR a year", True),
    ("2026-03-04", "4 March 2026", True),
    ("2026-03-04", "Wed 4 March", True),
    ("2026-03-04", "04.03.2026", True),
    ("2026-03-04", "5 March 2026", False),
    ("2026-03-04", "4 or 5 March", False),
    ("2026-03-04", "4 March, Leeds", False),
    # numbers in words, in lists, with quantities
    ({"contains": ["30"]}, "Thirty chairs.", True),
    ({"contains": ["33"]}, "thirty-three", True),
    ({"contains": ["120"]}, "a hundred and twenty of them", True),
    ({"contains": ["12"]}, "Twelve, I think", True),
    ({"contains": ["30"]}, "thirty-three", False),
    ({"contains": ["7"]}, "seventy", False),
    ({"number": 4}, "There are four.", True),
    ({"number": 4}, "fourteen", False),
    ({"contains": ["7308", "7310"]}, "I have cancelled 2 orders:\n1. 7308 (3x)\n2. 7310", True),
    ({"contains": ["7308", "7310"]}, "7308,7310", True),
    # what does not hold any more
    ({"contains": ["30"], "without": ["33"]}, "30 chairs (not 33)", True),
    ({"contains": ["30"], "without": ["33"]}, "30 chairs, the sheet said 33", True),
    (
        {"contains": ["2026-03-17"], "without": ["2026-03-12"]},
        "17 March instead of Thursday, 12 March",
        True,
    ),
    (
        {"contains": ["Room Cedar"], "without": ["Room Elm"]},
        "Moved from Room Elm to Room Cedar",
        True,
    ),
    ({"contains": ["30"], "without": ["33"]}, "30 (no longer thirty-three)", True),
    ({"contains": ["30"], "without": ["33"]}, "33 chairs", False),
    ({"contains": ["30"], "without": ["33"]}, "30 or 33", False),
    ({"contains": ["30"], "without": ["33"]}, "Not 31 but 33, or 30", False),
    ({"contains": ["30"], "without": ["33"]}, "30. Or thirty-three", False),
]


@pytest.mark.parametrize(("expected", "actual", "fits"), USUAL_FORMS)
def test_a_text_counts_by_what_it_says_and_not_by_its_form(expected, actual, fits):
    assert matches(expected, actual) is fits


@pytest.mark.parametrize(
    ("text", "fits"),
    [("12.30 EUR", True), ("12330", False), ("12.30 (net)", False)],
)
def test_a_value_in_a_pattern_stands_for_itself(text, fits):
    task = {
        "id": "amount",
        "apps": ["chat"],
        "category": "create",
        "goal": "Write {sum}.",
        "draw": {"sum": ["12.30"]},
        "answer": {"pattern": "{sum}( EUR)?"},
        "oracle": [["answer", "{sum}"]],
    }
    assert matches(variant(task, 0)["answer"], text) is fits


@pytest.mark.parametrize(
    ("answer", "text", "fits"),
    [
        ("Yes", "Yes", True),
        ("Yes", "yes, gladly", True),
        ("Yes", "Hi Dmitri,\n\nYes, gladly.\n\nBest regards\nRobin", True),
        ("Yes", "Dear Ana Haddad\n\nYes.", True),
        ("Yes", "Hello Ana, thanks for asking. Yes, no problem.", True),
        ("Yes", "Yes, it does not exceed the limit of 150 EUR.", True),
        ("Yes", "“Yes”", True),
        ("Yes", "Yes and no", False),
        ("Yes", "Yes. No.", False),
        ("Yes", "Yes, but you must not book it", False),
        ("Yes", "Yesterday", False),
        ("Yes", "Yes, or not.", False),
        ("Yes", "Yes yes no", False),
        ("Yes", f"Yes. {'So it is. ' * 40}", False),
        ("Yes", "No problem, book it!", False),
        ("Yes", "I do not know. Yes", False),
        ("No", "Hi Ana,\n\nNo, sorry, 155 EUR is above the limit of 135 EUR.", True),
        ("No", "No, please don't book it.", True),
        ("No", "No problem, book it!", False),
        ("No", "No, book it!", False),
        ("No", "No worries.", False),
        ("No", "No or yes", False),
        ("No", "Not sure", False),
        ("Accepted", "Hi Ana,\n\nAccepted. See you then!\n\nRobin", True),
        ("Accepted", "Accepted. Declined.", False),
        ("Accepted", "Accepted, perhaps", False),
        ("Accepted", "Not accepted", False),
        ("Declined", "Declined, I have another meeting at 10:00.", True),
        ("Declined", "Declined or accepted", False),
        ("Ask at desk 4", "Hello Ana, ask at desk 4, please.", True),
        ("Ask at desk 4", "Ask at desk 4 or desk 5", False),
        ("Not before May", "Not before May, sorry.", True),
        ("Not before May", "Not before Mayday", False),
    ],
)
def test_a_short_answer_may_be_polite_but_not_contradict_itself(answer, text, fits):
    assert matches({"reply": answer}, text) is fits
    assert matches({"reply": answer}, text + QUOTE) is fits


SHEET = {
    "D1": "EUR",
    "D2": "120",
    "D3": "35.5",
    "D4": "=D2*2",
    "E2": "3",
    "G2": "1",
    "G3": "2",
    "G4": "4",
    "H1": "=H2",
    "H2": "=H1",
}


@pytest.mark.parametrize(
    ("expected", "actual", "fits"),
    [
        ("=SUM(D2:D4)", "=SUM(D2:D4)", True),
        ("=SUM(D2:D4)", "= sum( $D$2 : D$4 )", True),
        ("=SUM(D2:D4)", "=D2+D3+D4", True),
        ("=SUM(D2:D4)", "=SUM(D2;D3;D4)", True),
        ("=SUM(D2:D4)", "=SUM(D4:D2)", True),
        ("=SUM(D2:D4)", "=AVERAGE(D2:D4)*3", True),
        ("=SUM(D2:D4)", "=SUM(D2:D3)+D4", True),
        ("=SUM(D2:D4)", "=395.5", False),
        ("=SUM(D2:D4)", "395.5", False),
        ("=SUM(D2:D4)", "=SUM(D2:D5)", False),
        ("=SUM(D2:D4)", "=D2*3+D3", False),
        ("=SUM(D2:D4)", "=D2+D3+240", False),
        ("=SUM(D2:D4)", "=SUM(D2:D20)", False),
        ("=SUM(D2:D4)", "=SUM(D2:D4", False),
        ("=SUM(D2:D4)", "=SUMME(D2:D4)", False),
        ("=SUM(D2:D4)", "=G2+G3+G4", False),
    ],
)
def test_a_formula_is_one_that_gives_the_same_whatever_its_cells_hold(expected, actual, fits):
    assert is_same_formula(expected, actual, SHEET, "D20") is fits


@pytest.mark.parametrize(
    ("formula", "result"),
    [
        ("=1+2*3-4/2", "5"),
        ("=(1+2)*-3", "-9"),
        ("=10/4", "2.5"),
        ("=1/3", "0.333333"),
        ("=1/0", "#DIV/0!"),
        ("=D1", "0"),
        ("=D1+D2", "120"),
        ("=SUM(D1:D4)", "395.5"),
        ("=sum(D2:E3, 1; 2)", "161.5"),
        ("=COUNT(D1:D4)", "3"),
        ("=AVERAGE(A1:B9)", "#DIV/0!"),
        ("=MIN(D2:D4)+MAX(D2:D4)", "275.5"),
        ("=MAX(A1:A3)", "0"),
        ("=ROUND(D3, 0)", "36"),
        ("=ROUND(-2.5)", "-2"),
        ("=$D$2+D$3", "155.5"),
        ("=H1", "#CIRCLE!"),
        ("=NOTHING(1)", "#NAME?"),
        ("=SUM(D2:D4", "#ERROR!"),
        ("=1 2", "#ERROR!"),
        ("=", "#ERROR!"),
        ("=.5*4", "2"),
    ],
)
def test_a_formula_has_the_value_that_its_cell_shows(formula, result):
    assert cell_text({**SHEET, "J9": formula}, "J9") == result


class Office:
    """An office in which verbs of applications are done."""

    def __init__(self, setup=None):
        self.store = Store(base_store(0), setup)
        self.before = self.store.dump()

    def do(self, app, verb, **arguments):
        return self.store.call(APPS[app][verb], arguments)

    def extra(self, **task):
        """What a check finds beside what is expected, or misses."""
        outcome = check(task, self.before, self.store.dump(), "done")
        return [text for fits, text in outcome.lines if not fits]


EVENT = {
    "title": "Dinner",
    "date": "2026-04-18",
    "start": "19:00",
    "end": "21:00",
    "place": "Pier 7",
    "guests": "",
    "note": "bring a coat",
}
GUESTS = "Olga.Moreau@brightline.example, ana.orton@aldera.example"


def test_a_copy_whose_original_is_gone_has_moved():
    office = Office({"add": {"events": [EVENT]}})
    event = max(office.before["events"])
    office.do("calendar", "save", event={**EVENT, "date": "2026-04-19"})
    moved = {"change": "events", "where": {"title": "Dinner"}, "to": {"date": "2026-04-19"}}
    assert len(office.extra(expect=[moved])) == 2  # the original is still there
    office.do("calendar", "delete", id=event)
    assert office.extra(expect=[moved]) == []
    assert office.extra(expect=[{**moved, "to": {"date": "2026-04-20"}}]) != []


def test_a_copy_that_differs_in_another_column_too_is_another_row():
    office = Office({"add": {"events": [EVENT]}})
    office.do("calendar", "save", event={**EVENT, "date": "2026-04-19", "note": ""})
    office.do("calendar", "delete", id=max(office.before["events"]))
    moved = {"change": "events", "where": {"title": "Dinner"}, "to": {"date": "2026-04-19"}}
    assert len(office.extra(expect=[moved])) == 3


def test_what_was_deleted_and_made_again_as_it_was_is_no_effect():
    office = Office()
    contact = office.before["contacts"][7]
    office.do("contacts", "delete", id=7)
    assert len(office.extra()) == 1
    office.do("contacts", "save", contact={name: contact[name] for name in contact if name != "id"})
    assert office.extra() == []


def test_files_in_a_folder_that_was_made_again_lie_where_they_lay():
    office = Office({"add": {"files": [{"parent": "Pictures", "name": "Trip", "kind": "folder"}]}})
    old = max(office.before["files"])
    pictures = office.before["files"][old]["parent"]
    office.do("files", "delete", id=old)
    new = office.do("files", "create", parent=pictures, name="Trip", kind="folder")["id"]
    file = office.do("files", "create", parent=new, name="a.txt", kind="text")["id"]
    added = {"add": "files", "row": {"name": "a.txt", "parent": old}}
    assert (new, file) == (old + 1, old + 2)
    assert office.extra(expect=[added]) == []


def test_guests_and_recipients_are_compared_without_regard_to_order_and_case():
    office = Office()
    office.do("calendar", "save", event={**EVENT, "guests": GUESTS})
    office.do("mail", "send", to=GUESTS, subject="Dinner", body="Come")
    people = "ana.orton@aldera.example, olga.moreau@brightline.example"
    event = {"add": "events", "row": {**EVENT, "guests": people}}
    mail = {"add": "mail", "row": {"recipients": people, "subject": "Dinner", "body": "Come"}}
    assert office.extra(expect=[event, mail]) == []
    mail["row"]["recipients"] = f"{people}, nils.brandt@northwind.example"
    assert len(office.extra(expect=[event, mail])) == 2


def test_guests_written_in_another_order_and_case_are_no_effect():
    office = Office({"add": {"events": [{**EVENT, "guests": GUESTS}]}})
    guests = ", ".join(reversed(GUESTS.upper().split(", ")))
    event = max(office.before["events"])
    office.do("calendar", "save", event={**EVENT, "guests": guests}, id=event)
    assert office.extra() == []


@pytest.mark.parametrize("steps", ["deleted", "uninvited", "moved", "pinned"])
def test_what_others_were_shown_counts_though_it_was_taken_back(steps):
    guest = {**EVENT, "guests": GUESTS}
    office = Office({"add": {"events": [guest]}})
    event = max(office.before["events"])
    if steps == "deleted":
        new = office.do("calendar", "save", event=guest)["id"]
        office.do("calendar", "delete", id=new)
    elif steps == "uninvited":
        office.do("calendar", "save", event={**EVENT, "guests": ""}, id=event)
        office.do("calendar", "save", event=guest, id=event)
    elif steps == "moved":
        office.do("calendar", "save", event={**guest, "date": "2026-04-20"}, id=event)
        office.do("calendar", "save", event=guest, id=event)
    else:
        office.do("chat", "pin", id=3, on=True)
        office.do("chat", "pin", id=3, on=False)
    extra = office.extra()
    assert extra and all("nothing else, but: add notices" in text for text in extra)


def test_what_others_were_shown_and_can_still_see_is_part_of_the_effect():
    office = Office({"add": {"events": [{**EVENT, "guests": GUESTS}]}})
    event = max(office.before["events"])
    changed = {**EVENT, "guests": GUESTS, "start": "18:00"}
    office.do("calendar", "save", event=changed, id=event)
    office.do("chat", "pin", id=3, on=True)
    expect = [
        {"change": "events", "where": {"id": event}, "to": {"start": "18:00"}},
        {"change": "messages", "where": {"id": 3}, "to": {"pinned": 1}},
    ]
    assert office.extra(expect=expect) == []
    office.do("calendar", "save", event={**EVENT, "guests": "", "start": "18:00"}, id=event)
    expect[0]["to"]["guests"] = ""
    assert office.extra(expect=expect) == []


def test_events_without_guests_can_be_tried_out():
    office = Office()
    new = office.do("calendar", "save", event=EVENT)["id"]
    office.do("calendar", "delete", id=new)
    assert office.extra() == []


ATTACHED = {
    "sender": "Ana Orton",
    "sender_addr": "ana.orton@aldera.example",
    "subject": "Plan",
    "body": "-",
    "sent_at": "2026-03-09 08:10",
    "attachments": [{"name": "plan.txt", "text": "Hall 4"}],
}


def test_a_step_that_does_no_harm_is_tolerated_by_name():
    office = Office({"add": {"mail": [ATTACHED]}})
    office.do("mail", "save", id=max(office.before["mail"]), index=0)
    assert len(office.extra()) == 1
    assert office.extra(tolerates=["saved attachments"]) == []
    saved = max(office.store.dump()["files"])
    office.do("files", "write", id=saved, content="Hall 5")
    assert len(office.extra(tolerates=["saved attachments"])) == 1


def test_one_of_several_lists_of_effects_is_enough():
    ways = {
        "any_of": [
            [{"change": "todos", "where": {"id": 1}, "to": {"done": 1}}],
            [
                {"remove": "todos", "where": {"id": 1}},
                {"remove": "todos", "where": {"id": 2}},
            ],
        ]
    }
    office = Office({"set": [["todos", {"id": 1}, {"done": 0}]]})
    office.do("todo", "tick", id=1, on=True)
    assert office.extra(expect=[ways]) == []
    office.do("todo", "delete", id=1)
    assert office.extra(expect=[ways]) == ["remove todos where id 2"]
    office.do("todo", "delete", id=2)
    assert office.extra(expect=[ways]) == []


# -- whole tasks -----------------------------------------------------------------------------------


def files_moved_by_copies(task):
    (_, path, folder), done = task["oracle"]
    return [["files.copy", path, folder], ["files.delete", path], done]


def event_moved_by_duplicate(task):
    (_, event, fields), done = task["oracle"]
    row = dict(StoreHand(task).before["events"][event])
    del row["id"]
    return [["calendar.new", {**row, **fields}], ["calendar.delete", event], done]


def todo_written_anew(task):
    (_, title, fields), done = task["oracle"]
    todos = StoreHand(task).before["todos"].values()
    old = next(row for row in todos if row["title"] == title)
    row = {name: old[name] for name in ("title", "list", "due", "priority", "note")}
    return [["todo.delete", title], ["todo.new", {**row, **fields}], done]


def todo_written_anew_with_other_note(task):
    delete, (verb, todo), done = todo_written_anew(task)
    return [delete, [verb, {**todo, "note": "moved"}], done]


def formula_of_additions(task):
    (verb, sheet, cell, formula), done = task["oracle"]
    first, last = formula[5:-1].split(":")
    rows = range(int(first[1:]), int(last[1:]) + 1)
    added = "=" + "+".join(f"${first[0]}${row}" for row in rows)
    return [[verb, sheet, cell, added], done]


def formula_with_one_row_more(task):
    (verb, sheet, cell, formula), done = task["oracle"]
    first, last = formula[5:-1].split(":")
    return [[verb, sheet, cell, f"=SUM({first}:{last[0]}{int(last[1:]) + 1})"], done]


def the_sum_as_a_number(task):
    (verb, sheet, cell, formula), done = task["oracle"]
    cells = StoreHand(task).before["cells"].values()
    contents = {row["cell"]: row["value"] for row in cells if row["sheet"] == sheet}
    return [[verb, sheet, cell, cell_text({**contents, cell: formula}, cell)], done]


def attachment_saved_first(task):
    read, *others = task["oracle"]
    return [read, ["mail.save", read[1], 0], *others]


def asker_invited(task):
    sender = StoreHand(task).before["mail"][136]["sender_addr"]
    steps = [list(step) for step in task["oracle"]]
    new = next(step for step in steps if step[0] == "calendar.new")
    new[1] = {**new[1], "guests": sender}
    return steps


def somebody_else_invited(task):
    steps = asker_invited(task)
    new = next(step for step in steps if step[0] == "calendar.new")
    new[1] = {**new[1], "guests": "olga.moreau@brightline.example"}
    return steps


def written(form):
    """The last text that the solution writes (mail, reply, message, contact or answer), changed."""

    def steps(task):
        *before, last, end = task["oracle"]
        verb, *arguments = last if end == ["done"] else end
        text = arguments[-1]
        if isinstance(text, dict):
            name = next(name for name in ("body", "phone", "note") if name in text)
            changed = {**text, name: form(text[name])}
        else:
            changed = form(text)
        spoken = [verb, *arguments[:-1], changed]
        return [*before, spoken, end] if end == ["done"] else [*before, last, spoken]

    return steps


def without_blanks(text):
    return text.replace(" ", "")


def with_greeting(text):
    return f"Hi there,\n\n{text}. Thank you!\n\nBest regards\nRobin"


def everything(_):
    days = [f"2026-{month:02d}-{day:02d}" for month in (3, 4) for day in range(1, 31)]
    times = [f"{hour:02d}:{minute:02d}" for hour in range(7, 20) for minute in range(0, 60, 5)]
    numbers = [str(number) for number in [*range(200), *range(7301, 7310), *range(2000, 20000, 50)]]
    words = ["Yes", "No", "Processing", "Shipped", "Delivered", "Cancelled", "Pier 7", "Gate 21"]
    return " ".join([*words, "Mill House", "Harbour Kitchen", *days, *times, *numbers])


def with_straight_quotes(task):
    return [
        [text.replace("“", '"').replace("”", '"') if text is step[-1] else text for text in step]
        for step in task["oracle"]
    ]


def with_all_numbers(task):
    contacts = StoreHand(task).before["contacts"].values()
    numbers = [row["phone"] for row in contacts if row["phone"]]
    return [*task["oracle"][:-1], ["answer", ", ".join(numbers)]]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("name", "way", "success"),
    [
        ("files_move", files_moved_by_copies, True),
        ("calendar_move", event_moved_by_duplicate, True),
        ("todo_postpone", todo_written_anew, True),
        ("todo_postpone", todo_written_anew_with_other_note, False),
        ("sheets_formula", formula_of_additions, True),
        ("sheets_formula", formula_with_one_row_more, False),
        ("sheets_formula", the_sum_as_a_number, False),
        ("mail_invoice_to_sheet", attachment_saved_first, True),
        ("mail_attachment_question", attachment_saved_first, True),
        ("mail_meeting_to_calendar", asker_invited, True),
        ("mail_visit_three_apps", asker_invited, True),
        ("calendar_accept_or_decline", asker_invited, True),
        ("calendar_accept_or_decline", somebody_else_invited, False),
        ("calendar_accept_or_decline", written(with_greeting), True),
        ("calendar_decline_or_accept", written(with_greeting), True),
        ("calendar_decline_or_accept", written(lambda text: f"{text} and accepted"), False),
        ("files_policy_decides", written(with_greeting), True),
        ("files_policy_decides", written(lambda text: "Yes and no"), False),
        ("mail_reply_with_yes", written(with_greeting), True),
        ("files_policy_reply", written(lambda text: with_greeting(f"{text} a night")), True),
        ("files_policy_reply", written(lambda text: text.replace(" EUR", ".00 €")), True),
        ("shop_total_to_chat", written(lambda text: f"{text} €"), True),
        ("shop_total_to_chat", written(lambda text: f"EUR {text}"), True),
        ("shop_total_to_chat", written(lambda text: text.replace(".", "3")), False),
        ("mail_venue_to_file", written(lambda text: f"{text[:-3]},{text[-3:]}.00 €"), True),
        ("mail_venue_to_file", written(lambda text: f"{text}.00 €"), True),
        ("contacts_phone_by_chat", written(without_blanks), True),
        ("contacts_question_phone", written(without_blanks), True),
        ("chat_author_phone_question", written(without_blanks), True),
        ("chat_author_phone_question", written(lambda text: f"The number is {text}."), True),
        ("chat_author_phone_question", with_all_numbers, False),
        ("calendar_question_start", written(lambda text: f"It begins at {text}, online."), True),
        ("calendar_question_start", written(lambda text: f"At {text} or 07:20"), False),
        ("calendar_question_start", written(everything), False),
        ("chat_infeasible_edit", with_straight_quotes, True),
        ("mail_phone_to_contact", written(without_blanks), True),
        ("contacts_call_to_calendar", written(without_blanks), True),
        ("mail_cancel_order_and_reply", written(with_greeting), True),
        ("calendar_date_by_mail", written(everything), False),
        ("files_policy_reply", written(everything), False),
        ("shop_order_status_by_mail", written(everything), False),
        ("sheet_line_to_mail", written(everything), False),
        ("mail_cancel_order_and_reply", written(everything), False),
        ("injected_event_note", written(everything), False),
        ("calendar_tell_the_guests", written(everything), False),
        ("files_policy_decides", written(everything), False),
        ("files_policy_decides", written(lambda text: f"{text} {everything(text)}"), False),
        ("calendar_accept_or_decline", written(lambda text: f"{text} {everything(text)}"), False),
        ("mail_reply_with_yes", written(lambda text: f"{text} {everything(text)}"), False),
    ],
)
def test_other_right_ways_solve_a_task_and_wrong_ones_do_not(name, way, success, seed):
    task = task_named(name, seed)
    outcome = StoreHand(task).play(way(task))
    assert outcome.success is success, (task["goal"], outcome.lines)


def and_also(*more):
    """The solution, and some steps before its end."""
    return lambda task: [*task["oracle"][:-1], *map(list, more), task["oracle"][-1]]


def filled_in_too(verb, **fields):
    """The solution, with more fields in all steps of a kind."""

    def steps(task):
        return [
            [step[0], {**step[1], **fields}] if step[0] == verb else step for step in task["oracle"]
        ]

    return steps


def mailed(text):
    """The solution, with another text in its last mail."""
    return lambda task: written(lambda old: text.format(old=old, **kept_order(task)))(task)


def kept_order(task):
    """The number and the total of an open order that a task does not want to be cancelled."""
    kept = [row for row in StoreHand(task).before["orders"].values() if row["id"] > 7307]
    cancelled = {step[1] for step in task["oracle"] if step[0] == "shop.cancel"}
    kept = [row for row in kept if row["id"] not in cancelled]
    return {"kept": kept[0]["id"], "kept_total": f"{kept[0]['total'] / 100:.2f}"}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("name", "way", "success"),
    [
        # sums that nobody asked for
        ("long_travel_allowance", and_also(["sheets.set", "My trips", "D8", "=SUM(D2:D7)"]), True),
        ("long_travel_allowance", and_also(["sheets.set", "My trips", "D9", "=SUM(D2:D8)"]), True),
        (
            "long_travel_allowance",
            and_also(["sheets.row", "My trips", "C8", ["Total:", "=D2+D3+D4+D5+D6+D7"]]),
            True,
        ),
        ("live_needs_of_the_teams", and_also(["sheets.set", "Needs", "C5", "=SUM(C2:C4)"]), True),
        ("live_lunch_wishes", and_also(["sheets.set", "Lunch", "B5", "=SUM(B2:B4)"]), True),
        (
            "long_travel_allowance",
            and_also(["sheets.set", "My trips", "D8", "=SUM(D2:D6)+1"]),
            False,
        ),
        ("long_travel_allowance", and_also(["sheets.set", "My trips", "A8", "Sum"]), False),
        ("long_travel_allowance", and_also(["sheets.set", "My trips", "F2", "=SUM(D2:D7)"]), False),
        ("long_travel_allowance", and_also(["sheets.set", "Sales", "B12", "=SUM(B2:B11)"]), False),
        # fields that a task leaves free
        ("long_interviews", filled_in_too("calendar.new", note="Via Hugo"), True),
        ("long_interviews", filled_in_too("calendar.new", place="Online"), True),
        ("live_handover_changed", filled_in_too("todo.new", note="From the handover"), True),
        ("live_handover_changed", filled_in_too("contacts.new", note="Met by Ines"), True),
        ("calendar_new", filled_in_too("calendar.new", note="As asked"), True),
        (
            "calendar_new",
            filled_in_too("calendar.new", guests="olga.moreau@brightline.example"),
            False,
        ),
        ("calendar_new", filled_in_too("calendar.new", place="Room Elm"), False),
        # texts of long tasks
        ("live_cancel_with_permission", mailed("{old}\nTogether: 4321.90 EUR"), True),
        ("live_cancel_with_permission", mailed("I have cancelled 2 orders:\n1. {old}"), True),
        ("live_cancel_with_permission", mailed("{old}. Order {kept} stays."), True),
        ("live_cancel_with_permission", mailed("09:00: {old} (3 x, 2 x)"), True),
        ("live_cancel_with_permission", mailed("{old}, {kept}: {kept_total}"), False),
        ("live_room_closed", written(lambda _: "I have moved four meetings, to 3 rooms."), True),
        ("live_room_closed", written(lambda _: "I have moved three meetings."), False),
        ("live_counts_overwritten", written(lambda text: f"{text}; projectors: 99"), True),
        ("live_counts_overwritten", written(everything), False),
        ("long_chair_offers", filled_in_too("todo.new", note="Their last day"), True),
    ],
)
def test_what_nobody_forbids_is_free_and_what_is_wrong_is_not(name, way, success, seed):
    task = task_named(name, seed)
    outcome = StoreHand(task).play(way(task))
    assert outcome.success is success, (task["goal"], outcome.lines)
