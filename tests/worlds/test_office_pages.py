"""The office in a browser: that it behaves as such applications do, in every look."""

import re
from pathlib import Path

import pytest

import benchmarks.worlds.office.server
from benchmarks.actions.action import Action
from benchmarks.worlds.browser.gestures import perform
from benchmarks.worlds.office.apps import APPS
from benchmarks.worlds.office.server import LOOKS, Office

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
        selector = f'[data-t="{name}"]'
        if key is not None:
            selector += f'[data-k="{key}"]'
        return self.tab.page.locator(selector, has_text=text).locator("visible=true").last

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

    def types(self, text):
        """As an agent's `type` does."""
        perform(self.tab.page, Action("type", text=text), self.tab.viewport_wh, self.tab.settle)
        self.tab.settle()

    def focus(self):
        return self.tab.page.evaluate("document.activeElement.dataset.t ?? null")

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


@pytest.fixture
def desk(chromium):
    opened = []

    def open_desk(*arguments, **more):
        opened.append(Desk(office, chromium, *arguments, **more))
        return opened[-1]

    with Office() as office:
        yield open_desk
        errors = [error for desk in opened for error in desk.errors]
        for desk in opened:
            desk.tab.close()
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
    prefixes = tuple(re.findall(r"`([a-z]+\.[a-z-]*)\$\{", code))  # of names put together
    used = re.findall(f'"({name})"', code)
    assert [name for name in used if name not in table] == []
    unused = listed - set(used)
    assert [name for name in unused if not prefixes or not name.startswith(prefixes)] == []


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
    visible = []
    for step in range(4):
        names = (("dialog.ok",), ("mail.back",), ("mail.row",), ("shell.app", "mail"))
        visible.append([mail.find(*name).count() > 0 for name in names])
        if step % 2 == 0:  # the back of a person's own browser does the same
            mail.tab.page.evaluate("dispatchEvent(new PopStateEvent('popstate'))")
        else:
            mail.click("shell.back")
        mail.tab.settle()
    assert visible == [
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
        ("2026-03-14", "16:00")
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
    module = (PAGES / "formula.js").read_text(encoding="utf-8").replace("export ", "")
    value = f"([text, cells]) => {{ {module} try {{ return formula(text, cell => cells[cell] ?? ''); }} catch (error) {{ return error.message; }} }}"
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


def cells(sheets):
    return {key.partition("!")[2]: row["value"] for (_, key), row in sheets.changed().items()}


LONG = "A note that is a good deal longer than forty characters are"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2380\n990\n=F2+F3\n", {"F2": "2380", "F3": "990", "F4": "=F2+F3"}),
        ("7\t8\t9\n", {"F2": "7", "G2": "8", "H2": "9"}),
        (f"{LONG}\n5\n", {"F2": LONG, "F3": "5"}),
        (
            "\n".join(f"v{number}" for number in range(1, 13)),
            {f"F{number + 1}": f"v{number}" for number in range(1, 12)},
        ),
    ],
)
def test_cells_that_are_typed_below_or_beside_each_other_are_all_stored(desk, text, expected):
    sheets = desk("sheets")
    sheets.click("sheets.cell", "F2")
    sheets.types(text)
    assert cells(sheets) == expected


def test_typing_goes_on_while_a_sheet_is_stored(desk):
    sheets = desk("sheets")
    sheets.click("sheets.cell", "F2")
    for key in ("1", "Enter", "2", "Enter", "3", "Enter"):
        sheets.tab.page.keyboard.press(key)  # nothing is waited for
    sheets.tab.settle()
    assert cells(sheets) == {"F2": "1", "F3": "2", "F4": "3"}


