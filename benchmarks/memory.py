"""Peak memory: of a whole process that does nothing else, since a process never shrinks.

A benchmark starts itself again with ``--child`` and what to do; the child measures, and prints its answer as JSON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import timed

__all__ = ["answered_as_child", "in_child", "measured_alone", "peak_memory"]


def peak_memory() -> int:
    """Return the most bytes this process has held.

    Linux starts ``ru_maxrss`` of a new process at what its parent held, so there the process's own mark is read.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource  # not on every system

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measured_alone(task: Callable[[], object]) -> dict[str, float]:
    """Return the seconds of a task and the peak memory of the process before and after it."""
    before = peak_memory()
    spent = timed(task)
    return {"seconds": spent, "before": before, "peak": peak_memory()}


def in_child(script: str, *arguments: object) -> dict[str, Any]:
    """Return what a script answers to some arguments in a process of its own, see :func:`answered_as_child`."""
    command = [sys.executable, script, "--child", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def answered_as_child(options: argparse.Namespace, task: Callable[..., dict[str, Any]]) -> bool:
    """Return whether this process was started by :func:`in_child`; if so, the task's answer has been printed."""
    if options.child:
        print(json.dumps(task(*options.child)))
    return bool(options.child)
