"""Waits for what is to happen, with a limit; nothing waits a fixed time for correctness."""
import datetime
import os
import time

# Machines that are busy may have more: the limits are for what never comes, not for speed.
FACTOR = float(os.environ.get("RECADO_BEHAVIOURS_PATIENCE", "1"))


def until(look, what, seconds=30, pause=0.05):
    """Calls `look` until it returns something true, and returns that; fails with `what` was waited for."""
    end = time.monotonic() + seconds * FACTOR
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds * FACTOR:.0f} s in vain for: {what}; last seen: {found!r}")
        time.sleep(pause)
        pause = min(pause * 1.3, 0.5)


def same(found, wanted, what=""):
    assert found == wanted, f"{what or 'not the same'}: found {found!r}, wanted {wanted!r}"


def holds(text, *words):
    """Fails unless the text, or the JSON of anything else, holds all words."""
    shown = text if isinstance(text, str) else repr(text)
    missing = [word for word in words if word not in shown]
    assert not missing, f"{missing} are not in {shown[:1500]}"


def moment(text):
    """The time that a text of the API says. Two such texts may not be compared as they are: zeros at the end of a fraction are left out."""
    return datetime.datetime.fromisoformat(text)