def test_cells_are_copied_pasted_emptied_and_brought_back(desk):
    sheets = desk("sheets")
    sheets.click("sheets.cell", "F2")
    sheets.types("1\t2\n3\n")  # F2, G2, G3
    sheets.click("sheets.cell", "F2")
    sheets.press("Shift+ArrowRight", "Control+c")
    sheets.click("sheets.cell", "F5")
    sheets.press("Control+v")
    assert cells(sheets) == {"F2": "1", "G2": "2", "G3": "3", "F5": "1", "G5": "2"}
    sheets.press("Control+z", "Control+z")
    assert cells(sheets) == {"F2": "1", "G2": "2"}


def test_a_long_chain_of_formulas_is_worked_out_at_once(desk):
    sheets = desk("sheets")
    sheets.click("sheets.cell", "I1")
    sheets.types("1\n" + "".join(f"=I{row}+I{row}\n" for row in range(1, 41)))
    assert sheets.find("sheets.cell", "I41").inner_text() == str(2**40)
    sheets.click("sheets.cell", "J1")
    sheets.types("=J2\n=J1\n=$I$2+SUM(I1;I2)\n")
    texts = [sheets.find("sheets.cell", cell).inner_text() for cell in ("J1", "J2", "J3")]
    assert texts == ["#CIRCLE!", "#CIRCLE!", "5"]


# -- texts ----------------------------------------------------------------------------------------


def test_messages_and_tasks_that_are_typed_one_after_the_other_all_arrive(desk):
    chat, todo = desk("chat"), desk("todo")
    chat.types("one\ntwo\nthree\n")
    assert [row["text"] for row in chat.changed().values()] == ["one", "two", "three"]
    todo.click("todo.quick")
    for text in ("one", "two"):  # nothing is waited for
        todo.tab.page.keyboard.type(text + "\n")
    todo.tab.settle()
    todo.types("three\n")
    assert [row["title"] for row in todo.changed().values()] == ["one", "two", "three"]


def test_the_place_where_a_text_goes_can_be_seen(desk):
    for look in LOOKS:
        todo = desk("todo", look=look)
        blank = todo.tab.screenshot()
        todo.click("todo.new")
        todo.write("todo.note", "One line")
        todo.find("todo.note").focus()
        pictures = []
        for key in ("Home", "End"):
            todo.press(key)
            pictures.append(todo.tab.screenshot())
            assert todo.tab.screenshot() == pictures[-1]
        assert blank != pictures[0] != pictures[1]


@pytest.mark.parametrize(("app", "field", "limit"), [("sheets", None, 500), ("chat", None, 20_000)])
def test_a_text_that_is_too_long_is_refused_where_it_is_written(desk, app, field, limit):
    page = desk(app)
    page.press("x")
    page.tab.page.keyboard.insert_text("y" * (limit - 1))
    page.tab.page.keyboard.insert_text("z")
    page.tab.settle()
    assert page.shows(f"this field takes {limit:,} characters at most")
    page.press("Enter")
    [row] = page.changed().values()
    assert (row.get("value") or row["text"]) == "x" + "y" * (limit - 1)


def test_a_text_that_is_pasted_again_and_again_stops_growing(desk):
    chat = desk("chat")
    chat.types("0123456789")
    for _ in range(12):
        chat.press("Control+a", "Control+c", "ArrowRight", "Control+v")
    assert 10_000 < len(chat.find("chat.text").input_value()) <= 20_000
    assert chat.shows("this field takes 20,000 characters at most")


# -- searches -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("app", "text", "message"),
    [
        ("mail", "zzzz", "No message of any folder but Drafts has “zzzz” in its subject"),
        (
            "calendar",
            "zzzz",
            "No event of any month has “zzzz” in its title, place, guests or note",
        ),
        ("contacts", "zzzz", "No contact has “zzzz” in name, company, mail address"),
        ("chat", "zzzz", "No message or author of any conversation has “zzzz”"),
        ("files", "zzzz", "Texts of files are not searched"),
        ("shop", "zzzz", "has “zzzz” in its name"),
        ("todo", "zzzz", "No task shown here has “zzzz” in its title or note"),
    ],
)
def test_a_search_goes_as_one_writes_and_says_where_it_has_looked(desk, app, text, message):
    page = desk(app)
    page.click(f"{app}.search")
    page.types(text)
    assert page.shows(message)
    page.press("Escape")
    assert not page.shows(message)


