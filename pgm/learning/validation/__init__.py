"""How far a learned graph can be trusted: bootstrap, cross-validation, and what each edge is worth."""

__all__: list[str] = []
