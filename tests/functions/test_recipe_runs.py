"""Runs whose config names a recipe: what it fills in, what goes out, how replies are scored."""

import base64
import gzip
import io
import json
import shutil
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest
from PIL import Image

import evaluate
from models.recipes import all_recipes
from tests.support import grounding_replay, logged_replies, recipe_replay
from tests.support.mock_server import Reply
from tests.support.runs import PROJECT
from tests.support.stage import L1, L2, l2_counts
from utils.geometry.resizing import resized_wh, steps_of

MODELS = PROJECT.parent / "shared" / "models"
GOLDEN = MODELS / "golden"
LOGGED = MODELS / "golden_2026" / "real"
REAL = PROJECT.parent / "shared" / "grounding" / "real"
POINTS = {L2: {"mode": "all"}}
URL = "{url}?api_key=test-key-123456&model=mock"
QWEN = {"recipe": "qwen3_vl", "model_path": URL}


def function_of(name, form):
    """The path of a form that is a prompt function itself."""
    module = import_module(f"models.recipes.{name}")
    paths = [f"models.recipes.{name}.{key}" for key, value in vars(module).items() if value is form]
    return next((path for path in paths if ".build_" in path), None)


SAMPLES = 20
BY_CHAT = [
    name
    for name, recipe in all_recipes().items()
    if recipe.has_grounding and not recipe.needs_class
]
FORMS = [
    (name, variant)
    for name in BY_CHAT
    for number, (variant, form) in enumerate(all_recipes()[name].prompts.items())
    if number == 0 or function_of(name, form)
]
"""Recipes with the names of their prompts, as far as a config can name these."""


def call(coordinate):
    arguments = {"action": "left_click", "coordinate": coordinate}
    return (
        f"<tool_call>\n{json.dumps({'name': 'computer_use', 'arguments': arguments})}\n</tool_call>"
    )


def chat_body(text, prompt_tokens):
    """The body of a reply with a count of tokens."""
    plain = json.loads(Reply(text).encoded())
    plain["usage"] = {"prompt_tokens": prompt_tokens, "completion_tokens": 3}
    return json.dumps(plain).encode()


def sources(output):
    """Where each value of a shown entry came from, by its key path."""
    rows = (line.split() for line in output.splitlines() if line.endswith(("recipe", "config")))
    return {words[0]: (" ".join(words[1:-1]), words[-1]) for words in rows}


def test_two_lines_of_a_config_are_enough(staged):
    stage = staged(answer=lambda _: Reply(call([200, 150])))
    result = stage.evaluate({"m": QWEN}, data=POINTS)
    assert result.code == 0, result.output
    body = result.requests[0].body
    assert (body["temperature"], body["max_tokens"]) == (0, 512)
    assert body["messages"][0]["content"][0]["text"].startswith("You are a helpful assistant.")
    assert l2_counts(stage.scores(L2))["Correct num"] == 6


def test_a_recipe_answers_what_asks_for_a_point_and_leaves_the_rest_alone(staged):
    stage = staged(
        answer=lambda request: Reply("B" if "Question" in request.text else call([1, 1]))
    )
    result = stage.evaluate({"m": QWEN})
    assert result.code == 0, result.output
    by_level = defaultdict(set)
    for request in result.requests:
        level = L1 if "Question" in request.text else L2
        by_level[level].add("# Tools" in request.text)
    assert by_level == {L1: {False}, L2: {True}}
    warning = (
        f'its generate_cfg (max_tokens 512) and kwargs are made for "{L2}". They are also used for '
        f'"{L1}". If replies are cut off there, add a second model entry'
    )
    assert warning in result.output


