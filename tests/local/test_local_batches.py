"""Several requests at once give the answers that each gives alone. On tiny checkpoints, fp32, sdpa."""

import random
import re
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import numpy
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("qwen_vl_utils")

import torch
from PIL import Image

from models.wrappers.local import batching as local_batching
from models.wrappers.local import grouping as local_grouping
from models.wrappers.local.batching import Batcher, CannotCollate, OutOfMemory
from models.wrappers.local.collating import collate, split, trimmed
from models.wrappers.local.grouping import READY_BYTES, nearest_in_length
from models.wrappers.local.wrapper import LocalModelWrapper
from tests.support import tiny_checkpoint
from tests.support.mock_server import MockServer
from tests.support.stage import Stage
from utils.contracts import Abandoned, CallError
from utils.errors import StopRun
from utils.runs.folder import safe_name

L2 = "GUIElementGrounding"
PICTURES = 48
OF_ONE_SIZE = 6
NEW_TOKENS = 8


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A random checkpoint of each family, with weights large enough to react to every picture."""
    torch.set_num_threads(1)
    root = tmp_path_factory.mktemp("checkpoints")
    return {
        family: tiny_checkpoint.build(family, root / family, dtype="float32", spread=6)
        for family in tiny_checkpoint.FAMILIES
    }


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    """Messages on pictures of many sizes, with texts of many lengths."""
    folder, dice = tmp_path_factory.mktemp("pictures"), random.Random(3)
    found = []
    for number in range(PICTURES):
        path = folder / f"{number}.png"
        wh = (dice.randrange(40, 500), dice.randrange(40, 400))
        wh = (200, 150) if number < OF_ONE_SIZE else wh
        noise = Image.frombytes("L", wh, dice.randbytes(wh[0] * wh[1]))  # the same in every run
        darker = noise.point(lambda value, least=5 * number: least + value * (250 - least) // 255)
        darker.convert("RGB").save(path)
        text = "Where is " + "it " * dice.randrange(1, 30)
        found.append([
            {"role": "user", "type": "image", "value": str(path)},
            {"role": "user", "type": "text", "value": text},
        ])  # fmt: skip
    return found


def preprocess(message, model, processor, **kwargs):
    """A user's own: the processor alone, its resize and its picture tokens."""
    turns = [
        {
            "role": "user",
            "content": [{"type": "image"}, {"type": "text", "text": message[1]["value"]}],
        }
    ]
    text = processor.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    with Image.open(message[0]["value"]) as picture:
        return processor(text=[text], images=[picture.convert("RGB")], return_tensors="pt")


def postprocess(outputs, model, processor, **kwargs):
    """A user's own: needs the prompt in front of the completion, and batch size 1."""
    assert len(outputs) == 1
    return processor.decode(outputs[0][kwargs["input_length"] :], skip_special_tokens=True)


FUNCTIONS = {"default functions": {}, "user functions": {"preprocess_function": preprocess, "postprocess_function": postprocess}}  # fmt: skip


def encoded_all(wrapper, questions):
    return [wrapper.encode(wrapper.request(messages, L2)) for messages in questions]


def replies(wrapper, encoded, size):
    return [
        (generation.text, generation.reply, generation.finish_reason, dict(generation.usage))
        for start in range(0, len(encoded), size)
        for generation in wrapper.generate_encoded(encoded[start : start + size])
    ]


def with_pictures_swapped(encoded):
    """The first requests with each other's pictures, of the same size; texts stay."""
    alike = encoded[:OF_ONE_SIZE]
    assert len({str(request.inputs["image_grid_thw"]) for request in alike}) == 1
    swapped = [
        replace(request, inputs={**request.inputs, "pixel_values": other.inputs["pixel_values"]})
        for request, other in zip(alike, [*alike[1:], alike[0]], strict=True)
    ]
    return [*swapped, *encoded[OF_ONE_SIZE:]]


