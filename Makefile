# make demo    scores the embedded baseline on the sample data; no torch, no key, no download of data
# make test    everything that is tested, local models included (installs torch, about 6 GB)
# make check   lint, format, types
# make clean   removes what the others made

PYTHON ?= $(shell command -v python3.11 || command -v python3)
PIP = .venv/bin/python -m pip install --disable-pip-version-check --quiet -c requirements/dev_env.txt

.PHONY: demo test check clean

demo: .venv/demo.installed
	LMUData=sample_data .venv/bin/python evaluate.py --config configs/config_demo.json

test: .venv/dev.installed
	OMP_NUM_THREADS=1 .venv/bin/python -m pytest -n 2 --dist loadfile

check: .venv/dev.installed
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

clean:
	rm -rf .venv outputs .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one with make PYTHON=..."; exit 1; }
	$(PYTHON) -m venv .venv

.venv/demo.installed: requirements/core.txt requirements/demo.txt requirements/dev_env.txt | .venv/bin/python
	$(PIP) -r requirements/core.txt -r requirements/demo.txt
	touch $@

.venv/dev.installed: $(wildcard requirements/*.txt) | .venv/bin/python
	$(PIP) -r requirements/dev.txt
	touch $@
