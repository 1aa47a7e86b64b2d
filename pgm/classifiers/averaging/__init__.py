"""The mean over many super-parents: ``log_mean`` looks up many rows at once, ``super_parents`` says what takes part."""

__all__: list[str] = []