@pytest.mark.parametrize("functions", FUNCTIONS)
@pytest.mark.parametrize("family", tiny_checkpoint.FAMILIES)
def test_a_batch_answers_as_each_request_does_alone(family, functions, folders, questions):
    wrapper = LocalModelWrapper(
        "tiny", model_path=str(folders[family]), generate_cfg={"max_new_tokens": NEW_TOKENS},
        **FUNCTIONS[functions],
    )  # fmt: skip
    encoded = encoded_all(wrapper, questions)

    alone = replies(wrapper, encoded, 1)

    assert len({text for text, *_ in alone}) >= 10
    assert replies(wrapper, encoded, 4) == alone
    assert replies(wrapper, encoded, 8) == alone

    assert replies(wrapper, with_pictures_swapped(encoded[:8]), 8) != alone[:8]


@pytest.mark.parametrize("family", tiny_checkpoint.FAMILIES)
def test_the_first_logits_of_a_batch_are_those_of_each_request_alone(family, tmp_path, questions):
    folder = tiny_checkpoint.build(family, tmp_path / family, dtype="float32")
    wrapper = LocalModelWrapper("tiny", model_path=str(folder))
    encoded = encoded_all(wrapper, questions)
    model = wrapper._load().model
    alone = torch.cat([first_logits(model, each.inputs) for each in encoded])

    for size in (4, 8):
        together = torch.cat(
            [
                first_logits(model, collate([each.inputs for each in encoded[at : at + size]], 0))
                for at in range(0, PICTURES, size)
            ]
        )
        assert (together - alone).abs().max() < 1e-4


ENDS = list(range(0, 256, 3))  # so many tokens that replies are short without a least length


@pytest.mark.filterwarnings("ignore:Unfeasible length")
@pytest.mark.parametrize("generate_cfg", [
    {"max_length": 330},
    {"max_new_tokens": 6, "min_length": 230, "eos_token_id": ENDS},
    {"max_new_tokens": 6, "no_repeat_ngram_size": 1, "eos_token_id": [256, 257]},
    {"max_new_tokens": 6, "encoder_repetition_penalty": 4},
    {"max_new_tokens": 6, "repetition_penalty": 2},
    {"max_new_tokens": 6, "num_beams": 2, "repetition_penalty": 1.2},
])  # fmt: skip
def test_settings_that_look_at_the_prompt_do_not_look_at_padding(generate_cfg, folders, questions):
    wrapper = LocalModelWrapper(
        "tiny", model_path=str(folders["qwen2_5_vl"]), generate_cfg=generate_cfg
    )
    encoded = encoded_all(wrapper, questions)
    encoded = [each for each in encoded if each.input_length < 310][:10]
    assert len({each.input_length for each in encoded}) > 5

    assert replies(wrapper, encoded, 5) == replies(wrapper, encoded, 1)


def first_logits(model, inputs):
    with torch.inference_mode():
        made = model.generate(
            **inputs, max_new_tokens=1, output_logits=True, return_dict_in_generate=True
        )
    return made.logits[0]


# ---- inputs and outputs ----------------------------------------------------------------------------


def request(length, **more):
    ids = torch.arange(1, length + 1).reshape(1, length)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), **more}


def test_ids_and_masks_are_padded_on_the_left():
    batch = collate([request(2), request(4)], pad_id=9)

    assert batch["input_ids"].tolist() == [[9, 9, 1, 2], [1, 2, 3, 4]]
    assert batch["attention_mask"].tolist() == [[0, 0, 1, 1], [1, 1, 1, 1]]


def test_without_masks_padding_is_masked_all_the_same():
    batch = collate([{"input_ids": request(n)["input_ids"]} for n in (1, 3)], pad_id=9)

    assert batch["attention_mask"].tolist() == [[0, 0, 1], [1, 1, 1]]


def test_pictures_are_joined_in_order():
    one, two = torch.full((3, 5), 1.0), torch.full((7, 5), 2.0)
    batch = collate([request(2, pixel_values=one), request(4, pixel_values=two)], pad_id=9)

    assert batch["pixel_values"].equal(torch.cat([one, two]))


