"""What the system says of a process, and how one is ended: by its own id, never by a name."""

import subprocess
import time
from pathlib import Path

STOP_SECONDS_MAX = 20
# Variables that the unit of infra/systemd sets, and that are no settings of Recado. They count where the allocator is glibc's.
UNIT_VARIABLES = {"MALLOC_TRIM_THRESHOLD_": "131072"}


def memory_kib(pid):
    """(resident now, resident at most). Of this program alone: what the forking process had does not count."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]), int(fields["VmHWM"].split()[0])


def anonymous_kib(pid):
    """Resident memory that is no file's: without the program's code and the pages of files."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["RssAnon"].split()[0])


def cpu_seconds(pid):
    """Time on a processor, of all threads that still run, to the nanosecond."""
    nanoseconds = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            nanoseconds += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass  # It has ended meanwhile.
    return nanoseconds / 1e9


def end(process):
    """Asks it to stop, waits, and insists."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def eventually(condition, seconds_max, pause=0.05):
    """Whether `condition` became true in time."""
    deadline = time.monotonic() + seconds_max
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(pause)
    return False


def tail(path, lines=15):
    """The last lines of a log."""
    return "\n".join(Path(path).read_text(errors="replace").splitlines()[-lines:])


class MeasurementError(Exception):
    """Something was not as it must be, so a figure would mean nothing."""