@pytest.mark.parametrize(
    ("models", "is_told"),
    [
        ({"m": QWEN}, True),
        ({"m": QWEN, "n": QWEN}, True),
        ({"m": QWEN, "n": {"model_path": URL}}, False),
        ({"m": {"model_path": URL}}, False),
        ({"m": {"model_path": URL, "parse_function": {L2: "utils.thinking.parse_point"}}}, True),
    ],
    ids=["recipe", "recipes", "one-without", "none", "own"],
)
def test_a_parse_function_of_a_data_set_that_no_model_uses_is_told(models, is_told, staged):
    change = f"data.{L2}.parse_function=utils.coordinates.parse_per_mille"
    result = staged().evaluate(models, "--check", "--set", change, data=POINTS)
    assert result.code == 0, result.output
    warning = f"data.{L2}.parse_function: not used, because each model has its own parse function"
    assert (warning in result.output) is is_told
    assert (f'Set model."m".parse_function.{L2} instead' in result.output) is is_told


def test_what_the_entry_says_wins(staged):
    stage = staged(answer=lambda _: Reply("(0.2, 0.15)"))
    entry = {
        **QWEN,
        "generate_cfg": {"temperature": 0.5, "max_completion_tokens": 9},
        "parse_function": {L2: "utils.coordinates.parse_fractions"},
    }
    result = stage.evaluate({"m": entry}, data=POINTS)
    assert result.code == 0, result.output
    body = result.requests[0].body
    assert (body["temperature"], body["max_completion_tokens"]) == (0.5, 9)
    assert "max_tokens" not in body  # another name of what the entry sets
    assert l2_counts(stage.scores(L2))["Correct num"] == 6


def test_a_check_shows_the_whole_entry_and_where_each_value_came_from(staged):
    stage = staged()
    entry = {**QWEN, "generate_cfg": {"max_tokens": 64}, "kwargs": {"min_pixels": 1024}}
    result = stage.evaluate({"m": entry}, "--check", data=POINTS)
    assert result.code == 0, result.output
    assert "recipe qwen3_vl: Qwen3-VL; " in result.stdout
    limits = '--mm-processor-kwargs \'{"min_pixels": 1024, "max_pixels": 16777216}\''
    assert f"start vLLM with {limits}" in result.stdout
    value_sources = sources(result.stdout)
    assert value_sources["generate_cfg.max_tokens"] == ("64", "config")
    assert value_sources["generate_cfg.temperature"] == ("0", "recipe")
    assert value_sources["kwargs.min_pixels"] == ("1024", "config")
    assert value_sources["kwargs.max_pixels"] == ("16777216", "recipe")
    prompt = ('"models.recipes.qwen3_vl.build_prompt"', "recipe")
    assert value_sources[f"custom_prompt.{L2}"] == prompt
    assert "test-key-123456" not in result.output


def test_a_check_shows_a_long_prompt_for_the_first_of_its_data_sets_alone(staged):
    stage = staged()
    stage.env["LMUData"] = str(PROJECT / "sample_data")
    tables = {name: {} for name in ("ScreenSpot", "ScreenSpotV2", "ScreenSpotPro")}
    result = stage.evaluate({"m": QWEN, "n": QWEN}, "--check", data=tables)
    assert result.code == 0, result.output
    assert result.stdout.count("# Tools") == 2  # once for each model
    assert result.stdout.count("[system, text] as for ScreenSpot\n") == 4
    assert result.stdout.count("[user, text]") == 6 and "[user, text] as for" not in result.stdout


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ("qwen_vl", 'there is no recipe "qwen_vl"; the nearest are "qwen3_vl", "qwen2_5_vl"'),
        ("base", 'there is no recipe "base"'),
        ("my_recipes.nothing", 'there is no module "my_recipes"'),
        ("mymodel", "mymodel is no recipe: it has no RECIPE"),
        ("a_dict", "a_dict.RECIPE is of type dict; expected models.recipes.base.Recipe"),
        ("mymodel.inner", '"mymodel" is no package, so there is no "mymodel.inner"'),
        ("models.api_gpt", "models.api_gpt is no recipe: it has no RECIPE"),
        ("no recipe", '"no recipe" is not the dotted path of a module'),
        ("phi_ground", 'Phi-Ground needs a class of yours (imp_type "custom")'),
        (3, "must be a string, not 3"),
        (
            "./my/acme.py",
            'is a file path; write the name of its module instead, "my.acme"',
        ),
    ],
)
def test_a_recipe_that_cannot_be_used_is_named_with_what_to_do(staged, recipe, expected):
    stage = staged()
    stage.module("inner = 1")
    stage.module("RECIPE = {'family': 'Acme'}", name="a_dict")
    result = stage.evaluate({"m": {**QWEN, "recipe": recipe}}, "--check", data=POINTS)
    assert result.code == 2
    assert expected in result.output
    assert 'model."m".recipe: ' in result.output
    assert "1 problem" in result.output


