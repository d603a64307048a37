"""Several requests at once give the answers that each gives alone. On tiny checkpoints, fp32, sdpa."""

import re
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy
import pytest
import torch
from PIL import Image

from models.wrappers.local import batches
from models.wrappers.local.batches import (
    Batcher,
    CannotCollate,
    CannotSplit,
    OutOfMemory,
    encoder_count,
)
from models.wrappers.local.inputs import collate, rows_of
from tests.local.conftest import OF_ONE_SIZE, encoded_all, of
from tests.support import tiny_checkpoint
from tests.support.stage import L2
from utils.contracts import Abandoned, CallError


def preprocess(message, model, processor, **kwargs):
    """A user's own: the processor alone, its resize and its picture tokens."""
    content = [{"type": "image"}, {"type": "text", "text": message[1]["value"]}]
    turns = [{"role": "user", "content": content}]
    text = processor.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    with Image.open(message[0]["value"]) as picture:
        return processor(text=[text], images=[picture.convert("RGB")], return_tensors="pt")


def preprocess_by_hand(message, model, processor, **kwargs):
    """As examples for older releases do it: the four inputs that they had."""
    inputs = preprocess(message, model, processor)
    names = ("input_ids", "attention_mask", "pixel_values", "image_grid_thw")
    return {name: inputs[name] for name in names}


def postprocess(outputs, model, processor, **kwargs):
    """A user's own: needs the prompt in front of the completion, and batch size 1."""
    assert len(outputs) == 1
    return processor.decode(outputs[0][kwargs["input_length"] :], skip_special_tokens=True)


USERS = {"preprocess_function": preprocess, "postprocess_function": postprocess}
EIGHT_TOKENS = {"max_new_tokens": 8}


def replies(wrapper, encoded, size):
    return [
        (generation.text, generation.reply, generation.finish_reason, dict(generation.usage))
        for start in range(0, len(encoded), size)
        for generation in wrapper.model().answer(encoded[start : start + size])
    ]


def with_pictures_swapped(encoded):
    """The first requests with each other's pictures, of the same size; texts stay."""
    alike = encoded[:OF_ONE_SIZE]
    assert len({str(request.inputs["image_grid_thw"]) for request in alike}) == 1
    pictures = [request.inputs["pixel_values"] for request in (*alike[1:], alike[0])]
    swapped = [
        replace(request, inputs={**request.inputs, "pixel_values": other})
        for request, other in zip(alike, pictures, strict=True)
    ]
    return [*swapped, *encoded[OF_ONE_SIZE:]]


@pytest.mark.parametrize(
    ("family", "functions"),
    [*((family, {}) for family in tiny_checkpoint.FAMILIES), ("qwen2_vl", USERS)],
)
def test_a_batch_answers_as_each_request_does_alone(family, functions, lively, questions):
    wrapper = of(lively[family], generate_cfg=EIGHT_TOKENS, **functions)
    encoded = encoded_all(wrapper, questions)
    alone = replies(wrapper, encoded, 1)
    assert len({text for text, *_ in alone}) >= 10
    assert replies(wrapper, encoded, 4) == alone == replies(wrapper, encoded, 8)
    assert replies(wrapper, with_pictures_swapped(encoded[:8]), 8) != alone[:8]


@pytest.mark.parametrize("family", tiny_checkpoint.FAMILIES)
def test_inputs_made_by_hand_find_their_images_where_the_processors_do(family, lively, questions):
    complete, by_hand = (
        of(lively[family], generate_cfg=EIGHT_TOKENS, preprocess_function=function)
        for function in (preprocess, preprocess_by_hand)
    )
    expected, actual = encoded_all(complete, questions[:8]), encoded_all(by_hand, questions[:8])
    for one, other in zip(expected, actual, strict=True):
        assert one.inputs["mm_token_type_ids"].equal(other.inputs["mm_token_type_ids"])
    assert replies(by_hand, actual, 4) == replies(complete, expected, 1)


@pytest.mark.parametrize(
    "settings", [{"repetition_penalty": 2}, {"num_beams": 2, "repetition_penalty": 1.2}]
)
def test_penalties_do_not_look_at_padding(settings, lively, questions):
    wrapper = of(lively["qwen2_5_vl"], generate_cfg={"max_new_tokens": 6, **settings})
    encoded = encoded_all(wrapper, questions[:10])
    assert replies(wrapper, encoded, 5) == replies(wrapper, encoded, 1)


