"""Hypothesis without a time limit per example: a busy machine is not a failing test."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