def test_the_documented_recipe_of_the_users_own_is_named_by_its_path(staged):
    stage = staged(answer=lambda _: Reply("at <p>200,150</p>"))
    text = (PROJECT / "docs" / "recipes.md").read_text(encoding="utf-8")
    stage.module(text.partition("```python\n")[2].partition("```")[0], name="acme")
    entry = {"recipe": "acme", "model_path": URL}
    assert "recipe acme: Acme-GUI\n" in stage.evaluate({"m": entry}, "--check", data=POINTS).stdout
    result = stage.evaluate({"m": entry}, data=POINTS)
    assert result.code == 0, result.output
    assert result.requests[0].body["max_tokens"] == 128
    assert "Where is" in result.requests[0].text
    assert l2_counts(stage.scores(L2))["Correct num"] == 6


def test_a_file_of_the_users_with_the_name_of_a_recipe_is_named_beside_it(staged):
    stage = staged(answer=lambda _: Reply("(200,150)"))
    file = stage.home / "gta1.py"  # beside the config
    file.write_text("RECIPE = None")
    entry = {"recipe": "gta1", "model_path": URL}
    result = stage.evaluate({"m": entry}, "--check", data=POINTS)
    assert result.code == 2
    assert f'there are two recipes "gta1": a built-in one and {file}. For the ' in result.output
    entry["recipe"] = "models.recipes.gta1"
    output = stage.evaluate({"m": entry}, "--check", data=POINTS).output
    assert "recipe models.recipes.gta1: GTA1; " in output


OWN_RECIPE = """\
from models.recipes.base import Parser, PromptForm, Recipe, image_and_text
from models.recipes.reading import whole_parser
from models.recipes.sources import Source


def messages(instruction, image_wh):
    return [image_and_text(instruction)]


def read_pair(response):
    return 200, 150


parse_point = whole_parser(read_pair)
build_prompt = PromptForm(messages)
RECIPE = Recipe(
    family="Acme",
    hub_ids=("acme/Acme",),
    frame="per mille",
    source="the model card",
    prompts={"card": build_prompt},
    parsers={"card": Parser(parse_point)},
    figures=Source("the model card").of("Acme", l2=61.5),
)
"""


@pytest.mark.parametrize(
    ("line", "spoilt_line", "expected"),
    [
        ("    return [image", "    return [image_wh['width'], image", "(acme.py, line 7)"),
        ("    return 200, 150", "    return PAIR", "(acme.py, line 11)"),
        ("l2=61.5", "level2=61.5", "level2: no such table; l2, screenspot_v2"),
        (
            "[image_and_text(instruction)]",
            "instruction",
            "acme.RECIPE.prompts[\"card\"]: its messages function returned 'Save'; expected a list",
        ),
        (
            'prompts={"card": build_prompt}',
            "prompts=build_prompt",
            "acme cannot be imported: Recipe: prompts is PromptForm(messages=",
        ),
        (
            "Parser(parse_point)",
            "parse_point",
            'Recipe: parsers["card"] is <function whole_parser.<locals>.parse at',
        ),
        ('("acme/Acme",)', '"acme/Acme"', "hub_ids is 'acme/Acme'; expected texts in parentheses"),
        ('source="the model card"', "source=None", "source is None; expected a text ("),
        (
            'frame="per mille"',
            'frame="per mille", resize={"longest": 1280}',
            "resize is {'longest': 1280}; expected objects in parentheses, ({\"longest\": 1280},)",
        ),
    ],
)
def test_an_error_in_a_recipe_of_the_users_names_their_file(staged, line, spoilt_line, expected):
    stage = staged()
    assert OWN_RECIPE.count(line) == 1
    stage.module(OWN_RECIPE.replace(line, spoilt_line), name="acme")
    result = stage.evaluate({"m": {"recipe": "acme", "model_path": URL}}, "--check", data=POINTS)
    assert result.code == 2
    assert expected in result.output
    assert "Traceback" not in result.output