@pytest.mark.parametrize(
    "settings", [{"max_length": 330}, {"max_new_tokens": 2, "no_repeat_ngram_size": 1}]
)
def test_settings_that_count_the_prompt_make_batches_of_one(settings, llava, questions):
    wrapper = of(llava, generate_cfg=settings, batch_size=4)
    with ThreadPoolExecutor(6) as pool:
        list(
            pool.map(
                lambda messages: wrapper.generate(wrapper.request(messages, L2)), questions[:6]
            )
        )
    assert "in 6 batches of 1.0" in wrapper.notes_after()[0]


def request(length, **more):
    ids = torch.arange(1, length + 1).reshape(1, length)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), **more}


def test_ids_and_masks_are_padded_on_the_left_and_images_joined_in_order():
    one, two = torch.full((3, 5), 1.0), torch.full((7, 5), 2.0)
    pair = [request(2, pixel_values=one), request(4, pixel_values=two)]
    batch = collate([{**one_item, "mode": "chat"} for one_item in pair])
    bare = collate([{"input_ids": request(n)["input_ids"]} for n in (2, 4)])
    assert batch["input_ids"].tolist() == [[2, 2, 1, 2], [1, 2, 3, 4]]
    assert batch["attention_mask"].tolist() == [[0, 0, 1, 1], [1, 1, 1, 1]]
    assert bare["attention_mask"].equal(batch["attention_mask"])
    assert batch["pixel_values"].equal(torch.cat([one, two]))
    assert batch["mode"] == "chat"  # equal everywhere


@pytest.mark.parametrize(
    ("first", "second", "expected_name"),
    [
        ({"masks": torch.ones(1, 3, 5)}, {"masks": torch.ones(1, 4, 6)}, "input masks has shapes"),
        ({"size": [1, 2]}, {"size": [3, 4]}, "input size (list) differs"),
        (
            {"a": [torch.ones(2)]},
            {"a": [torch.ones(2)]},
            "input a (list) differs between samples, or can",
        ),
        (
            {"a": numpy.ones(2)},
            {"a": numpy.ones(2)},
            "input a (ndarray) differs between samples, or can",
        ),
        (
            {"a": torch.ones(2, 3)},
            {"a": torch.ones(2, 3).to_sparse()},
            "input a has shapes or types",
        ),
        ({"hint": 1}, {}, "hint exist for only some samples"),
    ],
)
def test_what_cannot_be_put_together_is_named(first, second, expected_name):
    with pytest.raises(CannotCollate) as raised:
        collate([request(2, **first), request(2, **second)])
    assert expected_name in str(raised.value)