@pytest.mark.parametrize(("first", "second", "named"), [
    ({"masks": torch.ones(1, 3, 5)}, {"masks": torch.ones(1, 4, 6)}, "input masks has shapes"),
    ({"size": [1, 2]}, {"size": [3, 4]}, "input size (list) differs"),
    ({"a": [torch.ones(2)]}, {"a": [torch.ones(2)]}, "input a (list) differs between samples, or can"),
    ({"a": numpy.ones(2)}, {"a": numpy.ones(2)}, "input a (ndarray) differs between samples, or can"),
    ({"a": torch.ones(2, 3)}, {"a": torch.ones(2, 3).to_sparse()}, "input a cannot be joined"),
    ({"hint": 1}, {}, "hint are there for some samples"),
])  # fmt: skip
def test_what_cannot_be_put_together_is_named(first, second, named):
    with pytest.raises(CannotCollate) as raised:
        collate([request(2, **first), request(2, **second)], pad_id=0)

    assert named in str(raised.value)


def test_what_is_equal_everywhere_is_kept_as_it_is():
    assert collate([request(2, mode="chat"), request(3, mode="chat")], pad_id=0)["mode"] == "chat"


def test_rows_come_back_without_padding_on_either_side():
    batch_ids = torch.tensor([[0, 0, 1, 2], [1, 2, 3, 4]])
    outputs = torch.tensor([[0, 0, 1, 2, 7, 5, 0], [1, 2, 3, 4, 7, 7, 5]])

    short, long = split(outputs, batch_ids, [2, 4])

    assert trimmed(short, 2, frozenset([5]), pad_id=0).tolist() == [[1, 2, 7, 5]]
    assert trimmed(long, 4, frozenset([5]), pad_id=0).tolist() == [[1, 2, 3, 4, 7, 7, 5]]


@pytest.mark.parametrize(("completion", "kept"), [
    ([7, 0, 0, 0], [7, 0]),  # the end token is the one that fills up
    ([7, 7, 7, 0], [7, 7, 7, 0]),
    ([7, 7, 7, 7], [7, 7, 7, 7]),
])  # fmt: skip
def test_an_end_token_that_fills_up_too_is_kept_once(completion, kept):
    assert trimmed(torch.tensor([completion]), 0, frozenset([0]), pad_id=0).tolist() == [kept]


def test_rows_of_a_method_that_leaves_the_prompt_out_are_kept_whole():
    batch_ids = torch.tensor([[0, 1], [1, 2]])

    rows = split(torch.tensor([[7, 5, 0], [7, 7, 5]]), batch_ids, [1, 2])

    assert [row.tolist() for row in rows] == [[[7, 5, 0]], [[7, 7, 5]]]


# ---- who goes together ------------------------------------------------------------------------------


class Item:
    """Something to generate for."""

    nbytes = 1

    def __init__(self, number, input_length=1):
        self.number, self.input_length = number, input_length

    def __repr__(self):
        return str(self.number)


class Model:
    """Answers with ten times the number; holds its first batch until the others wait."""

    def __init__(self, room=99, broken=()):
        self.room, self.broken, self.batches = room, broken, []
        self.may_go_on = threading.Event()

    def __call__(self, items):
        self.batches.append([item.number for item in items])
        if len(self.batches) == 1:
            assert self.may_go_on.wait(60)
        if len(items) > self.room:
            raise OutOfMemory(f"no room for {len(items)}")
        if any(item.number in self.broken for item in items):
            raise CallError("model", "broken")
        return [10 * item.number for item in items]


def ask_all(batcher, model, items, *, threads=None):
    """Results (or what was raised), by item; all are waiting before the first batch ends."""
    results = {}

    def ask(item):
        try:
            with batcher.preparing():
                pass
            results[item.number] = batcher.generate(item)
        except (CallError, StopRun, Abandoned) as error:
            results[item.number] = error

    with ThreadPoolExecutor(threads or len(items)) as pool:
        for item in items:
            pool.submit(ask, item)
        model.may_go_on.set()
    return results


@pytest.mark.parametrize("size", [1, 3, "auto"])
def test_everyone_gets_his_own_answer(size):
    model = Model()

    results = ask_all(Batcher(model, size, on_cpu=True), model, [Item(n) for n in range(20)])

    assert results == {n: 10 * n for n in range(20)}
    assert max(map(len, model.batches)) <= (size if size != "auto" else 8)


def test_auto_grows_and_steps_back_when_memory_runs_out(capsys):
    model = Model(room=3)

    results = ask_all(Batcher(model, "auto", on_cpu=True), model, [Item(n) for n in range(40)])

    assert results == {n: 10 * n for n in range(40)}
    assert max(map(len, model.batches)) == 4  # tried once
    assert [len(batch) for batch in model.batches].count(4) == 1
    assert "out of memory with 4 at once; going on with 2" in capsys.readouterr().err