def test_the_two_lines_of_the_readme_ask_and_read_as_each_family_does(staged):
    """As they stand there, but for the address; checkpoints are queried on the same server."""
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    block = text.partition("### Models of known families")[2].partition("```jsonc\n")[2]
    models = json.loads(f"{{{block.partition('```')[0]}}}")
    assert len(models) == 5
    for entry in models.values():
        entry.pop("imp_type", None)
        name = entry["model_path"].rpartition("model=")[2]
        entry["model_path"] = f"{{url}}?api_key=test-key-123456&model={name}"

    def answer(request):
        width, height = sent_wh(request)
        words = {
            "Qwen3": call([250, 250]),
            "Qwen2.5": call([width / 4, height / 4]),
            "UI-TARS": f"Action: click(point='<point>{width // 4} {height // 4}</point>')",
            "MAI-UI": '<answer>\n{"coordinate":[250,250]}\n</answer>',
            "GUI-Owl": call([250, 250]),
        }
        return Reply(next(words[name] for name in words if name in request.body["model"]))

    stage = staged(pictures=[("os_web", (800, 600))], answer=answer)
    result = stage.evaluate(models, "--no-report", data=POINTS)
    assert result.code == 0, result.output
    for name in models:
        [samples] = stage.folder(name).glob("*_samples.jsonl")
        _, *lines = map(json.loads, samples.read_text(encoding="utf-8").splitlines())
        points = [line["point_frac"] for line in lines]
        assert points and points == [pytest.approx([0.25, 0.25], abs=0.01)] * len(points), name


def test_a_check_of_all_recipes_needs_no_network(staged):
    stage = staged()
    away = "http://127.0.0.1:9/v1?api_key=test-key-123456&model=mock"
    models = {name: {"recipe": name, "model_path": away} for name in BY_CHAT}
    result = stage.evaluate(models, "--check", data=POINTS)
    assert result.code == 0, result.output
    for name in BY_CHAT:
        assert f"recipe {name}: " in result.stdout


def test_a_prompt_function_with_settings_gets_the_kwargs_block_and_the_size_of_the_file(staged):
    stage = staged(answer=lambda _: Reply("(0.2, 0.15)"))
    stage.module(
        """
        def ask(line, dataset, **settings):
            text = f"{settings['file_size']} {settings['style']} {line['instruction']}"
            return [{"role": "user", "type": "image", "value": line["image_path"]},
                    {"role": "user", "type": "text", "value": text}]
        """
    )
    entry = {"model_path": URL, "kwargs": {"style": "short"}, "custom_prompt": {L2: "mymodel.ask"}}
    result = stage.evaluate({"m": entry}, data=POINTS)
    assert result.code == 0, result.output
    assert all(request.text.startswith("(") for request in result.requests)
    assert " short " in result.requests[0].text


@pytest.mark.parametrize("prompt_tokens", [7, 9000])
def test_a_ping_warns_of_a_server_that_shrinks_images(staged, prompt_tokens):
    stage = staged(
        pictures=[("os_web", (800, 600))],
        answer=lambda _: Reply(body=chat_body("(0, 0)", prompt_tokens)),
    )
    entry = {"recipe": "gta1", "model_path": URL}
    result = stage.evaluate({"m": entry}, "--check", "--ping", data=POINTS)
    assert result.code == 0, result.output
    warning = (
        "it counts 7 prompt tokens where the image of 812x588 alone has 609, so the model misses"
    )
    assert (warning in result.output) is (prompt_tokens == 7)


