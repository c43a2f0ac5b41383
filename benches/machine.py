"""What the figures were measured on and with. Says nothing of where on the machine anything lies."""

import os
import platform
import statistics
import subprocess
import tempfile
import time
from pathlib import Path


def facts(folder):
    """`folder`: where the databases of the measurements lie."""
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory_bytes() / 2**30, 1),
        "kernel": f"{platform.system()} {platform.release()}",
        "disk": disk(folder),
        "rustc": first_line(["rustc", "--version"]),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def cpu_model():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model", "CPU part"):
            return value.strip()
    return platform.machine()


def memory_bytes():
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return 0


def disk(folder):
    """The file system, and what making 4 KiB durable takes on it: the floor of every commit."""
    waits = []
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        for _ in range(200):
            began = time.perf_counter()
            os.write(file.fileno(), b"\0" * 4096)
            os.fdatasync(file.fileno())
            waits.append((time.perf_counter() - began) * 1000)
    return {"file_system": file_system(folder), "write_and_sync_ms": round(statistics.median(waits), 2)}


def file_system(folder):
    """Of the longest mount point above `folder`."""
    path = str(Path(folder).resolve())
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    above = [(point, kind) for point, kind in mounts if path == point or path.startswith(point.rstrip("/") + "/")]
    return max(above, key=lambda mount: len(mount[0]))[1] if above else "unknown"


def first_line(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip().split("\n")[0]
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
