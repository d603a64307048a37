"""`--check`: everything short of a model call; `--ping` makes one."""