@pytest.mark.parametrize(
    ("recipe", "image"), [("gta1", "812x588 alone has 609"), ("qwen3_vl", "800x600 alone has 475")]
)
def test_a_run_says_that_the_server_has_shrunk_the_images(recipe, image, staged):
    stage = staged(
        pictures=[("os_web", (800, 600))],
        answer=lambda _: Reply(body=chat_body("(0, 0)", 400)),
    )
    result = stage.evaluate({"m": {"recipe": recipe, "model_path": URL}}, data=POINTS)
    text = f"it counts 400 prompt tokens where the image of {image}"
    assert f"image tokens: the server shrank at least 2 of 2 images; {text}" in result.output
    folder = stage.folder()
    [analysis] = map(json.loads, map(Path.read_text, folder.glob(f"*_{L2}_analysis.json")))
    assert analysis["image_tokens"]["rows"][0]["count"] == 2
    report = (folder / "report" / "data" / "summary_0.js").read_text()
    assert "Image tokens" in report and text in report


def test_all_recipes_are_listed(capsys):
    assert evaluate.main(["--recipes"]) == 0
    printed = capsys.readouterr().out
    for name, recipe in all_recipes().items():
        assert f"{name}: {recipe.family}\n" in printed
    assert "Qwen/Qwen3-VL-8B-Instruct" in printed
    assert "levels    L2 and other grounding data sets" in printed


@pytest.mark.parametrize("name", sorted(all_recipes()))
def test_a_recipe_is_shown_by_itself(name, capsys):
    recipe = all_recipes()[name]
    assert evaluate.main(["--recipes", name]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"{name}: {recipe.family}\n")
    for text in (recipe.source, recipe.note, *recipe.prompts, *recipe.parsers):
        assert text in printed
    for figure in recipe.figures:
        assert f"{figure.value:.2f}" in printed and figure.source in printed
    others = (other for other in all_recipes().values() if other.family != recipe.family)
    assert not any(f": {other.family}\n" in printed for other in others)
    assert "?" not in [line.rpartition(".")[2] for line in printed.splitlines()]


def test_a_recipe_that_is_shown_has_its_prompt_and_settings(capsys):
    evaluate.main(["--recipes", "mai_ui"])
    printed = capsys.readouterr().out
    assert "[system, text] You are a GUI grounding agent." in printed
    assert "[user, text] INSTRUCTION" in printed and "[user, image]" in printed
    assert '{"temperature": 0, "max_tokens": 256}' in printed
    assert "models.recipes.mai_ui.parse_point_of_999" in printed
    assert "1,024 to 6,553,600 pixels, sides in steps of 32" in printed
    assert "models.recipes.agents.mai_ui.parse_actions" in printed


def test_several_recipes_are_shown_one_after_the_other(capsys):
    evaluate.main(["--recipes", "mai_ui", "qwen3_vl"])
    printed = capsys.readouterr().out
    assert printed.index("mai_ui: MAI-UI\n") < printed.index("qwen3_vl: Qwen3-VL\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["qwen3vl"], 'there is no recipe "qwen3vl"; the nearest are "qwen3_vl"'),
        (["mai_ui", "nothing"], 'there is no recipe "nothing"'),
        (["mai_ui", "--limit", "3"], "--recipes takes names of recipes and no other option"),
        (["--limit", "3"], "--recipes takes names of recipes and no other option"),
    ],
)
def test_a_recipe_that_is_not_there_is_no_reason_to_list_others(arguments, problem, capsys):
    assert evaluate.main(["--recipes", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and problem in printed.err


# -- what goes out --------------------------------------------------------------------------------


README_OF_GLM = "Help me to locate {} in the image and give me its bounding boxes."
BY_HAND = {("glm_4_5v", "readme"): README_OF_GLM, ("glm_5v", "readme"): README_OF_GLM}
"""Texts of a README, behind the image and without a system message, which no code fills in."""
SAME_MESSAGES = {("qwen3_5", "ui_venus_2_style"): ("ui_venus_2", "official")}
"""Forms that send what another recipe's form sends."""
INSTRUCTIONS = [
    ('Click the "Save" button.', (1366, 768)),
    ("关闭窗口", (3840, 2160)),
    ("Search <icon> & go", (1080, 2400)),
    ("Press {OK}", (375, 812)),
    ("line one\nline two", (1170, 2532)),
]


def cases_by_hand(text):
    """Messages as a README has them."""
    return [
        {
            "instruction": instruction,
            "image_wh": image_wh,
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "image"},
                        {"type": "text", "text": text.replace("{}", instruction)},
                    ],
                }
            ],
        }
        for instruction, image_wh in INSTRUCTIONS
    ]