def test_a_fixed_size_steps_back_too():
    model = Model(room=1)

    results = ask_all(Batcher(model, 4, on_cpu=True), model, [Item(n) for n in range(9)])

    assert results == {n: 10 * n for n in range(9)}


class Maker:
    """Makes items; memory runs out on the tries that are named, counted from 1."""

    def __init__(self, fails):
        self.fails, self.tries = fails, 0

    def __call__(self, number):
        self.tries += 1
        if self.tries in self.fails:
            raise OutOfMemory("no room for inputs")
        return Item(number)


def prepare_all(batcher, make, count):
    """What became of each, in order."""
    results = []
    for number in range(count):
        try:
            results.append(batcher.prepare(lambda number=number: make(number)).number)
        except CallError as error:
            results.append(str(error))
    return results


@pytest.mark.parametrize(("size", "fails", "expected", "left"), [
    (8, {2}, [0, 1, 2], 4),
    (8, {2, 3}, [0, "no room for inputs", 2], 4),
    (8, {2, 4}, [0, 1, 2], 2),
    (1, {2}, [0, 1, 2], 1),
])  # fmt: skip
def test_inputs_are_made_once_more_and_batches_shrink_where_memory_runs_out(
    size, fails, expected, left, capsys
):
    batcher = Batcher(Model(), size, on_cpu=True)

    assert prepare_all(batcher, Maker(fails), 3) == expected
    assert batcher._size == left
    said = f"out of memory with inputs for {size} at once; going on with {size // 2}"
    assert (said in capsys.readouterr().err) == (size > 1)


def test_the_second_try_waits_until_no_batch_is_generated():
    model, failed = Model(), threading.Event()
    batcher = Batcher(model, 2, on_cpu=True)
    generated, tries = [], []

    def make():
        tries.append(bool(generated))
        if len(tries) == 1:
            failed.set()
            raise OutOfMemory("no room for inputs")
        return Item(2)

    def first():
        generated.append(batcher.generate(Item(1)))

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(first)
        wait_until(lambda: model.batches)
        two = pool.submit(lambda: batcher.generate(batcher.prepare(make)))
        assert failed.wait(60)
        wait_until(lambda: batcher._is_draining)
        assert tries == [False]
        model.may_go_on.set()
        one.result(60)
        assert two.result(60) == 20

    assert len(tries) == 2


def test_one_that_is_too_large_by_itself_fails_alone():
    model = Model(room=0)

    results = ask_all(Batcher(model, 1, on_cpu=True), model, [Item(0)])

    assert "no room for 1" in str(results[0])
    assert model.batches == [[0], [0]]


class Tensors:
    """What a batch holds on the device."""


class ForgetfulModel:
    """Fails with what is in `failures`, one call after the other; then answers.

    Attributes:
        kept: by call, whether tensors of an earlier one were still held.
    """

    def __init__(self, *failures):
        self.failures, self.batches, self.kept, self._tensors = list(failures), [], [], []

    def __call__(self, items):
        self.batches.append([item.number for item in items])
        self.kept.append(any(tensors() is not None for tensors in self._tensors))
        tensors = Tensors()
        self._tensors.append(weakref.ref(tensors))
        if self.failures:
            try:
                tensors.lookup_that_fails  # noqa: B018 - the library's own error, below ours
            except AttributeError as error:
                raise self.failures.pop(0) from error
        return [10 * item.number for item in items]


def ask_at_once(batcher, count):
    """Results of so many requests, which all wait before anything is generated."""
    with ThreadPoolExecutor(count) as pool:
        with batcher.preparing():
            asked = [pool.submit(batcher.generate, Item(number)) for number in range(count)]
            wait_until(lambda: len(batcher._waiting) == count or batcher._run.batches)
        return [each.result(60) for each in asked]


@pytest.mark.parametrize("size", [1, "auto"])
def test_memory_that_runs_out_once_with_a_single_request_costs_no_answer(size, monkeypatch):
    freed = []
    monkeypatch.setattr(local_batching, "free_memory", lambda: freed.append(len(model.batches)))
    model = ForgetfulModel(OutOfMemory("no room"))

    assert ask_at_once(Batcher(model, size, on_cpu=True), 1) == [0]
    assert (model.batches, model.kept, freed) == ([[0], [0]], [False, False], [1])