def test_a_search_of_tasks_says_what_its_filter_hides(desk):
    todo = desk("todo")
    done = next(row for row in todo.episode.before["todos"].values() if row["done"])
    todo.click("todo.search")
    todo.types(done["title"])
    assert todo.find("todo.done", done["id"]).count() == 0
    todo.click("todo.everywhere")
    assert todo.find("todo.done", done["id"]).count() == 1


# -- drop-downs, menus, double clicks -------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("ArrowDown", "Enter"), "High"),
        (("ArrowUp", "Enter"), "Low"),
        (("Enter",), "Normal"),
        (("h", "Enter"), "High"),
        (("n", "Space"), "Normal"),
        (("End", "Home", "Enter"), "Low"),
        (("ArrowDown", "Escape"), "Normal"),
        (("ArrowDown", "Tab"), "Normal"),
    ],
)
@pytest.mark.parametrize("opened_by", ["click", "Enter", "h"])
def test_a_drop_down_begins_at_what_is_chosen(desk, keys, expected, opened_by):
    todo = desk("todo")
    todo.click("todo.new")
    todo.write("todo.title", "Stamps")
    if opened_by == "click":
        todo.click("todo.priority")
    else:
        todo.find("todo.priority").focus()
        todo.press("Enter")
    if opened_by == "h" and keys[0] == "h":
        keys = keys[1:]
        todo.press("h")
    todo.press(*keys)
    assert todo.find("menu.item").count() == 0
    assert todo.focus() == "todo.priority"
    todo.click("dialog.ok")
    [row] = todo.changed().values()
    assert row["priority"] == expected


def test_a_drop_down_that_is_closed_goes_to_the_next_entry_by_one_arrow_and_leaves_no_listener(
    desk,
):
    todo = desk("todo")
    todo.find("todo.sort").focus()
    for _ in range(2):
        todo.press("ArrowDown", "Enter")
    assert todo.find("todo.sort").inner_text() == "By title"
    todo.click("todo.sort")
    todo.tab.page.evaluate("office.home()")
    todo.click("shell.app", "todo")
    todo.click("todo.quick")
    todo.types("down")
    todo.press("ArrowLeft", "x", "Enter")
    assert [row["title"] for row in todo.changed().values()] == ["dowxn"]


def test_letters_that_are_typed_into_an_open_list_are_no_shortcuts(desk):
    mail = desk("mail")
    mail.tab.page.locator('[data-t="mail.row"]').first.click()
    mail.tab.settle()
    mail.click("mail.filter")
    mail.types("fe#c")
    assert mail.find("menu.item").count() > 0
    assert mail.find("mail.to").count() == 0
    assert {key: row for key, row in mail.changed().items() if row["folder"] != "Inbox"} == {}


@pytest.mark.parametrize("look", LOOKS)
def test_the_second_press_of_a_double_click_does_not_fall_into_what_the_first_has_opened(
    desk, look
):
    calendar = desk("calendar", look=look)
    calendar.tab.page.evaluate("office.home()")
    calendar.find("shell.app", "calendar").dblclick()
    calendar.tab.settle()
    if look != "phone":
        calendar.find("calendar.day", "2026-03-21").dblclick(position={"x": 40, "y": 50})
    else:
        calendar.find("calendar.new").dblclick()
    calendar.tab.settle()
    assert calendar.focus() == "calendar.title"
    calendar.types("Dry run\n")
    [row] = calendar.changed().values()
    assert row["title"] == "Dry run"