def golden_cases(name, variant):
    """Filled-in prompts of the authors' code in a form of a recipe, repeated to 20."""
    family, form = SAME_MESSAGES.get((name, variant), (name.removesuffix("_72b"), variant))
    cases = [
        case
        for folder in ("golden", "golden_2026")
        for case in recipe_replay.cases_of(MODELS / folder / "prompts.jsonl")
        if (case["family"], case["variant"]) == (family, form)
    ]
    if not cases and (name, variant) in BY_HAND:
        cases = cases_by_hand(BY_HAND[name, variant])
    return [cases[number % len(cases)] for number in range(SAMPLES)] if cases else []


def lay_out_cases(stage, cases):
    """Makes L2 of the stage a data set with the instruction and an image of each case."""
    lines = []
    for number, case in enumerate(cases):
        path = f"os_web/{number}.png"
        image = stage.annotations / "offline_images" / path
        image.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", tuple(case["image_wh"]), number).save(image, compress_level=1)
        line = {"index": number, "image_path": path, "instruction": case["instruction"]}
        line |= {"image_size": case["image_wh"], "platform": "os_web", "bbox": [0.1, 0.1, 0.3, 0.2]}
        lines.append(line | {"data_type": "text", "app_name": "a", "grounding_type": "basic"})
    stage.change_annotations("L2", lambda rows: rows.__setitem__(slice(None), lines))