def test_a_batch_that_failed_holds_no_tensors_while_its_members_go_one_by_one(monkeypatch):
    freed = []
    monkeypatch.setattr(local_batching, "free_memory", lambda: freed.append(len(model.batches)))
    model = ForgetfulModel(CallError("model", "broken"), OutOfMemory("no room"))

    assert ask_at_once(Batcher(model, 3, on_cpu=True), 3) == [0, 10, 20]
    assert model.batches == [[0, 1, 2], [0], [1], [2], [0]]
    assert model.kept == [False] * 5
    assert freed == [1, 2]


class Device:
    """Memory of so many units; what a request holds from its preparation until it is answered."""

    def __init__(self, units):
        self.free, self._lock = units, threading.Lock()

    def take(self, units):
        with self._lock:
            if units > self.free:
                raise OutOfMemory("no room")
            self.free -= units

    def give_back(self, units):
        with self._lock:
            self.free += units


@pytest.mark.parametrize("units", [12, 14])
@pytest.mark.parametrize("size", [1, 2])
def test_nearly_full_memory_costs_no_request_that_fits_by_itself(size, units, monkeypatch):
    for module in (local_batching, local_grouping):
        monkeypatch.setattr(module, "encoder_count", lambda: 4)
    device = Device(units)

    def generate(items):
        needed = sum(6 if item.number % 5 == 4 else 0 for item in items)
        device.take(needed)  # beside two of each request that is ready
        device.give_back(needed)
        return [10 * item.number for item in items]

    batcher = Batcher(generate, size, on_cpu=False)

    def ask(number):
        item = batcher.prepare(lambda: device.take(2) or Item(number))
        try:
            return batcher.generate(item)
        finally:
            device.give_back(2)

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(ask, range(40))) == [10 * number for number in range(40)]


def test_a_request_that_failed_alone_holds_no_tensors_while_the_next_is_generated():
    model = ForgetfulModel(CallError("model", "broken"))
    batcher = Batcher(model, 1, on_cpu=True)

    with pytest.raises(CallError, match="broken") as raised:
        ask_at_once(batcher, 1)
    assert ask_at_once(batcher, 1) == [0]

    assert raised.value.__cause__ is None and model.kept == [False, False]


def test_a_request_that_fails_does_not_take_its_batch_with_it():
    model = Model(broken=(5,))

    results = ask_all(Batcher(model, 4, on_cpu=True), model, [Item(n) for n in range(8)])

    assert isinstance(results.pop(5), CallError)
    assert results == {n: 10 * n for n in range(8) if n != 5}


def test_inputs_that_cannot_go_together_stop_a_run_with_a_fixed_size():
    def run(items):
        raise CannotCollate("input x differs between samples")

    model = Model()
    results = ask_all(Batcher(run, 2, on_cpu=True), model, [Item(0), Item(1)])

    assert {str(error) for error in results.values()} == {
        "input x differs between samples; set batch_size to 1"
    }


def test_inputs_that_cannot_go_together_go_one_by_one_with_auto(capsys):
    model = Model()

    def run(items):
        if len(items) > 1:
            raise CannotCollate("input x differs between samples")
        return model(items)

    results = ask_all(Batcher(run, "auto", on_cpu=True), model, [Item(n) for n in range(6)])

    assert results == {n: 10 * n for n in range(6)}
    assert "input x differs between samples; going on with one at a time" in capsys.readouterr().err


@pytest.mark.parametrize(("lengths", "count", "group"), [
    ([10, 900, 12, 11, 950], 3, {0, 2, 3}),
    ([900, 10, 12, 950, 901], 3, {0, 3, 4}),
    ([5, 1, 9], 3, {0, 1, 2}),
    ([5, 1, 9], 1, {0}),
    ([5, 5, 5, 5], 2, {0, 1}),
])  # fmt: skip
def test_requests_of_similar_length_go_together_with_the_one_that_waited_longest(
    lengths, count, group
):
    assert set(nearest_in_length(lengths, count)) == group


