"""A world in a page: what actions do, when it is quiet, what it keeps the page from."""

import time
from html import escape

import pytest

from benchmarks.actions.action import KEYS, Action
from tests.support.page_world import STYLE, WH, AnyPage, begun
from tests.support.pages import Pages
from utils.contracts import WorldError
from utils.geometry.images import read_header

NOTED = """<script>
window.seen = [];
for (const name of ["click", "dblclick", "contextmenu", "mousemove", "keydown", "wheel"])
  addEventListener(name, (e) => seen.push([name, e.key ?? [e.clientX, e.clientY]]));
</script>"""
TYPED = [Action("click", (0.5, 0.5)), Action("type", text="a")]


@pytest.fixture
def world(tmp_path, chromium):
    world = AnyPage(tmp_path)
    yield world
    world.close()


@pytest.fixture
def patient_world(tmp_path, request, chromium):
    world = AnyPage(tmp_path, patience_s=request.param)
    yield world
    world.close()


# -- actions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (Action("click", (0.5, 0.5)), ["click", [200, 150]]),
        (Action("double", (0.5, 0.5)), ["dblclick", [200, 150]]),
        (Action("right", (0.25, 0.1)), ["contextmenu", [100, 30]]),
        (Action("long", (0.5, 0.5)), ["click", [200, 150]]),
        (Action("move", (0.1, 0.2)), ["mousemove", [40, 60]]),
        (Action("key", keys=("ctrl", "a")), ["keydown", "a"]),
        (Action("key", keys=("pagedown",)), ["keydown", "PageDown"]),
        (Action("key", keys=("é",)), None),
    ],
)
def test_an_action_is_what_mouse_and_keyboard_would_do(world, action, expected):
    with Pages({"/": STYLE + NOTED}) as server:
        begun(world, server)
        world.step(action)
        events = world.ask("window.seen")
        assert events[-1:] == ([expected] if expected else [])


def test_every_key_that_can_be_named_can_be_pressed(world):
    with Pages({"/": STYLE + NOTED}) as server:
        begun(world, server)
        for key in KEYS:
            world.step(Action("key", keys=(key,)))
        assert len(world.ask("seen.filter(([name]) => name === 'keydown')")) == len(KEYS)


HOW = """<script>
window.seen = [];
for (const name of ["click", "dblclick", "auxclick", "contextmenu", "wheel"])
  addEventListener(name, (e) => seen.push([name, e.button, e.ctrlKey, e.shiftKey, e.altKey]));
</script><a href="/other" class=at>a link</a>"""


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (Action("middle", (0.5, 0.5)), ["auxclick", 1, False, False, False]),
        (Action("click", (0.5, 0.5), modifiers=("ctrl",)), ["click", 0, True, False, False]),
        (Action("click", (0.5, 0.5), modifiers=("meta",)), ["click", 0, True, False, False]),
        (
            Action("double", (0.1, 0.1), modifiers=("ctrl", "shift")),
            ["dblclick", 0, True, True, False],
        ),
        (Action("scroll", (0.5, 0.5), modifiers=("alt",)), ["wheel", 0, False, False, True]),
    ],
)
def test_a_click_has_its_button_and_the_keys_that_are_held(world, action, expected):
    with Pages({"/": STYLE + HOW, "/other": "other"}) as server:
        begun(world, server)
        world.step(action)
        world.step(Action("right", (0.1, 0.1)))  # nothing is held any more, and the page is there
        assert world.ask("seen").count(expected) == 1
        assert ["contextmenu", 2, False, False, False] in world.ask("seen")


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([Action("type", text="Grüße 好")], "Grüße 好"),
        ([Action("type", text="word " * 20)], "word " * 20),
        ([Action("type", text="one\ntwo")], "one\ntwo"),
        ([Action("type", text="ab"), Action("key", keys=("shift", "c"))], "abC"),
        ([Action("type", text="ab"), Action("key", keys=("shift", "1"))], "ab!"),
        ([Action("key", keys=("shift", key)) for key in ";=,-./`[\\]'"], ':+<_>?~{|}"'),
        ([Action("key", keys=(key,)) for key in ";=,-./`[\\]'"], ";=,-./`[\\]'"),
        ([Action("key", keys=("shift", "?"))], "?"),
        (
            [
                Action("type", text="ab"),
                Action("key", keys=("meta", "a")),
                Action("type", text="c"),
            ],
            "c",
        ),
        (
            [
                Action("type", text="one two"),
                Action("double", (0.3, 0.38)),
                Action("key", keys=("delete",)),
            ],
            " two",
        ),
        (
            [
                Action("type", text="one two"),
                Action("triple", (0.3, 0.38)),
                Action("key", keys=("delete",)),
            ],
            "",
        ),
        (
            [
                Action("type", text="ab"),
                Action("key", keys=("ctrl", "a")),
                Action("key", keys=("ctrl", "c")),
                Action("key", keys=("end",)),
                Action("key", keys=("ctrl", "v")),
            ],
            "abab",
        ),
    ],
)
def test_text_reaches_the_field_with_the_focus(world, actions, expected):
    with Pages({"/": STYLE + "<textarea class=at autofocus></textarea>"}) as server:
        begun(world, server)
        for action in [Action("click", (0.5, 0.5)), *actions]:
            world.step(action)
        assert world.ask("document.querySelector('textarea').value") == expected


