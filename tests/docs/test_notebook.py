"""The notebook of results runs from its first cell to its last."""

import shutil

from tests.support.needs import needs
from tests.support.runs import PROJECT

pytestmark = needs("matplotlib", "nbclient", "nbformat")


def test_the_notebook_of_results_runs(tmp_path, monkeypatch):
    import nbclient
    import nbformat

    for name in ("evaluate.py", "benchmarks", "models", "utils", "sample_data", "configs"):
        (tmp_path / name).symlink_to(PROJECT / name)
    shutil.copy(PROJECT / "examples" / "results.ipynb", tmp_path)
    notebook = nbformat.read(tmp_path / "results.ipynb", as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kinds = {kind for output in shown for kind in output.get("data", {})}
    assert {"text/html", "image/png"} <= kinds