def test_a_batch_waits_for_a_request_whose_inputs_have_just_been_prepared(monkeypatch):
    monkeypatch.setattr(local_batching, "GRACE_S", 60)
    model, waits = Model(), []
    model.may_go_on.set()
    batcher = Batcher(model, 2, on_cpu=True)
    wait = batcher._changed.wait

    def counted(timeout_s=None):
        waits.append(timeout_s)
        return wait(timeout_s)

    monkeypatch.setattr(batcher._changed, "wait", counted)
    with ThreadPoolExecutor(2) as pool:
        pool.submit(batcher.generate, Item(0))
        wait_until(lambda: waits == [60])
        with batcher.preparing():
            pass
        wait_until(lambda: len(waits) == 2 or model.batches)  # it has been woken
        pool.submit(batcher.generate, Item(1))

    assert model.batches == [[0, 1]]


class WatchedModel:
    """Generates only when as much is prepared as the batcher allows, or there is nothing more."""

    def __init__(self):
        self.groups, self.batcher, self.all_came = [], None, threading.Event()

    def __call__(self, items):
        self.groups.append(list(items))
        wait_until(lambda: self.all_came.is_set() or self.batcher._is_ahead())
        return [10 * item.number for item in items]

    def has(self, item):
        waiting = [waiting.item for waiting in list(self.batcher._waiting)]
        return item in waiting or any(item in group for group in self.groups)


def ask_in_order(model, size, items):
    """Asks for one after the other, each as soon as the batcher lets it be prepared."""
    model.batcher = Batcher(model, size, on_cpu=True)
    results, threads = {}, []

    def ask(item):
        results[item.number] = model.batcher.generate(item)

    for item in items:
        with model.batcher.preparing():
            pass
        threads.append(threading.Thread(target=ask, args=(item,)))
        threads[-1].start()
        wait_until(lambda item=item: model.has(item))
    model.all_came.set()
    for thread in threads:
        thread.join(60)
    return results


def padding(groups):
    """What is padded, as a share of what is real."""
    real = sum(item.input_length for group in groups for item in group)
    padded = sum(len(group) * max(item.input_length for item in group) for group in groups)
    return padded / real - 1


@pytest.mark.parametrize("size", [4, 8])
def test_batches_are_chosen_among_enough_requests_to_be_alike(size, monkeypatch):
    # Until the batch is full: the machine may be slow, and what is chosen from should not vary.
    monkeypatch.setattr(local_batching, "GRACE_S", 60)
    for module in (local_batching, local_grouping):
        monkeypatch.setattr(module, "encoder_count", lambda: 2)
    dice, screens = random.Random(7), (350, 500, 600, 700, 1300, 1400, 2700, 3000)
    items = [Item(n, dice.choice(screens) + dice.randrange(60)) for n in range(40 * size)]
    model = WatchedModel()

    results = ask_in_order(model, size, items)

    assert results == {n: 10 * n for n in range(40 * size)}
    in_order = [items[at : at + size] for at in range(0, len(items), size)]
    assert padding(in_order) > 0.6 and padding(model.groups) < padding(in_order) / 3
    left = [item.number for item in items]
    for group in model.groups:  # nobody starves: whoever waits longest is among the next
        numbers = [item.number for item in group]
        assert left[0] in numbers
        left = [number for number in left if number not in numbers]


@pytest.mark.parametrize(("size", "encoders", "most"), [(1, 1, 2), (1, 4, 4), (4, 4, 12), (64, 2, 130)])  # fmt: skip
def test_what_is_prepared_ahead_follows_the_size_of_the_batches(size, encoders, most, monkeypatch):
    for module in (local_batching, local_grouping):
        monkeypatch.setattr(module, "encoder_count", lambda: encoders)
    batcher = Batcher(Model(), size, on_cpu=False)
    batcher._largest_bytes = 1

    with ExitStack() as held:
        for _ in range(most):
            assert not batcher._is_ahead()
            held.enter_context(preparing_alone(batcher))
        assert batcher._is_ahead()
    wrapper = LocalModelWrapper("m", model_path="nowhere", batch_size=size)
    assert wrapper.in_flight(4) == size + most  # all of them have a thread


