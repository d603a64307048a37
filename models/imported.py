"""Stands for a model whose answers were made elsewhere; nobody can be asked here."""

from __future__ import annotations

from utils.errors import UserError


class AnswersMadeElsewhere:
    """The class of configs that `--import` makes, so that `--mode eval` can score them again."""

    def __init__(self) -> None:
        raise UserError(
            "its answers were imported, and there is no model to ask; score them with --mode eval, "
            "or name a model in model_path"
        )

    def generate(self, message: object, *, dataset_name: str) -> str:
        """Never called: the class cannot be built."""
        raise NotImplementedError
