"""The office's server: whom it answers, and that episodes know nothing of each other."""

import http.client
import json
import threading

import pytest

from benchmarks.worlds.office.server import Office


@pytest.fixture(scope="module")
def office():
    with Office() as office:
        yield office


def ask(office, path, *, method="GET", body=None, **headers):
    """Status, headers and body of a request that a browser could send."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", int(office.url.rpartition(":")[2]), timeout=120
    )
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, named)
    reply = connection.getresponse()
    read = reply.status, dict(reply.getheaders()), reply.read()
    connection.close()
    return read


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