def received(body):
    """The messages of a body as `recipe_replay.sent_messages` has them."""
    chat = []
    for message in body["messages"]:
        content = message["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        parts = [part["text"] if part["type"] == "text" else None for part in parts]
        chat.append((message["role"], parts))
    return chat


def sent_wh(request):
    """The size of the image in a request."""
    data = request.pictures[0].partition(";base64,")[2]
    return Image.open(io.BytesIO(base64.b64decode(data))).size


@pytest.mark.skipif(not GOLDEN.is_dir(), reason="the authors' cases are not beside the project")
@pytest.mark.parametrize(("name", "variant"), FORMS)
def test_a_run_sends_the_messages_of_the_authors_code(staged, name, variant):
    cases = golden_cases(name, variant)
    if not cases:
        pytest.skip("no filled-in prompt in this form")
    stage = staged()
    lay_out_cases(stage, cases)
    limits = {key: cases[0][key] for key in ("min_pixels", "max_pixels") if key in cases[0]}
    entry = {"recipe": name, "model_path": URL, "kwargs": limits}
    path = function_of(name, all_recipes()[name].prompts[variant])
    if path:
        entry["custom_prompt"] = {L2: path}
    result = stage.evaluate({"m": entry}, "--no-report", data=POINTS)
    assert len(result.requests) == SAMPLES, result.output
    bodies = [received(request.body) for request in result.requests]
    expected = [recipe_replay.sent_messages(case["messages"]) for case in cases]
    assert sorted(map(repr, bodies)) == sorted(map(repr, expected))

    recipe = all_recipes()[name]
    settings = recipe.entry("openai", "", {})
    parameters = {k: v for k, v in settings["generate_cfg"].items() if k != "extra_body"}
    parameters |= settings["generate_cfg"].get("extra_body", {})
    for request in result.requests:
        assert {key: request.body[key] for key in parameters} == parameters
    sizes = sorted(map(sent_wh, result.requests))
    steps = steps_of({**settings["kwargs"], **limits})
    expected_sizes = [
        tuple(case.get("resized_wh") or resized_wh(steps, tuple(case["image_wh"])))
        for case in cases
    ]
    assert sizes == sorted(expected_sizes)


POSTING_CLASS = """
import base64
import json
from pathlib import Path
from urllib.request import Request, urlopen


class Model:
    \"\"\"Sends the messages that it is given, as they are, to an endpoint.\"\"\"

    def __init__(self, url):
        self.url = url

    def generate(self, message, *, dataset_name):
        chat = []
        for part in message:
            if not chat or chat[-1]["role"] != part["role"]:
                chat.append({"role": part["role"], "content": []})
            chat[-1]["content"].append(self.sent(part))
        body = json.dumps({"model": "mock", "messages": chat}).encode()
        headers = {"Content-Type": "application/json"}
        with urlopen(Request(self.url + "/chat/completions", body, headers)) as response:
            return json.load(response)["choices"][0]["message"]["content"]

    def sent(self, part):
        if part["type"] == "text":
            return {"type": "text", "text": part["value"]}
        data = base64.b64encode(Path(part["value"]).read_bytes()).decode()
        return {"type": "image_url", "image_url": {"url": "data:image/png;base64," + data}}
"""


@pytest.mark.skipif(not GOLDEN.is_dir(), reason="the authors' cases are not beside the project")
def test_a_class_gets_the_messages_of_the_authors_code_where_no_server_makes_them(staged):
    cases = golden_cases("points_gui_g", "paper")
    stage = staged(answer=lambda _: Reply("(0.200, 0.150)"))
    lay_out_cases(stage, cases)
    stage.module(POSTING_CLASS)
    entry = {
        "recipe": "points_gui_g",
        "imp_type": "custom",
        "model_path": "mymodel.Model",
        "kwargs": {"url": stage.server.url},
    }
    result = stage.evaluate({"m": entry}, "--no-report", data=POINTS)
    assert result.code == 0, result.output
    bodies = [received(request.body) for request in result.requests]
    expected = [recipe_replay.sent_messages(case["messages"]) for case in cases]
    assert sorted(map(repr, bodies)) == sorted(map(repr, expected))
    assert len(bodies) == SAMPLES
    assert l2_counts(stage.scores(L2))["Correct num"] == SAMPLES


def test_a_reply_that_the_authors_code_begins_is_begun_in_the_request(staged):
    stage = staged(answer=lambda _: Reply("8, 4]}}\n</tool_call>"))  # of a grid of 56x28
    entry = {
        "recipe": "qwen2_5_vl",
        "model_path": URL,
        "custom_prompt": {L2: "models.recipes.qwen2_5_vl.build_prompt_ssp"},
        "parse_function": {L2: "models.recipes.qwen2_5_vl.parse_point_after_prefix"},
    }
    result = stage.evaluate({"m": entry}, data=POINTS)
    assert result.code == 0, result.output
    body = result.requests[0].body
    assert body["messages"][-1]["role"] == "assistant"
    assert body["messages"][-1]["content"].endswith('"coordinate": [')
    assert body["continue_final_message"] is True
    assert body["add_generation_prompt"] is False
    assert l2_counts(stage.scores(L2))["Error format num"] == 0


def test_several_messages_of_the_user_in_a_row_stay_apart(staged):
    stage = staged(answer=lambda _: Reply("(200, 150)"))
    result = stage.evaluate({"m": {"recipe": "gemini", "model_path": URL}}, data=POINTS)
    assert result.code == 0, result.output
    messages = result.requests[0].body["messages"]
    assert [message["role"] for message in messages] == ["user", "user", "user"]
    assert [message["content"][0]["type"] for message in messages] == ["text", "text", "image_url"]


# -- real replies ---------------------------------------------------------------------------------

SAMPLES_FILE = "m_{}_samples.jsonl"
COUNTED = ("mmbench_gui_l2", "screenspot_v2", "screenspot_pro", "osworld_g", "osworld_g_refined")


@pytest.mark.skipif(not REAL.is_dir(), reason="real replies are not beside the project")
@pytest.mark.parametrize("name", COUNTED)
def test_real_replies_of_mai_ui_are_scored_as_its_authors_score_them(staged, name):
    expected = json.loads((REAL / "expected.json").read_text("utf-8"))[name]
    content = json.loads(gzip.decompress((REAL / f"{name}.json.gz").read_bytes()))
    replay = grounding_replay.of_real(name, content, expected)
    stage = staged()
    shutil.rmtree(stage.root)
    grounding_replay.lay_out(replay, stage.root)
    replies = stage.home / "replies.json"
    grounding_replay.write_replies(replay, replies)
    entry = {
        "recipe": "mai_ui",
        "imp_type": "custom",
        "model_path": "tests.support.grounding_replay.Recorded",
        "kwargs": {"replies": str(replies)},
    }
    result = stage.evaluate({"m": entry}, "--no-report", data={replay.dataset: replay.settings})
    assert result.code == 0, result.output[-2000:]
    samples = stage.folder() / SAMPLES_FILE.format(replay.dataset)
    _, *lines = map(json.loads, samples.read_text(encoding="utf-8").splitlines())
    assert len(lines) == expected["rows"]
    assert sum(line["hit"] for line in lines) == expected["correct"]


@pytest.mark.skipif(not LOGGED.is_dir(), reason="logged replies are not beside the project")
@pytest.mark.parametrize("log", logged_replies.LOGS, ids=lambda log: log.name)
def test_logged_replies_come_to_the_points_and_totals_of_their_authors(log, tmp_path, monkeypatch):
    monkeypatch.setenv("LMUData", str(tmp_path / "data"))
    limit = 10 if log.first_look else None  # crops of large images take long
    outcome = logged_replies.evaluate_log(LOGGED, log, tmp_path, limit)
    assert outcome.other_points == []
    assert outcome.own_right == outcome.logged_right > 0


# -- "not there" ----------------------------------------------------------------------------------


def test_an_answer_that_there_is_no_such_element_is_no_answer_where_all_are_there(staged):
    stage = staged(answer=lambda _: Reply("[-1,-1]"))
    result = stage.evaluate({"m": {"recipe": "ui_venus_1_5", "model_path": URL}}, data=POINTS)
    assert result.code == 0, result.output
    counts = l2_counts(stage.scores(L2))
    assert counts["Error format num"] == counts["Total num"]


def test_a_recipe_is_told_where_an_element_may_be_missing(staged):
    stage = staged()
    (stage.root / "OSWorld-G" / "images").mkdir(parents=True)
    Image.new("RGB", (100, 60)).save(stage.root / "OSWorld-G" / "images" / "a.png")
    row = {"id": "1", "image_path": "a.png", "instruction": "the lion", "image_size": [100, 60]}
    row |= {"box_type": "refusal", "box_coordinates": [-1, -1, -1, -1]}
    (stage.root / "OSWorld-G" / "OSWorld-G.json").write_text(json.dumps([row]))
    stage.server.answer = lambda _: Reply(
        '<tool_call>\n{"name": "computer_use", "arguments": '
        '{"action": "terminate", "status": "failure"}}\n</tool_call>'
    )
    entry = {"recipe": "gui_owl_1_5", "model_path": URL}
    data = {"Mine": {"benchmark": "OSWorldG"}}
    result = stage.evaluate({"m": entry}, data=data)
    assert result.code == 0, result.output
    [request] = result.requests
    assert "if you think the task is infeasible" in request.text
    score = json.loads((stage.folder() / "m_Mine_score.json").read_text())
    assert score["overall"]["num_correct"] == 1
