"""Exact structure search: proofs that no better graph exists."""

__all__: list[str] = []