@pytest.mark.parametrize(("nbytes", "most"), [(None, 2), (READY_BYTES // 4, 5), (READY_BYTES * 2, 1)])  # fmt: skip
def test_large_inputs_are_not_prepared_far_ahead(nbytes, most, monkeypatch):
    for module in (local_batching, local_grouping):
        monkeypatch.setattr(module, "encoder_count", lambda: 2)
    batcher = Batcher(Model(), 64, on_cpu=False)
    batcher._largest_bytes = nbytes  # as they have been so far; None: nobody knows yet

    with ExitStack() as held:
        while not batcher._is_ahead():
            held.enter_context(preparing_alone(batcher))
        assert batcher._preparing == most


@contextmanager
def preparing_alone(batcher):
    """A place among those that prepare, without the turn that comes with it."""
    batcher._preparing += 1
    yield
    batcher._preparing -= 1


def test_whoever_waits_when_the_run_stops_is_let_go():
    model = Model()
    batcher = Batcher(model, 1, on_cpu=True)
    results = {}

    def ask(number):
        try:
            results[number] = batcher.generate(Item(number))
        except Abandoned:
            results[number] = "abandoned"

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(3)]
    threads[0].start()
    wait_until(lambda: model.batches)
    for thread in threads[1:]:
        thread.start()
    wait_until(lambda: len(batcher._waiting) == 2)

    batcher.abandon()
    model.may_go_on.set()
    for thread in threads:
        thread.join(60)

    assert results == {0: 0, 1: "abandoned", 2: "abandoned"}


def wait_until(is_so):
    """Until another thread has come that far."""
    gate = threading.Event()
    for _ in range(6000):
        if is_so():
            return
        gate.wait(0.01)
    raise AssertionError("it never happened")


# ---- whole runs --------------------------------------------------------------------------------------

USER_MODULE = """
    from models.wrappers.local.defaults import default_preprocess_function

    def preprocess(message, model, processor, **kwargs):
        if not hasattr(model, "room"):
            model.room, generate = kwargs["room"], model.generate
            def limited(**inputs):
                if len(inputs["input_ids"]) > model.room:
                    raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
                return generate(**inputs)
            model.generate = limited
        return default_preprocess_function(message, model, processor, **kwargs)
"""


@pytest.fixture(scope="module")
def runs_by_size(tmp_path_factory, folders):
    """The answers of whole runs, by batch size; the last one runs out of memory on the way."""
    home = tmp_path_factory.mktemp("runs")
    with MockServer() as server:
        stage = Stage.make(home, server, [("os_web", (220, 150)), ("os_ios", (100, 180))] * 4)
        stage.module(USER_MODULE)
        entry = {
            "model_path": str(folders["qwen2_5_vl"]), "imp_type": "transformers",
            "generate_cfg": {"max_new_tokens": NEW_TOKENS},
            "preprocess_function": "mymodel.preprocess",
        }  # fmt: skip
        sizes = {
            "one": (1, 99),
            "four": (4, 99),
            "auto": ("auto", 99),
            "little memory": ("auto", 3),
        }
        model = {
            name: {**entry, "batch_size": size, "kwargs": {"room": room}}
            for name, (size, room) in sizes.items()
        }
        ran = stage.evaluate(model, env={"OMP_NUM_THREADS": "1"})
        return stage, ran, list(sizes)


def test_a_run_in_batches_gives_the_answers_of_a_run_one_by_one(runs_by_size):
    stage, ran, names = runs_by_size
    assert ran.code == 0, ran.output

    answers = {
        name: [
            (a["key"], a["raw"], a["reply"], a["sizes"]) for a in stage.answers(L2, safe_name(name))
        ]
        for name in names
    }

    assert len(answers["one"]) == 16
    assert {name: found == answers["one"] for name, found in answers.items()} == dict.fromkeys(
        names, True
    )


def test_a_run_that_runs_out_of_memory_says_so_and_goes_on(runs_by_size):
    _, ran, _ = runs_by_size

    assert ran.output.count("out of memory with 4 at once; going on with 2") == 1


def test_a_run_says_how_long_the_model_waited_for_inputs(runs_by_size):
    _, ran, names = runs_by_size

    assert len(
        re.findall(
            r"the model generated for [\d.]+ s in \d+ batches of [\d.]+ and waited", ran.output
        )
    ) == len(names)