def test_a_long_text_of_short_lines_is_not_typed_key_by_key(world):
    count = "<script>keys = 0; onkeydown = () => keys++;</script>"
    with Pages({"/": f"{STYLE}<textarea class=at></textarea>{count}"}) as server:
        begun(world, server)
        world.step(Action("click", (0.5, 0.5)))
        text = "\n".join(["three little words"] * 60)
        world.step(Action("type", text=text))
        assert world.ask("document.querySelector('textarea').value") == text
        assert world.ask("keys") == 59  # Enter


STORES = """<input class=at autofocus><script>
window.stored = [];
const field = document.querySelector("input");
const store = async (next) => {
  const text = field.value;
  await fetch("/slow");
  stored.push(text);
  field.value = next;
};
onkeydown = (event) => {
  if (event.key === "Enter" || event.key === "Tab") { event.preventDefault(); store(""); }
  if (event.key === "#") { event.preventDefault(); store("number "); }
};
</script>"""
"""A page that empties its field once its server has answered."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\ntwo\nthree\n", ["one", "two", "three", ""]),
        ("one\ttwo\t", ["one", "two", ""]),
        ("\t" + "x" * 60 + "\t", ["", "x" * 60, ""]),
        ("#one\n", ["", "number one", ""]),
    ],
)
def test_what_a_typed_key_sets_off_is_waited_for_before_the_next_one(world, text, expected):
    with Pages({"/": STYLE + STORES, "/slow": "stored"}, {"/slow": 0.3}) as server:
        begun(world, server)
        world.step(Action("click", (0.5, 0.5)))
        world.step(Action("type", text=text))
        assert world.ask("[...stored, field.value]") == expected


@pytest.mark.parametrize("patient_world", [2.0], indirect=True)
def test_a_text_of_many_lines_may_take_longer_than_one_step(patient_world):
    with Pages({"/": STYLE + STORES, "/slow": "stored"}, {"/slow": 0.3}) as server:
        begun(patient_world, server)
        patient_world.step(Action("click", (0.5, 0.5)))
        patient_world.step(Action("type", text="line\n" * 12))
        assert patient_world.ask("stored") == ["line"] * 12


def test_a_page_that_is_never_quiet_is_waited_for_once_for_each_text(world):
    restless = "<script>const turn = () => { document.title += 'x'; requestAnimationFrame(turn); }; turn();</script>"
    with Pages({"/": f"{STYLE}<textarea class=at></textarea>{restless}"}) as server:
        begun(world, server)
        world.step(Action("click", (0.5, 0.5)))
        begun_s = time.monotonic()
        world.step(Action("type", text="\n".join("abcdefghijklmnopqrst")))
        assert time.monotonic() - begun_s < 40
        text = world.ask("document.querySelector('textarea').value")
        assert text == "\n".join("abcdefghijklmnopqrst")


@pytest.mark.parametrize(
    ("direction", "amount", "expected"),
    [
        ("down", 3, [0, 300]),
        ("up", 3, [0, 0]),
        ("right", 2, [200, 0]),
    ],
)
def test_a_scroll_moves_what_is_seen(world, direction, amount, expected):
    with Pages({"/": STYLE + "<div style='width:3000px;height:3000px'></div>"}) as server:
        begun(world, server)
        world.step(Action("scroll", (0.5, 0.5), direction=direction, amount=amount))
        assert world.ask("[scrollX, scrollY]") == expected


def test_a_drag_takes_something_along(world):
    page = (
        STYLE + """<input type=range min=0 max=100 value=0 class=at style="height:20px;margin:0">"""
    )
    with Pages({"/": page}) as server:
        begun(world, server)
        world.step(Action("drag", (0.27, 0.366), (0.5, 0.366)))
        assert 45 <= float(world.ask("document.querySelector('input').value")) <= 55


def test_what_a_world_does_not_have_is_told_to_the_model(world):
    with Pages({"/": STYLE + "<a class=at href=two>two</a>", "/two": "two"}) as server:
        begun(world, server)
        assert world.step(Action("back")).note == "There is nothing to go back to."
        assert world.step(Action("home")).note == "There is no home screen here."
        assert "no applications" in world.step(Action("open_app", app="; rm -rf /")).note
        world.step(Action("click", (0.27, 0.35)))
        assert world.ask("location.pathname") == "/two"
        assert world.step(Action("back")).note == ""
        assert world.ask("location.pathname") == "/"


def test_a_wide_scroll_to_the_left_does_not_leave_the_page(world):
    with Pages({"/": STYLE}) as server:
        begun(world, server)
        world.step(Action("scroll", (0.4, 0.6), direction="left", amount=10))
        world.step(Action("move", (0.5, 0.5)))
        assert world.ask("[location.pathname, history.length]") == ["/", 1]


def test_a_command_of_the_browser_leaves_the_page_as_it_is(world):
    with Pages({"/": STYLE + NOTED}) as server:
        begun(world, server)
        for keys in (*(f"ctrl {key}" for key in "wtnopsr"), "f5", "f12", "alt f4", "ctrl shift i"):
            world.step(Action("key", keys=tuple(keys.split())))
        assert [server.asked, world.ask("innerWidth")] == [["/"], WH[0]]


def test_a_screenshot_is_named_by_what_it_shows(world, tmp_path):
    with Pages({"/": STYLE + "<input class=at>"}) as server:
        first = begun(world, server)
        assert [first.state_ok, first.has_ended, read_header(first.image).wh] == [True, False, WH]
        typed = world.step(Action("click", (0.5, 0.5)))
        assert typed.image != first.image
        assert {world.observe().image for _ in range(3)} == {typed.image}  # the caret stands still
        assert begun(world, server).image == first.image
        assert set(tmp_path.iterdir()) == {first.image, typed.image}


# -- when a page is quiet -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "work",
    [
        "setTimeout(done, 300)",
        "setTimeout(() => setTimeout(done, 100), 100)",
        # For a while nothing goes on: the machine stands still.
        "setTimeout(() => { const now = performance.now(); while (performance.now() < now + 3500); setTimeout(done, 100); }, 60)",
        "fetch('/slow').then(() => done())",
        # Of a reply the head is there, the body not yet.
        "new Response(new ReadableStream({ start: (body) => setTimeout(() => body.close(), 700) })).text().then(() => done())",
        "{ const asked = new XMLHttpRequest(); asked.open('GET', '/slow'); asked.onload = done; asked.send(); }",
        "{ const image = new Image(); image.onerror = done; image.src = '/slow'; }",
        "location.href = '/slow'",
        "{ const frame = document.createElement('iframe'); frame.onload = done; frame.src = '/slow'; document.body.append(frame); }",
    ],
)
def test_what_a_click_sets_off_is_waited_for(world, work):
    page = f"{STYLE}<button class=at>go</button><script>const done = () => {{ document.title = 'done'; }}; onclick = () => {{ {work}; }};</script>"
    with Pages({"/": page, "/slow": "<title>done</title>"}, {"/slow": 0.3}) as server:
        begun(world, server)
        assert world.step(Action("click", (0.5, 0.5))).state_ok
        assert world.ask("document.title") == "done"


@pytest.mark.parametrize(
    ("work", "is_quiet"),
    [
        ("const tick = () => setTimeout(tick, 300); tick();", True),  # a clock
        ("setInterval(() => {}, 10);", True),
        ("setTimeout(() => {}, 5000);", True),
        (
            "const turn = () => { document.body.title += 'x'; requestAnimationFrame(turn); }; turn();",
            False,
        ),
    ],
)
def test_what_never_ends_is_not_waited_for(world, work, is_quiet):
    with Pages({"/": f"{STYLE}<body><script>{work}</script>"}) as server:
        assert begun(world, server).state_ok == is_quiet


def test_the_clock_of_a_page_begins_at_one_moment_and_goes_on(world):
    page = (
        "<script>began = [Date(), `${new Date()}`, new Date().toISOString(), Date.now()];</script>"
    )
    with Pages({"/": page, "/frame": f"<iframe srcdoc='{page}'></iframe>"}) as server:
        begun(world, server)
        texts = world.ask("began.map((each) => new Date(each).toISOString().slice(0, 16))")
        assert texts == ["2026-03-09T09:00"] * 4
        assert world.ask("new Date(2016, 11, 31) - new Date('2016-12-31')") == 0
        assert world.ask("new Date().constructor === Date && new Date() instanceof Date")
        goes_on = (
            "(was => new Promise(done => setTimeout(() => done(Date.now() - was), 50)))(Date.now())"
        )
        assert 45 <= world.ask(goes_on) < 3_600_000
        begun(world, server, "frame")
        assert world.ask("frames[0].began[2].slice(0, 10)") == "2026-03-09"


# -- what a page is kept from ---------------------------------------------------------------------

ATTEMPTS = {
    "fetch": "fetch('OTHER', {mode: 'no-cors'}).catch(() => {})",
    "a name": "fetch('http://example.com/', {mode: 'no-cors'}).catch(() => {})",
    "an image": "new Image().src = 'OTHER'",
    "a form": "{ const f = document.createElement('form'); f.action = 'OTHER'; document.body.append(f); f.submit(); }",
    "a beacon": "navigator.sendBeacon('OTHER', 'x')",
    "a socket": "new WebSocket('OTHER'.replace('http', 'ws'))",
    "a redirect": "fetch('/redirect', {mode: 'no-cors'}).catch(() => {})",
    "a worker": "new Worker(URL.createObjectURL(new Blob([\"fetch('OTHER', {mode: 'no-cors'})\"])))",
    "a frame": "{ const f = document.createElement('iframe'); f.src = 'OTHER'; document.body.append(f); }",
    "another port": "location.href = 'OTHER'",
    "a file": "location.href = 'file:///etc/passwd'",
    "a frame with a file": "{ const f = document.createElement('iframe'); f.src = 'file:///etc/passwd'; document.body.append(f); }",
    "a popup": "window.open('OTHER')",
    "an empty popup": "{ const w = window.open(''); if (w) w.location = 'OTHER'; }",
    "a link to a new window": "{ const a = document.createElement('a'); a.href = 'OTHER'; a.target = '_blank'; document.body.append(a); a.click(); }",
    "a download": "{ const a = document.createElement('a'); a.href = '/two'; a.download = 'x'; document.body.append(a); a.click(); }",
    "a file chooser": "{ const i = document.createElement('input'); i.type = 'file'; i.click(); }",
    "an alert": "alert('hear me')",
    "a question": "window.said = confirm('sure?')",
    "printing": "print()",
    "a service worker": "navigator.serviceWorker.register('/two').catch(() => {})",
    "a pre-connection": "{ const l = document.createElement('link'); l.rel = 'preconnect'; l.href = 'OTHER'; document.head.append(l); }",
}
NAMED = {
    "a name": "may not reach http://example.com/",
    "a download": "Nothing can be downloaded",
    "a file chooser": "cannot be chosen",
    "an alert": '"hear me" came and was closed',
    "a question": '"sure?" came and was closed',
    **dict.fromkeys(
        ("fetch", "an image", "a form", "a beacon", "a socket", "a frame", "another port"),
        "may not reach",
    ),
}


def test_a_page_reaches_nothing_but_its_own_server(world, tmp_path):
    with (
        Pages({"/": "other"}) as other,
        Pages({"/two": "two"}, {}, {"/redirect": other.url}) as server,
    ):
        server.pages["/"] = STYLE + "".join(
            f'<button style="display:block;height:12px;width:100%" onclick="{escape(work)}"></button>'
            for work in ATTEMPTS.values()
        ).replace("OTHER", other.url)
        notes = {}
        for number, name in enumerate(ATTEMPTS):
            begun(world, server)  # requests of the one before would be waited for
            notes[name] = world.step(Action("click", (0.5, (12 * number + 6) / WH[1]))).note
            ends_s = time.monotonic() + 60  # what is told of it may come late
            while True:
                notes[name] += world.step(Action("wait", seconds=0.05)).note
                if NAMED.get(name, "") in notes[name] or time.monotonic() > ends_s:
                    break
            assert world.ask("location.href") in (server.url, "chrome-error://chromewebdata/"), name
        assert other.asked == []
        assert {name: notes[name] for name, text in NAMED.items() if text not in notes[name]} == {}
        assert {path.suffix for path in tmp_path.iterdir()} == {".png"}


def test_two_worlds_of_a_thread_share_a_browser(world, tmp_path):
    other = AnyPage(tmp_path)
    with Pages({"/": STYLE + NOTED}) as server:
        begun(world, server)
        begun(other, server)
        world.step(Action("click", (0.5, 0.5)))
        assert [len(world.ask("seen")) > 0, other.ask("seen")] == [True, []]
        other.close()
        assert world.observe().has_ended


def test_a_page_that_was_made_ready_ahead_is_as_any_other(world):
    with Pages({"/": STYLE + NOTED + "<input class=at>"}) as server:
        first = begun(world, server)
        for _ in range(2):
            world.rest()
        typed = [world.step(action).image for action in TYPED]
        assert begun(world, server).image == first.image
        assert [world.step(action).image for action in TYPED] == typed
        world.rest()
    with Pages({"/": "another server"}) as server:
        assert begun(world, server).image != first.image
        assert world.ask("innerWidth") == WH[0]


def test_a_world_without_a_task_says_so(tmp_path):
    with pytest.raises(WorldError, match="no task has begun"):
        AnyPage(tmp_path).observe()
