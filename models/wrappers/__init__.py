"""The machinery behind `imp_type`; nobody needs to open it to add a model."""
