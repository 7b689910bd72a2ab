"""Processes to be killed: forked from one that has JAX imported, but not begun.

What they say goes to a file, in which tracebacks are counted afterwards.
"""

import contextlib
import os
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

STUCK = 300.0
"""Seconds after which a process hangs; it needs a few where nothing else runs."""
SAID = "said.txt"


def fork(act, place=None):
    """Start a process that does one thing; its number.

    Args:
        act: gives its exit status; whatever is no number stands for 0.
        place: a folder for what it says; None leaves its streams alone.
    """
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid:
        return pid
    status = 70
    try:
        os.setpgid(0, 0)
        if place is not None:
            streams_to(place / SAID)
        told = act()
        status = told if isinstance(told, int) else 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def streams_to(path):
    """Send what this process says to the end of a file."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(handle, 1)
    os.dup2(handle, 2)


def tracebacks(place):
    """How many the processes of a place have told."""
    path = place / SAID
    told = path.read_text(errors="replace") if path.exists() else ""
    return told.count("Traceback (most recent call last)")


def wait(pid, seconds=STUCK):
    """Its exit status; what hangs is killed and has None."""
    end, pause = time.monotonic() + seconds, 0.001
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def status_of(act, place=None):
    """The exit status of a process that does one thing."""
    return wait(fork(act, place))


def end_within(act, seconds, place, after=None, number=signal.SIGKILL):
    """Start a process and end it by a signal; its exit status.

    Args:
        act: what it does.
        seconds: from its start, or …
        after: … from when this file has grown, if one is given.
        place: for what it says.
        number: of the signal.
    """
    before = size_of(after)
    pid = fork(act, place)
    end = time.monotonic() + STUCK
    while after and size_of(after) == before and time.monotonic() < end:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            break
        time.sleep(0.002)
    time.sleep(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
    return wait(pid)


def size_of(path):
    """Of a file that may not be there."""
    return Path(path).stat().st_size if path and Path(path).exists() else 0
