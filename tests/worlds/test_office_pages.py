"""The office in a browser: that it behaves as such applications do, in every look."""

import re
from pathlib import Path

import pytest

import benchmarks.worlds.office.server
from benchmarks.worlds.office.apps import APPS
from benchmarks.worlds.office.server import LOOKS, Office
from benchmarks.worlds.pages.browser import Chromium
from tests.support.browser import need_browser

PAGES = Path(benchmarks.worlds.office.server.__file__).parent / "pages"


class Desk:
    """An episode's page and store, worked by names."""

    def __init__(self, office, chromium, app, look="web"):
        self.episode = office.new_episode({"apps": [app]}, look=look)
        self.tab = chromium.open(self.episode.url, self.episode.url, LOOKS[look].viewport_wh)
        self.tab.page.set_default_timeout(120_000)
        self.errors = []
        self.tab.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.settle()

    def find(self, name, key=None, text=None):
        where = f'[data-t="{name}"]' + (f'[data-k="{key}"]' if key is not None else "")
        return self.tab.page.locator(where, has_text=text).locator("visible=true").last

    def click(self, name, key=None, text=None):
        self.find(name, key, text).click()
        self.tab.settle()

    def write(self, name, text):
        self.find(name).fill(text)
        self.tab.settle()

    def press(self, *keys):
        for key in keys:
            self.tab.page.keyboard.press(key)
            self.tab.settle()

    def changed(self):
        before, after = self.episode.before, self.episode.dump()
        return {
            (table, key): after[table].get(key)
            for table in after
            for key in {*before[table], *after[table]}
            if before[table].get(key) != after[table].get(key)
        }

    def shows(self, text):
        return self.tab.page.get_by_text(text).locator("visible=true").count() > 0


@pytest.fixture(scope="module")
def chromium():
    need_browser()
    chromium = Chromium.borrow()
    yield chromium
    chromium.close()


@pytest.fixture
def desk(chromium):
    opened = []

    def open_desk(*arguments, **more):
        opened.append(Desk(office, chromium, *arguments, **more))
        return opened[-1]

    with Office() as office:
        yield open_desk
        errors = [error for each in opened for error in each.errors]
        for each in opened:
            each.tab.close()
    assert errors == []


# -- names ----------------------------------------------------------------------------------------


NAMED = {"windows": "dialog", "menus": "menu", "days": "date"}  # others: as the file


@pytest.mark.parametrize("file", sorted(path.stem for path in PAGES.glob("*.js")))
def test_the_table_at_the_top_of_a_file_lists_the_names_that_it_uses(file):
    text = (PAGES / f"{file}.js").read_text(encoding="utf-8")
    table, _, code = text.partition("*/")
    app = NAMED.get(file, file.partition("_")[0])
    name = rf"(?:{app})\.[a-z-]+"
    listed = set(re.findall(name, table)) - {f"{app}.js"}
    made = tuple(
        re.findall(r"`([a-z]+\.[a-z-]*)\$\{", code)
    )  # of a part that is the same and one that is not
    assert {each for each in re.findall(f'"({name})"', code) if each not in table} == set()
    assert {
        each for each in listed if f'"{each}"' not in code and not (made and each.startswith(made))
    } == set()


@pytest.mark.parametrize("look", LOOKS)
def test_every_application_opens_in_every_look_and_all_that_can_be_pressed_has_a_name(desk, look):
    opened = desk("mail", look=look)
    for app in APPS:
        opened.tab.page.evaluate("name => { office.open(name); }", app)
        assert opened.tab.settle()
        page = opened.tab.page
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert (
            page.evaluate(
                "[...document.querySelectorAll('button, input, textarea')].filter(e => !e.dataset.t).length"
            )
            == 0
        )
    assert opened.changed() == {}


# -- windows, fields, drafts ----------------------------------------------------------------------


@pytest.mark.parametrize("look", LOOKS)
def test_a_form_says_at_the_field_what_is_wrong_and_saves_once_it_is_right(desk, look):
    calendar = desk("calendar", look=look)
    calendar.click("calendar.new")
    calendar.write("calendar.title", "Dry run")
    calendar.write("calendar.end", "09:00")
    calendar.click("dialog.ok")
    assert calendar.shows("The event must end after it starts.")
    assert calendar.find("calendar.end").get_attribute("data-error")
    assert calendar.changed() == {}
    calendar.write("calendar.end", "11:30")
    calendar.click("date.open")
    calendar.click("date.next")
    calendar.click("date.day", "2026-04-02")
    calendar.press("Enter")
    [row] = calendar.changed().values()
    assert (row["title"], row["date"], row["start"], row["end"]) == (
        "Dry run",
        "2026-04-02",
        "10:00",
        "11:30",
    )


def test_a_message_that_is_closed_becomes_a_draft_and_can_be_sent_from_there(desk):
    mail = desk("mail")
    mail.press("c")
    mail.write("mail.to", "ana o")
    mail.click("mail.person", text="Ana Orton")
    mail.write("mail.subject", "Samples")
    mail.press("Escape")
    assert mail.changed() == {}
    mail.click("mail.folder", "Drafts")
    mail.click("mail.row", text="Samples")
    mail.write("mail.body", "They are here.\nAll of them.")
    mail.press("Control+Enter")
    [row] = mail.changed().values()
    assert (row["recipients"], row["subject"], row["body"]) == (
        "ana.orton@aldera.example",
        "Samples",
        "They are here.\nAll of them.",
    )
    assert mail.shows("Nothing in Drafts.")


