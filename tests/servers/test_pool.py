"""What a model knows of its servers, and how bodies go to one."""

import threading
from functools import partial

import pytest

from models.wrappers.api.addresses import Addresses, addresses_in
from models.wrappers.api.looking import differences
from models.wrappers.api.sending import LARGEST_WHOLE, Sending
from models.wrappers.api.server import ApiServer
from models.wrappers.api.servers import ServerPool
from models.wrappers.api.wire import ImageSlot, ImageStyle
from tests.support.mock_server import Reply
from tests.support.replicas import Replica, address, running
from utils.config.endpoint import parse_endpoint

MODEL_PATH = parse_endpoint("http://servers/v1?api_key=secret-key-1&model=m")
SOON_S = 60


@pytest.mark.parametrize(
    ("text", "addresses", "problem"),
    [
        ("http://n1:8000/v1\n\n# a comment\r\nhttp://n2:8000/v1/\n", ["n1:8000", "n2:8000"], ""),
        ("\ufeffhttp://n1:8000/v1", ["n1:8000"], ""),
        ("http://n1:8000/v1\nhttp://n1:8000/v1/", ["n1:8000"], ""),
        ("", [], ""),
        ("n1:8000", [], "must begin with http:// or https://"),
        ("http://n1/v1?api_key=their-own-key", [], "holds a key"),
        ("http://user:password@n1/v1", [], "holds a key"),
        ("http://n1/v1?model=other", [], 'names the model "other", model_path "m"'),
    ],
)
def test_a_file_has_an_address_a_line(text, addresses, problem, tmp_path):
    (tmp_path / "addresses").write_text(text, encoding="utf-8")
    read = addresses_in(str(tmp_path / "addresses"), MODEL_PATH)
    assert [endpoint.place for endpoint in read.endpoints] == addresses
    assert {(e.model, e.api_key) for e in read.endpoints} <= {("m", "secret-key-1")}
    assert [problem in text for text in read.problems] == [True] * bool(problem)
    assert not any("their-own-key" in text or "password" in text for text in read.problems)


def test_a_folder_has_an_address_a_file_and_may_be_gone(tmp_path):
    folder = tmp_path / "addresses"
    folder.mkdir()
    (folder / "b").write_text("http://n2/v1")
    (folder / "a").write_text("http://n1/v1")
    (folder / ".half-written").write_text("http://n")
    assert [e.place for e in addresses_in(str(folder), MODEL_PATH).endpoints] == ["n1", "n2"]
    assert addresses_in(str(tmp_path / "nowhere"), MODEL_PATH).endpoints == []


def test_what_one_server_does_not_say_is_no_difference():
    facts = {"root": "/a", "max_model_len": 8192}
    assert differences(facts, {"root": "/a", "version": "vLLM 1"}) == []
    assert differences(facts, {"root": "/b"}) == ["root /a, not /b"]


def test_an_address_that_comes_before_the_first_look_joins_later(tmp_path, capsys):
    """It serves something else, which is an error only of one that was there at first."""
    folder = tmp_path / "addresses"
    folder.mkdir()
    is_over = threading.Event()

    def changed(servers, may_come, is_looking):
        if not is_looking:
            is_over.set()

    first, late = Replica(), Replica(root="/other")
    with running(first, late):
        model_path = parse_endpoint(address(first))
        (folder / "first").write_text(first.url)
        source = partial(addresses_in, str(folder), model_path)
        known = source()
        (folder / "late").write_text(late.url)
        pool = ServerPool(
            "m",
            source,
            partial(ApiServer, connections=1, uses_proxies=False, is_responses=False),
            envelope={},
            may_differ=False,
            may_come=lambda: True,
        )
        pool.know(known)
        pool.start()
        pool.subscribe(changed)
        assert is_over.wait(SOON_S)
        states = {row["server"]: row["state"] for row in pool.table()}
        pool.close()
    assert states == {first.place: "serving", late.place: "excluded"}
    assert "unlike the others: root /other, not /weights" in capsys.readouterr().out


@pytest.mark.parametrize("has_other", [True, False])
def test_beside_an_excluded_server_others_may_come_unless_all_are_excluded(has_other, tmp_path):
    is_over = threading.Event()
    told = []

    def changed(servers, may_come, is_looking):
        if not servers and not is_looking:
            told.append(may_come)
            is_over.set()

    excluded, other = Replica(id="another"), Replica()
    with running(excluded, other):
        (tmp_path / "excluded").write_text(excluded.url)
        if has_other:
            (tmp_path / "other").write_text(other.url)
        pool = ServerPool(
            "m",
            partial(addresses_in, str(tmp_path), parse_endpoint(address(excluded))),
            partial(ApiServer, connections=1, uses_proxies=False, is_responses=False),
            envelope={},
            may_differ=False,
            may_come=lambda: True,
        )
        pool.start()
        pool.subscribe(changed)
        (tmp_path / "other").unlink(missing_ok=True)
        assert is_over.wait(SOON_S)
        pool.close()
    assert told[-1] is has_other


class BusyReplica(Replica):
    """A server that may be too busy for a look."""

    is_busy = False

    def reply_to(self, request):
        return Reply(status=429) if self.is_busy else super().reply_to(request)


def test_a_server_that_is_too_busy_for_another_look_is_there():
    told = []
    server = BusyReplica()
    with running(server):
        pool = ServerPool(
            "m",
            partial(Addresses, [parse_endpoint(address(server))]),
            partial(ApiServer, connections=1, uses_proxies=False, is_responses=False),
            envelope={},
            may_differ=False,
            may_come=lambda: False,
        )
        pool.start()
        pool.subscribe(lambda servers, may_come, is_looking: told.append(servers))
        server.is_busy = True
        assert not pool.is_gone(told[-1][0])
        server.is_busy, server.is_well = False, False
        assert pool.is_gone(told[-1][0])
        pool.close()


@pytest.fixture
def slot(tmp_path):
    """An image of some 400 kB, in its place in a request."""
    from PIL import Image

    noise = random_bytes(3 * 400 * 400)
    Image.frombytes("RGB", (400, 400), noise).save(tmp_path / "noise.png")
    return ImageSlot.of(tmp_path / "noise.png", ImageStyle())


def random_bytes(count):
    import random

    return random.Random(0).randbytes(count)


def test_a_large_body_waits_until_others_are_sent_and_is_taken_in_pieces(slot):
    sending = Sending(most_bytes=int(1.5 * slot.encoded_size()))
    request = {"image": slot}
    first = sending.body(request, [slot])
    assert first.size > LARGEST_WHOLE
    assert first.image_whs == {id(slot): (400, 400)}
    second_made = threading.Event()

    def make_second():
        sending.body(request, [slot]).close()
        second_made.set()

    threading.Thread(target=make_second, daemon=True).start()
    assert not second_made.wait(0.05)
    sent = b"".join(first.content)
    assert second_made.wait(SOON_S)
    assert (len(sent), sent[:18], sent[-2:]) == (first.size, b'{"image":"data:ima', b'"}')
    assert list(first.content) == []  # it holds nothing any more
    first.close()
    sending.body(request, [slot]).close()


def test_one_body_may_be_larger_than_all_that_may_be_sent_at_once(slot):
    Sending(most_bytes=1).body({"image": slot}, [slot]).close()


def test_an_image_that_cannot_be_sent_leaves_room_for_others(slot):
    from utils.errors import UserError

    sending = Sending(most_bytes=int(1.5 * slot.encoded_size()))
    for _ in range(2):
        with pytest.raises(UserError):
            sending.body({"image": slot, "odd": object()}, [slot])
    sending.body({"image": slot}, [slot]).close()