MENUS = [
    ("files", "files.row", ["open", "rename", "move", "delete"]),
    ("mail", "mail.row", ["open", "reply", "star", "unread", "archive", "delete"]),
    ("contacts", "contacts.row", ["open", "edit", "mail", "delete"]),
    ("calendar", "calendar.event", ["open", "edit", "duplicate", "delete"]),
    ("todo", "todo.row", ["edit", "tick", "delete"]),
    ("chat", "chat.message", ["pin"]),
    ("sheets", "sheets.cell", ["edit", "copy", "paste", "clear"]),
]


@pytest.mark.parametrize(("app", "name", "entries"), MENUS)
@pytest.mark.parametrize("look", ["web", "phone"])
def test_the_right_button_or_a_long_press_opens_a_menu_at_the_pointer(
    desk, look, app, name, entries
):
    page = desk(app, look=look)
    if (app, look) == ("chat", "phone"):
        page.click("chat.channel", "#general")
    row = page.tab.page.locator(f'[data-t="{name}"]').locator("visible=true").first
    row.scroll_into_view_if_needed()
    box = row.bounding_box()
    position = {"x": min(60, box["width"] / 2), "y": min(12, box["height"] / 2)}
    if look == "phone":
        row.click(position=position, delay=600)
    else:
        row.click(position=position, button="right")
    page.tab.settle()
    items = page.tab.page.locator('[data-t="menu.item"]')
    keys = [item.get_attribute("data-k") for item in items.all()]
    assert keys[: len(entries)] == entries
    menu = page.tab.page.locator(".menu").bounding_box()
    x = box["x"] + position["x"]
    y = box["y"] + position["y"]
    assert menu["x"] - 5 <= x <= menu["x"] + menu["width"] + 5
    assert min(abs(menu["y"] - y), abs(menu["y"] + menu["height"] - y)) < 5
    page.press("Escape")
    assert page.changed() == {}


def test_the_delete_key_asks_and_says_which_button_enter_presses(desk):
    contacts, calendar = desk("contacts"), desk("calendar")
    contacts.tab.page.locator('[data-t="contacts.row"]').first.click()
    contacts.tab.settle()
    contacts.press("Delete")
    assert contacts.focus() == "dialog.ok"
    ring = contacts.find("dialog.ok").evaluate("each => getComputedStyle(each).outlineStyle")
    assert ring == "solid"
    contacts.press("Enter")
    assert list(contacts.changed().values()) == [None]
    calendar.click("calendar.event", text="Budget call")
    calendar.press("Delete", "Enter")
    assert list(calendar.changed().values()) == [None]


# -- mail -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "folder"), [("e", "Archive"), ("#", "Trash"), ("Delete", "Trash")])
@pytest.mark.parametrize("undo", ["toast.undo", "Control+z"])
def test_what_a_key_has_done_to_a_mail_is_taken_back(desk, key, folder, undo):
    mail = desk("mail")
    unread = mail.tab.page.locator('[data-t="mail.row"]:not(.unread)').first
    unread.click()
    mail.tab.settle()
    mail.press(key)
    assert [row["folder"] for row in mail.changed().values()] == [folder]
    assert mail.shows(f"Moved to {folder}.")
    if undo == "toast.undo":
        mail.click("toast.undo")
    else:
        mail.press(undo)
    assert mail.changed() == {}
    mail.press("?")
    assert mail.shows("Archive the message")


def test_a_click_into_a_reply_writes_above_the_quoted_text(desk):
    mail = desk("mail")
    mail.tab.page.locator('[data-t="mail.row"]').first.click()
    mail.tab.settle()
    quoted = mail.tab.page.locator(".message .text").inner_text()
    mail.click("mail.reply")
    mail.click("mail.body")
    mail.types("Yes")
    mail.click("dialog.ok")
    [body] = [row["body"] for row in mail.changed().values() if row["folder"] == "Sent"]
    assert body.startswith("Yes\n\nOn ")
    assert quoted.split("\n")[0] in body