PROMPTS = [[0, 0, 1, 2], [1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("end", "completions", "rows"),
    [
        (5, [[7, 5, 0], [7, 7, 5]], [[7, 5], [7, 7, 5]]),  # what follows the end is filling
        (5, [[7, 7, 7], [7, 0, 0]], [[7, 7, 7], [7]]),  # the limit, a stop string
        (0, [[7, 0, 0, 0], [7, 7, 7, 0]], [[7, 0], [7, 7, 7, 0]]),  # an end that fills up, too
        (0, [[7, 7, 7, 7]], [[7, 7, 7, 7]]),
    ],
)
def test_rows_come_back_without_padding_on_either_side(end, completions, rows):
    prompts, lengths = torch.tensor(PROMPTS[: len(rows)]), [2, 4][: len(rows)]
    alone = torch.tensor(completions)  # a method that leaves the prompt out
    complete = torch.cat([prompts, alone], 1)
    for outputs, heads in ((alone, [[], []]), (complete, [[1, 2], PROMPTS[1]])):
        actual = rows_of(outputs, prompts, lengths, frozenset([end]), pad_id=0)
        expected = [[head + row] for head, row in zip(heads, rows, strict=False)]
        assert [row.tolist() for row in actual] == expected


@pytest.mark.parametrize(
    ("lengths", "max_size", "budget", "group"),
    [
        ([10, 900, 12, 11, 950], 3, 10**6, {0, 2, 3}),
        ([900, 10, 12, 950, 901], 3, 10**6, {0, 3, 4}),
        ([5, 1, 9], 3, 10**6, {0, 1, 2}),
        ([5, 1, 9], 1, 10**6, {0}),
        ([5, 5, 5, 5], 2, 10**6, {0, 1}),
        ([10, 900, 12, 11, 950], 5, 36, {0, 2, 3}),  # three times 12
        ([10, 900, 12, 11, 950], 5, 35, {0, 3}),
        ([900, 10, 12], 3, 100, {0}),  # too long for the budget by itself: alone
        ([900, 10, 12], 3, 0, {0}),
    ],
)
def test_those_of_similar_length_go_with_the_one_that_waited_longest(
    lengths, max_size, budget, group
):
    assert set(batches.choose_similar(lengths, max_size, lambda length: budget)) == group


@pytest.mark.parametrize(
    ("lengths", "prefers_equal", "group"),
    [
        ([2000] * 3 + [2010] * 3, True, {0, 1, 2, 3, 4, 5}),  # half of the batch saves less
        ([20_000] * 3 + [20_010] * 3, True, {0, 1, 2}),  # padded, keys and values are copied
        ([20_000] * 3 + [20_010] * 3, False, {0, 1, 2, 3, 4, 5}),
        ([500, 510, 500, 500, 500, 500, 500, 500, 500], True, {0, 2, 3, 4, 5, 6, 7, 8}),
        ([70_000, 70_010], True, {0}),
    ],
)
def test_samples_of_one_length_go_together_where_padding_would_cost_more(
    lengths, prefers_equal, group
):
    places = batches.choose_similar(lengths, 8, lambda length: 10**6, prefers_equal=prefers_equal)
    assert set(places) == group


def test_a_batch_of_one_length_is_generated_without_a_mask(lively, questions):
    wrapper = of(lively["qwen2_5_vl"], generate_cfg=EIGHT_TOKENS)
    [module] = [
        module
        for name, module in wrapper.model().checkpoint.model.named_modules()
        if name.endswith("language_model.layers.0.self_attn")
    ]
    masks = []
    module.register_forward_pre_hook(
        lambda _, args, kwargs: masks.append(kwargs["attention_mask"]), with_kwargs=True
    )
    first, *others = encoded_all(wrapper, questions[:OF_ONE_SIZE])
    longer = next(other for other in others if other.input_length != first.input_length)
    for batch, has_mask in (([first, first], False), ([first, longer], True)):
        masks.clear()
        wrapper.model().answer(batch)
        assert masks and all((mask is not None) is has_mask for mask in masks)


def test_an_end_token_that_also_pads_is_not_penalised_as_if_it_had_been_said(lively, questions):
    penalty = {"repetition_penalty": 5.0, "max_new_tokens": 3}
    plain = of(lively["qwen2_5_vl"], generate_cfg=penalty)
    pad = plain.model().checkpoint.tokenizer.pad_token_id
    wrapper = of(lively["qwen2_5_vl"], generate_cfg={**penalty, "sequence_bias": [[[pad], 60.0]]})
    encoded = encoded_all(wrapper, questions[:10])
    alone = replies(wrapper, encoded, 1)
    assert [reason for *_, reason, _ in alone] == ["stop"] * 10  # they end at once
    assert replies(wrapper, encoded, 5) == alone


def item(number, input_length=1, nbytes=1, form=()):
    """Something to generate for."""
    return SimpleNamespace(number=number, input_length=input_length, nbytes=nbytes, form=form)


class Model:
    """Answers with ten times the number; holds its first batch until it may go on.

    It has room for so many padded tokens, cannot answer broken numbers, and raises failures first.
    `kept`: by call, whether tensors of an earlier one were still held. With `total`, items of one
    length, it holds each batch until one of twice its size can follow, however late threads are.
    """

    def __init__(self, room=99, broken=(), failures=None, total=0):
        self.total, self.made, self.answered = total, [], 0
        self.room, self.broken, self.failures = room, broken, failures or []
        self.batches, self.kept, self.tensors, self.failed = [], [], [], 0
        self.may_go_on = threading.Event()
        if failures is not None:
            self.may_go_on.set()

    def __call__(self, items):
        self.batches.append([one_item.number for one_item in items])
        self.kept.append(any(tensors() is not None for tensors in self.tensors))
        tensors = threading.Event()  # what a batch holds on the device
        self.tensors.append(weakref.ref(tensors))
        assert len(self.batches) > 1 or self.may_go_on.wait(60)
        wait_until(lambda: len(self.made) >= min(self.total, self.answered + 3 * len(items)))
        if len(items) * max(one_item.input_length for one_item in items) > self.room:
            self.failed += 1
            raise OutOfMemory(f"no room for {len(items)}")
        if any(one_item.number in self.broken for one_item in items):
            raise CallError("model", "broken")
        if self.failures and (failure := self.failures.pop(0)):
            try:
                tensors.lookup_that_fails  # noqa: B018 - the library's own error, below ours
            except AttributeError as error:
                raise failure from error
        self.answered += len(items)
        return [10 * one_item.number for one_item in items]


def ask_all(model, size, items, *, on_cpu=True, threads=None, **more):
    """Results (or what was raised), by item."""
    batcher, results = Batcher(model, size, on_cpu=on_cpu, **more), {}
    prepared_items = getattr(model, "made", [])

    def ask(one_item):
        try:
            results[one_item.number] = batcher.answer(
                lambda: prepared_items.append(one_item) or one_item
            )
        except (CallError, Abandoned) as error:
            results[one_item.number] = error

    with ThreadPoolExecutor(threads or len(items)) as pool:
        for one_item in items:
            pool.submit(ask, one_item)
        if isinstance(model, Model):
            model.may_go_on.set()
    return results


def items_of(count):
    return [item(number) for number in range(count)]


def tens(count):
    """The answers of so many items."""
    return {number: 10 * number for number in range(count)}


def wait_until(is_so):
    """Until another thread has come that far."""
    gate = threading.Event()
    for _ in range(6000):
        if is_so():
            return
        gate.wait(0.01)
    raise AssertionError("it never happened")


@pytest.mark.parametrize(("size", "room"), [(1, 99), (3, 99), ("auto", 99), (4, 1)])
def test_everyone_gets_his_own_answer(size, room):
    model = Model(room)
    assert ask_all(model, size, items_of(20)) == tens(20)
    assert max(map(len, model.batches)) <= (size if size != "auto" else 8)


def test_auto_grows_and_steps_back_when_memory_runs_out(capsys):
    model = Model(room=3, total=40)
    assert ask_all(model, "auto", items_of(40)) == tens(40)
    assert [len(batch) for batch in model.batches].count(4) == model.failed == 1  # tried once
    assert max(map(len, model.batches)) == 4
    line = (
        "out of memory with 4 samples at once (4 tokens); continuing with at most 2 tokens at once"
    )
    assert line in capsys.readouterr().err


def test_the_second_batch_is_as_large_as_fits_where_the_share_of_memory_is_known():
    def share():
        wait_until(lambda: len(model.made) >= 10)  # while the first batch was generated
        return len(model.batches[-1]) / 20

    model = Model(room=20)
    results = ask_all(model, "auto", items_of(60), on_cpu=False, threads=60, memory_share=share)
    sizes = [len(batch) for batch in model.batches]
    assert (results, sizes[0], model.failed) == (tens(60), 1, 0)
    assert sizes[1] > 4 and max(sizes) <= 20


@pytest.mark.parametrize("size", [16, "auto"])
def test_one_long_prompt_does_not_make_all_later_batches_small(size, capsys):
    model = Model(room=32_000)
    items = [item(n, 16_000 if n % 50 == 25 else 1000) for n in range(800)]
    assert ask_all(model, size, items, on_cpu=False, threads=160) == tens(800)
    assert model.failed <= 5  # three to find the limit; later, now and then, one more to try it
    assert len(model.batches) < 800 / 4  # half of them in twos would be 400


class Quadratic(Model):
    """Its memory grows with the square of a length; `cost` of one token in a sample of 1,000."""

    def __init__(self, room, **more):
        super().__init__(room=10**12, **more)
        self.memory = room
        self.counts = []  # of samples at once, and the longest of them

    def __call__(self, items):
        longest = max(one_item.input_length for one_item in items)
        if len(items) * (longest + longest**2 / 1000) > self.memory:
            self.failed += 1
            raise OutOfMemory(f"no room for {len(items)}")
        self.counts.append((len(items), longest))
        return super().__call__(items)


@pytest.mark.parametrize("size", [64, "auto"])
def test_long_prompts_whose_memory_grows_with_the_square_keep_their_limit_to_themselves(size):
    model = Quadratic(room=300_000, total=2000)
    items = [item(n, 14_000 if n % 50 == 25 else 1500) for n in range(2000)]
    assert ask_all(model, size, items, on_cpu=False, threads=220) == tens(2000)
    small = [count for count, longest in model.counts if longest == 1500]
    assert sum(small) / len(small) > 40
    assert len(model.counts) <= 40 + 1960 / 40
    assert model.failed <= 8


def test_a_limit_recovers_when_memory_is_there_again(capsys):
    class Crowded(Model):
        def __call__(self, items):
            self.room = 16 if len(self.batches) < 20 else 32  # another process has gone
            return super().__call__(items)

    model = Crowded(total=2000)
    assert ask_all(model, 32, items_of(2000), on_cpu=False, threads=120) == tens(2000)
    assert max(map(len, model.batches[2:20])) <= 24
    assert len(model.batches[-2]) == 32
    assert model.failed <= 4


def test_what_a_reply_may_have_counts_like_the_prompt(capsys):
    model = Model(room=39, total=32)  # four prompts of 10 tokens are too many
    ask_all(model, 8, [item(n, 10) for n in range(32)], on_cpu=False, reply_tokens=90)
    warning_match = re.search(
        r"with (\d+) samples at once \((\d+) tokens\)", capsys.readouterr().err
    )
    assert warning_match is not None and int(warning_match[2]) == 100 * int(warning_match[1])


def test_one_that_fails_or_is_too_large_by_itself_which_is_tried_twice_fails_alone():
    model = Model(room=1)
    results = ask_all(model, 1, [item(0, 2), item(1)])
    assert "no room for 1" in str(results[0]) and results[1] == 10
    assert results[0].trace  # so that ten alike in a row stop the run
    assert sorted(model.batches) == [[0], [0], [1]]
    results = ask_all(Model(broken=(5,)), 4, items_of(8))
    assert isinstance(results.pop(5), CallError)
    assert results == {n: 10 * n for n in range(8) if n != 5}


def test_what_failed_holds_no_tensors_while_others_are_generated():
    model = Model(failures=[OutOfMemory("no room")])
    assert Batcher(model, 1, on_cpu=True).answer(lambda: item(3)) == 30  # tried once more
    assert (model.batches, model.kept) == ([[3], [3]], [False, False])
    model = Model(failures=[CallError("model", "broken")])
    batcher = Batcher(model, 1, on_cpu=True)
    with pytest.raises(CallError, match="broken") as raised:
        batcher.answer(lambda: item(0))
    assert batcher.answer(lambda: item(1)) == 10
    assert raised.value.__cause__ is None and model.kept == [False, False]
    model, prepared_items = (
        Model(failures=[None, CallError("model", "broken"), OutOfMemory("no room")]),
        [],
    )
    model.may_go_on.clear()
    batcher = Batcher(model, 3, on_cpu=True)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(batcher.answer, lambda: item(3))
        wait_until(lambda: model.batches)
        messages = [
            pool.submit(batcher.answer, lambda n=n: prepared_items.append(n) or item(n))
            for n in range(3)
        ]
        wait_until(lambda: len(prepared_items) == 3)  # so they go together
        model.may_go_on.set()
        assert [one_item.result(60) for one_item in (*messages, first)] == [0, 10, 20, 30]
    assert model.kept == [False] * 6


class Picky(Model):
    """Takes no two items at once for which `refuses(items)`, and raises `error` then."""

    def __init__(self, refuses, error, **more):
        super().__init__(**more)
        self.refuses, self.error, self.refused = refuses, error, 0

    def __call__(self, items):
        if len(items) > 1 and self.refuses(items):
            self.refused += 1
            raise self.error("input x differs")
        return super().__call__(items)


@pytest.mark.parametrize("size", [2, "auto"])
@pytest.mark.parametrize(
    ("error", "warning"),
    [
        (CannotCollate, "input x differs; such samples run one at a time"),
        (CannotSplit, "input x differs; continuing with one sample at a time"),
    ],
)
def test_samples_that_cannot_go_together_go_one_by_one(error, warning, size, capsys):
    model = Picky(lambda items: True, error, total=20)
    assert ask_all(model, size, items_of(20)) == tens(20)
    assert capsys.readouterr().err.count(warning) == 1
    assert (model.refused == 1) is (error is CannotSplit)  # outputs are dear, inputs are not


@pytest.mark.parametrize("is_told", [True, False])
def test_an_odd_sample_does_not_end_batches(is_told, capsys):
    def refuses(items):
        return 40 in [one_item.number for one_item in items]

    items = [item(n, form="text only" if is_told and n == 40 else "") for n in range(400)]
    model = Picky(refuses, CannotCollate, total=400)
    assert ask_all(model, 8, items, threads=40) == tens(400)
    assert model.refused == (0 if is_told else 1)
    assert len(model.batches) <= 400 / 8 + 8 + 2
    assert ("one at a time" in capsys.readouterr().err) is not is_told


def test_questions_without_an_image_go_together_and_leave_the_others_alone(lively, questions):
    wrapper = of(lively["qwen2_5_vl"], generate_cfg=EIGHT_TOKENS, batch_size=4)
    messages = [[questions[n][-1]] if n % 4 == 3 else questions[n] for n in range(16)]
    alone = of(lively["qwen2_5_vl"], generate_cfg=EIGHT_TOKENS)
    expected = [
        one.text
        for one_item in encoded_all(alone, messages)
        for one in alone.model().answer([one_item])
    ]
    with ThreadPoolExecutor(16) as pool:
        actual = list(
            pool.map(lambda one_item: wrapper.generate(wrapper.request(one_item, L2)), messages)
        )
    assert [generation.text for generation in actual] == expected
    batches_run = int(re.search(r"in (\d+) batches", wrapper.notes_after()[0])[1])
    assert batches_run <= 8


@pytest.mark.skipif(encoder_count() == 1, reason="one processor prepares one input at a time")
def test_a_batch_waits_for_inputs_that_are_being_prepared():
    model, prepared, may_come = Model(failures=[]), threading.Event(), threading.Event()
    on_its_way = threading.Event()
    batcher = Batcher(model, 2, on_cpu=True)

    def make_slowly():
        prepared.set()
        assert may_come.wait(60)
        return item(1)

    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(batcher.answer, make_slowly)
        assert prepared.wait(60)
        quick = pool.submit(batcher.answer, lambda: on_its_way.set() or item(0))
        assert on_its_way.wait(60)
        assert not model.batches
        may_come.set()
        assert (slow.result(60), quick.result(60), len(model.batches)) == (10, 0, 1)


@pytest.mark.parametrize(("size", "nbytes"), [(1, 1), (4, 1), (8, batches.READY_BYTES)])
def test_what_is_prepared_ahead_follows_the_size_of_the_batches_and_of_the_inputs(size, nbytes):
    model, prepared_items = Model(), []
    batcher = Batcher(model, size, on_cpu=True)

    def max_size():
        """Those under way, fewer where threads come late, and those ahead of them."""
        if nbytes == 1:
            return len(model.batches[0]) + batches.max_ahead(size)
        return 1 + 2 * encoder_count()  # only those that were on their way when all was full

    def make(number):
        prepared_items.append(number)
        return item(number, nbytes=nbytes)

    with ThreadPoolExecutor(3 * size + 10) as pool:
        messages = [pool.submit(batcher.answer, lambda n=n: make(n)) for n in range(3 * size + 10)]
        wait_until(lambda: model.batches and (nbytes > 1 or len(prepared_items) >= max_size()))
        threading.Event().wait(0.2)
        assert len(prepared_items) <= max_size()
        model.may_go_on.set()
        assert [one_item.result(60) for one_item in messages] == [
            10 * n for n in range(len(messages))
        ]
    assert of("no", batch_size=size).in_flight(4) == size + batches.max_ahead(size)


def test_whoever_waits_when_the_run_stops_is_let_go_and_nobody_comes_after_the_end():
    model, prepared_items = Model(), []
    batcher = Batcher(model, 1, on_cpu=True)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(batcher.answer, lambda: item(0))
        wait_until(lambda: model.batches)
        others = [
            pool.submit(batcher.answer, lambda: prepared_items.append(1) or item(1)) for _ in "ab"
        ]
        wait_until(lambda: len(prepared_items) == 2)
        threading.Event().wait(0.05)
        batcher.abandon()
        model.may_go_on.set()
        assert first.result(60) == 0
        assert all(isinstance(one_item.exception(60), Abandoned) for one_item in others)
    batcher.close()
    with pytest.raises(Abandoned):
        batcher.answer(lambda: item(2))
    with pytest.raises(ZeroDivisionError):  # what making inputs raises is raised
        Batcher(model, 1, on_cpu=True).answer(lambda: 1 / 0)