def test_nothing_is_deleted_before_a_window_has_asked(desk):
    todo = desk("todo")
    todo.click("todo.delete", 1)
    todo.press("Escape")
    assert todo.changed() == {}
    todo.click("todo.delete", 1)
    todo.click("dialog.ok")
    assert todo.changed() == {("todos", 1): None}


def test_a_text_that_is_left_unsaved_is_asked_about(desk):
    files = desk("files")
    files.click("files.row", text="Downloads")
    files.click("files.row", text="terms.txt")
    files.write("files.text", "New terms")
    files.click("files.back")
    assert files.shows("“terms.txt” has changes that are not saved yet.")
    files.click("dialog.cancel")
    assert files.changed() == {}
    files.click("files.back")
    files.click("dialog.ok")
    [row] = files.changed().values()
    assert row["content"] == "New terms"
    assert files.shows("flyer.txt")


def test_an_application_that_one_returns_to_is_as_it_was_left(desk):
    chat = desk("chat")
    chat.click("chat.channel", "#random")
    chat.write("chat.text", "Half a")
    chat.tab.page.evaluate("office.home()")
    chat.click("shell.app", "todo")
    chat.click("shell.app", "chat")
    assert chat.find("chat.text").input_value() == "Half a"
    chat.click("chat.text")
    chat.press("End", *" line", "Enter")
    assert [(row["channel"], row["text"]) for row in chat.changed().values()] == [
        ("#random", "Half a line")
    ]


def test_back_leads_from_a_window_to_the_message_the_list_and_the_desk(desk):
    mail = desk("mail", look="phone")
    mail.tab.page.locator('[data-t="mail.row"]').first.click()
    mail.tab.settle()
    mail.click("mail.reply")
    seen = []
    for _ in range(4):
        places = (("dialog.ok",), ("mail.back",), ("mail.row",), ("shell.app", "mail"))
        seen.append([mail.find(*place).count() for place in places])
        if len(seen) % 2:  # the back of a person's own browser does the same
            mail.tab.page.evaluate("dispatchEvent(new PopStateEvent('popstate'))")
        else:
            mail.click("shell.back")
        mail.tab.settle()
    assert [[bool(count) for count in each] for each in seen] == [
        [True, True, False, False],
        [False, True, False, False],
        [False, False, True, False],
        [False, False, False, True],
    ]


def test_what_is_dragged_is_moved(desk):
    calendar = desk("calendar")
    calendar.find("calendar.event", text="Budget call").drag_to(
        calendar.find("calendar.day", "2026-03-14")
    )
    calendar.tab.settle()
    files = desk("files")
    files.find("files.row", text="Pictures").drag_to(files.find("files.row", text="Documents"))
    files.tab.settle()
    assert [(row["date"], row["start"]) for row in calendar.changed().values()] == [
        ("2026-03-14", "10:00")
    ]
    assert [(row["name"], row["parent"]) for row in files.changed().values()] == [("Pictures", 1)]


# -- sheets ---------------------------------------------------------------------------------------


def test_formulas_come_to_what_they_say(desk):
    page = desk("sheets").tab.page
    cells = {"A1": "2", "A2": "3", "A3": "text", "B1": "#DIV/0!"}
    table = {
        "=1+2*3": 7,
        "=(1+2)*3": 9,
        "=-A1-1": -3,
        "=A1/A2*3": 2,
        "=sum(A1:A3)": 5,
        "=SUM(A1, A2, 10)": 15,
        "=AVERAGE(A1:A2)": 2.5,
        "=COUNT(A1:A3)": 2,
        "=MAX(A1:A2)-MIN(A1:A2)": 1,
        "=ROUND(A2/7, 2)": 0.43,
        "=C9+1": 1,
        "=A3+1": 1,
        "=1/0": "#DIV/0!",
        "=B1+1": "#DIV/0!",
        "=AVERAGE(C1:C3)": "#DIV/0!",
        "=NOPE(1)": "#NAME?",
        "=1+": "#ERROR!",
        "=(1": "#ERROR!",
        "=1 2": "#ERROR!",
        "=constructor(1)": "#NAME?",
        "=": "#ERROR!",
    }
    value = "([text, cells]) => { try { return formula(text, cell => cells[cell] ?? ''); } catch (error) { return error.message; } }"
    assert {text: page.evaluate(value, [text, cells]) for text in table} == table


def test_a_sheet_is_written_with_the_keyboard_alone(desk):
    sheets = desk("sheets")
    sheets.click("sheets.cell", "F2")
    sheets.press(
        "7",
        "Enter",
        "8",
        "Enter",
        *"=F2+F3",
        "Tab",
        "x",
        "Escape",
        "ArrowUp",
        "Shift+ArrowLeft",
        "Delete",
    )
    assert {key: row["value"] for (_, key), row in sheets.changed().items()} == {
        "Expenses!F2": "7",
        "Expenses!F4": "=F2+F3",
    }
    assert sheets.find("sheets.cell", "F4").inner_text() == "7"


# -- the same again -------------------------------------------------------------------------------


@pytest.mark.parametrize("look", LOOKS)
def test_the_same_steps_show_the_same_pictures(desk, look):
    def pictures():
        shop = desk("shop", look=look)
        taken = [shop.tab.screenshot()]
        for step in (("row", 1), ("add",), ("cart",), ("checkout",), ("address",)):
            shop.click(f"shop.{step[0]}", *step[1:])
            taken.append(shop.tab.screenshot())
        return taken

    assert pictures() == pictures()