def test_a_search_of_mail_goes_through_all_folders_and_says_where_each_message_is(desk):
    mail = desk("mail")
    mail.click("mail.folder", "Sent")
    subject = mail.tab.page.locator(".subject").first.inner_text()
    mail.click("mail.folder", "Inbox")
    mail.click("mail.search")
    mail.types(subject)
    assert mail.shows("in all folders")
    assert mail.find("mail.row", text=subject).locator(".tag").inner_text() == "Sent"


# -- the desk -------------------------------------------------------------------------------------


def test_enter_in_a_search_field_searches_again_once_something_else_is_shown(desk):
    shop = desk("shop")
    shop.write("shop.search", "a")
    shop.press("Enter")
    shop.click("shop.orders")
    shop.click("shop.search")
    shop.press("Enter")
    assert shop.shows("Results for “a”")


def test_the_address_says_where_one_is_and_leads_elsewhere(desk):
    mail = desk("mail")
    assert mail.find("shell.address").input_value() == "northwind.example/mail/inbox"
    mail.click("shell.address")
    mail.types("northwind.example/shop\n")
    assert mail.tab.page.evaluate("office.current()") == "shop"
    mail.click("shell.address")
    mail.types("example.org\n")
    assert mail.shows("There is no page “example.org”")


def test_what_is_marked_in_one_application_is_not_marked_in_the_next(desk):
    mail = desk("mail")
    mail.tab.page.locator('[data-t="mail.row"]').first.click()
    mail.tab.settle()
    mail.press("Control+a")
    assert mail.tab.page.evaluate("getSelection().toString().length") > 20
    mail.tab.page.evaluate("office.open('chat')")
    mail.tab.settle()
    assert mail.tab.page.evaluate("getSelection().toString()") == ""


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


# -- what comes and goes ---------------------------------------------------------------------------


def test_a_number_on_a_bookmark_moves_no_other_bookmark(desk):
    page = desk("sheets").tab.page
    places = "[...document.querySelectorAll('.bookmarks button')].map(one => one.offsetLeft)"
    before = page.evaluate(places)
    page.evaluate("office.news([['chat', 'Carla Meyer'], ['mail', '']])")
    assert page.locator(".bookmarks .badge").count() == 2
    assert page.evaluate(places) == before


@pytest.mark.parametrize("look", list(LOOKS))
@pytest.mark.parametrize("leave", ["office.open('chat')", "office.home()"])
def test_a_note_does_not_stay_over_another_application(desk, look, leave):
    mail = desk("mail", look)
    page = mail.tab.page
    mail.find("mail.search").fill("x" * 500)
    page.keyboard.insert_text("y")  # one more than the field takes
    box = page.locator(".toast").bounding_box()
    if look == "macos":
        assert box["y"] + box["height"] <= page.locator(".dock").bounding_box()["y"]
    page.evaluate(leave)
    assert page.locator(".toast").count() == 0


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("Short.", "Short."),
        ("a" * 140, "a" * 140),
        ("word " * 40, "word " * 27 + "word…"),
        (
            "One sentence of so many words. " * 9,
            "One sentence of so many words. " * 4 + "One sentence of…",
        ),
        ("Line\n\nline\n" + "x" * 128 + " yz", "Line line " + "x" * 128 + "…"),
    ],
)
def test_the_list_shows_whole_words_of_a_mail(desk, body, shown):
    opened = desk("mail", "macos")
    mail = {
        "folder": "Inbox",
        "sender": "Ana",
        "sender_addr": "a@x.example",
        "recipients": "b@x.example",
        "subject": "Long",
        "body": body,
        "sent_at": "2026-03-09 08:59",
    }
    opened.episode.store.insert("mail", mail)
    opened.tab.page.evaluate("office.news([['mail', '']])")
    opened.tab.settle()
    row = opened.find("mail.row", text="Long – ")
    assert row.locator(".muted").text_content() == f" – {shown}".rstrip()
