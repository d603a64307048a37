"""The office's server: whom it answers, and that episodes know nothing of each other."""

import http.client
import json
import re
import socket
import threading
import time
from contextlib import ExitStack

import pytest

from benchmarks.worlds.office.server import PAGES, Office


@pytest.fixture(scope="module")
def office():
    with Office() as office:
        yield office


def ask(office, path, *, method="GET", body=None, **headers):
    """Status, headers and body of a request that a browser could send."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", int(office.url.rpartition(":")[2]), timeout=120
    )
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    status, headers, body = response.status, dict(response.getheaders()), response.read()
    connection.close()
    return status, headers, body


def path_of(office, episode, more=""):
    return episode.url.removeprefix(office.url) + more


def test_an_episode_has_a_page_its_parts_and_what_applications_say(office):
    episode = office.new_episode({"apps": ["todo"]}, look="phone")
    status, headers, page = ask(office, path_of(office, episode))
    assert status == 200
    assert b'data-look="phone" data-start="todo"' in page
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    for name in ("office.js", "office.css"):
        assert ask(office, path_of(office, episode, name))[0] == 200
    listed = ask(office, path_of(office, episode, "api/todo/list"), method="POST", body="{}")[2]
    assert len(json.loads(listed)) == 18


def test_the_script_of_a_page_has_every_module_once_behind_those_that_it_imports(office):
    episode = office.new_episode({})
    script = ask(office, path_of(office, episode, "office.js"))[2].decode()
    joined = re.findall(r'^modules\["\./(\w+\.js)"\] = ', script, re.MULTILINE)
    texts = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.js")}
    assert sorted(joined) == sorted(texts)
    for place, name in enumerate(joined):
        imported = re.findall(r'(?:from|import) "\./(\w+\.js)";$', texts[name], re.MULTILINE)
        assert set(imported) <= set(joined[:place])
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)


@pytest.mark.parametrize(
    ("more", "method", "body", "headers", "status"),
    [
        ("", "GET", None, {"Host": "office.example"}, 404),  # a name that was made to lead here
        ("api/todo/list", "POST", "{}", {"Origin": "http://evil.example"}, 404),
        ("api/todo/list", "POST", "{}", {"Origin": "null"}, 404),
        ("api/todo/list", "GET", None, {}, 404),
        ("api/todo/burn", "POST", "{}", {}, 404),
        ("api/none/list", "POST", "{}", {}, 404),
        ("api/todo/tick", "POST", "{not json", {}, 400),
        ("api/todo/tick", "POST", '{"id": 1}', {}, 400),
        ("api/todo/tick", "POST", '{"id": {"a": 1}, "on": true}', {}, 400),
        ("api/sheets/set", "POST", '{"sheet": "None", "cell": "A1", "value": "1"}', {}, 400),
        ("api/todo/tick", "POST", "[" * 100_000, {}, 400),
        ("api/todo/tick", "POST", " " * 1_000_001, {}, 413),
        ("api/calendar/save", "POST", '{"event": {"title": ""}}', {}, 409),
        ("../../../schema.sql", "GET", None, {}, 404),
        ("core.js", "GET", None, {}, 404),
        ("office.html", "GET", None, {}, 404),
        ("office.js", "PUT", "x", {}, 501),
    ],
)
def test_what_is_no_business_of_its_page_is_refused(office, more, method, body, headers, status):
    episode = office.new_episode({})
    assert (
        ask(office, path_of(office, episode, more), method=method, body=body, **headers)[0]
        == status
    )
    assert episode.dump() == episode.before


@pytest.mark.parametrize("path", ["/", "/e/", "/e/0123456789abcdef/web/home/", "//e//"])
def test_without_the_address_of_an_episode_there_is_nothing(office, path):
    office.new_episode({})
    assert ask(office, path)[0] == 404


def speak(office, text, *, patience_s=60.0):
    """What comes back to bytes that no browser would send, until the office hangs up."""
    port = int(office.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=patience_s) as connection:
        connection.sendall(text.encode())
        read = b""
        while part := connection.recv(65536):
            read += part
        return read.decode()


def head(office, path, length):
    home = office.url.removeprefix("http://")
    return f"POST {path} HTTP/1.1\r\nHost: {home}\r\nContent-Length: {length}\r\n\r\n"


@pytest.mark.parametrize("length", [10**6, 10**12, -1])
def test_a_stranger_is_refused_before_a_body_is_read(office, length):
    reply = speak(office, head(office, "/e/0123456789abcdef/web/home/api/todo/list", length))
    assert reply.startswith("HTTP/1.1 404 ")


@pytest.mark.parametrize("length", ["-1", "1e3", "x", "", "1, 2"])
def test_a_length_that_is_none_is_refused(office, length):
    episode = office.new_episode({})
    path = path_of(office, episode, "api/todo/list")
    assert speak(office, head(office, path, length)).startswith("HTTP/1.1 400 ")
    assert episode.dump() == episode.before


def test_a_body_that_does_not_come_is_not_waited_for():
    with Office(idle_s=0.5) as office:
        episode = office.new_episode({})
        speak(office, head(office, path_of(office, episode, "api/todo/list"), 10))
        assert episode.dump() == episode.before


def test_strangers_who_say_nothing_are_sent_away_and_the_page_is_still_served(office):
    episode = office.new_episode({"apps": ["todo"]})
    port = int(office.url.rpartition(":")[2])
    with ExitStack() as opened:
        strangers = [
            opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            for _ in range(200)
        ]
        assert ask(office, path_of(office, episode))[0] == 200
        ends_s = time.monotonic() + 60
        while handlers() > 70 and time.monotonic() < ends_s:
            threading.Event().wait(0.02)
        assert handlers() <= 70
        assert strangers[0].recv(1) == b""


def handlers():
    """How many connections are being served."""
    return sum("process_request" in thread.name for thread in threading.enumerate())


def test_a_text_of_a_million_characters_is_refused_with_a_reason(office):
    episode = office.new_episode({})
    todo = {"title": "x" * 30_000, "list": "Work", "due": "", "priority": "Normal", "note": ""}
    body = json.dumps({"todo": todo})
    status, _, reply = ask(
        office, path_of(office, episode, "api/todo/save"), method="POST", body=body
    )
    assert (status, json.loads(reply)["error"]) == (409, "A text takes 20,000 characters at most.")
    assert episode.dump() == episode.before


def test_an_episode_that_has_ended_is_no_more(office):
    episode = office.new_episode({})
    office.end_episode(episode)
    assert ask(office, path_of(office, episode))[0] == 404


def test_episodes_side_by_side_know_nothing_of_each_other(office):
    episodes = [office.new_episode({}, seed=1) for _ in range(4)]

    def tick(episode, number):
        for todo in range(1, number + 2):
            ask(
                office,
                path_of(office, episode, "api/todo/tick"),
                method="POST",
                body=json.dumps({"id": todo, "on": True}),
            )

    threads = [
        threading.Thread(target=tick, args=(episode, number))
        for number, episode in enumerate(episodes)
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, episode in enumerate(episodes):
        before, after = (
            [row["done"] for row in dump["todos"].values()]
            for dump in (episode.before, episode.dump())
        )
        assert after == [1] * (number + 1) + before[number + 1 :]
