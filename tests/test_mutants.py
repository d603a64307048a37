"""The operators of `tools.mutants`, and which tests it runs."""

import ast

import pytest

from tools.mutants import imports_of, mutants_of, nearest_tests


@pytest.mark.parametrize(
    ("source", "mutants"),
    [
        ("a < b", {"(a <= b)"}),
        ("a >= b", {"(a > b)"}),
        ("a == b", {"(a != b)"}),
        ("a is b", {"(a is not b)"}),
        ("a not in b", {"(a in b)"}),
        ("a < b < c", set()),
        ("a and b and c", {"(a or b or c)"}),
        ("not a", {"(a)"}),
        ("a - b", {"(a + b)"}),
        ("x = 0", {"x = 1"}),
        ("x = 1", {"x = 0"}),
        ("x = True", {"x = False"}),
        ("x: Literal[1]", set()),
        ("x = 2", set()),
        ("f(a)", {"pass"}),
        ("x = f(a)", set()),
        ("x = a if b else c", {"x = a if (not b) else c"}),
        ("if a:\n    x", {"if (not a):\n    x"}),
        ("while a:\n    x", {"while (not a):\n    x"}),
        ("if TYPE_CHECKING:\n    x", set()),
        ("def f():\n    return a", {"def f():\n    return None"}),
        ("def f() -> Literal[1]:\n    return None", set()),
        ("f'{a + 1}'", set()),
        ("'ä', a + b", {"'ä', (a - b)"}),
    ],
)
def test_each_operator_changes_one_place(source, mutants):
    content = source.encode()
    texts = {
        (content[: mutant.start] + mutant.after.encode() + content[mutant.end :]).decode()
        for mutant in mutants_of(source)
    }
    assert texts == mutants
    assert all(ast.parse(text) for text in texts)


def test_the_nearest_tests_come_first(tmp_path):
    files = {
        "utils/store/log.py": "",
        "utils/other.py": "",
        "evaluate.py": "from utils.store import log",
        "tests/conftest.py": "from tests import support",
        "tests/support.py": "name = 'evaluate.py'",
        "tests/store/test_far.py": "",
        "tests/config/test_near.py": "import utils.store.log",
        "tests/config/test_log.py": "",
        "tests/config/test_far_away.py": "",
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    imports = imports_of(tmp_path)
    names = [
        path.rpartition("/")[2] for path in nearest_tests("utils/store/log.py", imports, tmp_path)
    ]
    assert names == ["test_log.py", "test_near.py", "test_far.py", "test_far_away.py"]
    assert nearest_tests("utils/other.py", imports, tmp_path) == []
