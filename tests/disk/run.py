#!/usr/bin/env python3
"""Cuts the power at many moments of a recorded run of the program, and checks what it makes of what the disk may hold then.

Usage: run.py [--binary target/debug/recado] [--points 30] [--seed N] [--jobs 8]
       run.py --journal FILE --seed N --point K      plays one moment of a kept recording again

RECADO_SEED, POINTS, JOURNAL and POINT do the same as the options. README.md says what is played.
"""
import argparse
import concurrent.futures
import os
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "behaviours")]

import image  # noqa: E402
import journal  # noqa: E402
import recording  # noqa: E402
import troubles  # noqa: E402
from checks import Known, check_everything  # noqa: E402
from story import HomeTenant, Machine, NotedPartners  # noqa: E402

# A recording is played for so many points: others bring other orders of the threads.
POINTS_OF_A_RECORDING = 400
# So many recordings go on each where a power cut left the one before; the next begins in an empty folder.
CHAIN = 4
# Points at which a disk that lies is played, at most: some check has to fail, or the checks see nothing.
LYING_POINTS = 16
# The moments just before and behind these records are where states change: a sync is answered, a name changes, something leaves.
TURNING = "AMRUC"
OUTPUT = threading.Lock()


def read_arguments():
    environment = os.environ.get
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(HERE.parent.parent / "target/debug/recado"))
    parser.add_argument("--points", type=int, default=int(environment("POINTS") or 30))
    parser.add_argument("--seed", type=int, default=int(environment("RECADO_SEED") or random.SystemRandom().randrange(2 ** 32)))
    parser.add_argument("--point", type=int, default=int(environment("POINT") or 0))
    parser.add_argument("--journal", type=Path, default=environment("JOURNAL"))
    parser.add_argument("--jobs", type=int, default=8)
    return parser.parse_args()


def choose_points(records, count, seed):
    """Chooses moments: two of three beside a record where a state changes, the others anywhere."""
    rng = random.Random(seed)
    first = journal.first_moment(records) + 1
    turning = [place for place, one in enumerate(records) if one.kind in TURNING and place >= first]
    points = {rng.choice(turning) + rng.randrange(2) if rng.random() < 0.67 else rng.randrange(first, len(records))
              for _ in range(count)}
    return sorted(points)


class Player:
    """Plays points of one recording, several at a time. Each has stand-ins of its own. On a disk that lies, syncs of the logs that
    SQLite writes ahead are answered and do nothing."""

    def __init__(self, arguments, records, lies=False):
        self.arguments, self.records, self.lies, self.local = arguments, records, lies, threading.local()
        self.partners, self.failed = [], []

    def find_partners(self):
        if not hasattr(self.local, "partners"):
            self.local.partners = NotedPartners()
            self.partners.append(self.local.partners)
        return self.local.partners

    def play(self, points):
        """Plays the points in their order, and returns those that failed. Of a disk that lies one failure is enough."""
        disk, at = image.Disk((lambda name: name.endswith("-wal")) if self.lies else None), 0
        room = threading.Semaphore(self.arguments.jobs + 1)
        with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
            for point in points:
                room.acquire()
                if self.lies and self.failed:
                    break
                while at < point:
                    disk.play(self.records[at])
                    at += 1
                folder = Path(tempfile.mkdtemp(prefix="recado-image-"))
                told = disk.write_image(folder, random.Random(f"{self.arguments.seed}-{point}"))
                pool.submit(self.play_point, point, folder, told).add_done_callback(lambda _: room.release())
        for partners in self.partners:
            partners.close()
        return self.failed

    def play_point(self, point, folder, told):
        """Starts the program on an image, and checks. A failure is told with what the disk held."""
        machine, why = None, None
        try:
            known, partners = Known(journal.marks_of(self.records[:point])), self.find_partners()
            partners.evolution.restore(known.sent)
            machine = Machine(self.arguments.binary, partners, lambda data: shutil.move(folder, data) and None)
            check_everything(machine, HomeTenant(machine), known, random.Random(f"{self.arguments.seed}-{point}-repeats"))
        except AssertionError as error:
            why = str(error)[:3000]
        except Exception:
            why = traceback.format_exc()
        finally:
            if machine:
                machine.close()
            shutil.rmtree(folder, ignore_errors=True)
        if why:
            self.failed.append(point)
            where = f"at point {point} of {len(self.records)} ({'; '.join(told)})"
            tell(f"noticed {where}: {why[:120]}" if self.lies else f"FAILED {where}\n    {why}")


def tell(text):
    with OUTPUT:
        print(text, flush=True)


def play_points(arguments, records, points):
    begin = time.monotonic()
    failed = Player(arguments, records).play(points)
    tell(f"{len(points) - len(failed)} of {len(points)} points passed in {time.monotonic() - begin:.0f} s")
    return failed


def sees_lies(arguments, records):
    """Plays a disk that lies until a check fails: without a failure the checks would see no loss at all."""
    chosen = choose_points(records, LYING_POINTS, arguments.seed)
    random.Random(arguments.seed).shuffle(chosen)
    # An image is made of what comes before its point: a few points in their order at a time.
    for place in range(0, len(chosen), arguments.jobs):
        if Player(arguments, records, lies=True).play(sorted(chosen[place:place + arguments.jobs])):
            return True
    tell("FAILED: a disk that answered syncs and did nothing was not noticed")
    return False


def play_case(case, arguments, library, folder):
    """Plays a case of a disk in trouble; returns whether it passed."""
    partners, recorded, begin, why = NotedPartners(), None, time.monotonic(), None
    folder.mkdir()
    try:
        recorded = recording.Recorded(arguments.binary, library, partners, folder)
        troubles.play(case, recorded, HomeTenant(recorded.machine), arguments.seed)
    except Exception:
        why = traceback.format_exc() + (recorded.machine.log()[-1500:] if recorded else "")
    finally:
        if recorded:
            recorded.close()
        partners.close()
    tell(f"FAILED {case.__name__}: {why}" if why else f"passed {case.__name__} in {time.monotonic() - begin:.0f} s")
    return why is None


def record(arguments, library, folder, before=None):
    """Records one run; with the records of an earlier one, it goes on where a power cut left that."""
    folder.mkdir()
    begin, left = time.monotonic(), None
    if before:
        disk, point = image.Disk(), choose_points(before, 1, arguments.seed)[0]
        for one in before[:point]:
            disk.play(one)
        left = recording.Before(folder / "before", journal.marks_of(before[:point]))
        left.folder.mkdir()
        disk.write_image(left.folder, random.Random(arguments.seed))
    records = recording.record(arguments.binary, library, folder, left)
    tell(f"recorded {len(records)} operations and marks in {time.monotonic() - begin:.0f} s")
    return records


def play_all(arguments, folder):
    """Plays the cases of a disk in trouble beside the first recording, the points of as many recordings as are needed, and a disk
    that lies. Returns whether all passed; recordings with failures are kept."""
    library = recording.build_recorder(folder)
    with concurrent.futures.ThreadPoolExecutor(len(troubles.CASES)) as pool:
        cases = [pool.submit(play_case, case, arguments, library, folder / case.__name__) for case in troubles.CASES]
        records = record(arguments, library, folder / "0")
        passed = all([case.result() for case in cases])
    for place, begun in enumerate(range(0, arguments.points, POINTS_OF_A_RECORDING)):
        if place:
            records = record(arguments, library, folder / str(place), records if place % CHAIN else None)
        count = min(arguments.points - begun, POINTS_OF_A_RECORDING)
        failed = play_points(arguments, records, choose_points(records, count, arguments.seed + place))
        for point in failed:
            tell(f"again: make disk RECADO_SEED={arguments.seed} JOURNAL={folder / str(place) / 'journal'} POINT={point}")
        if not failed:
            shutil.rmtree(folder / str(place))
        passed = passed and not failed
    return sees_lies(arguments, records) and passed


def main():
    arguments = read_arguments()
    if not sys.platform.startswith("linux"):
        print("left out: the recorder needs Linux")
        return 0
    tell(f"RECADO_SEED={arguments.seed}")
    if arguments.journal:
        records = journal.read(arguments.journal)
        points = [arguments.point] if arguments.point else choose_points(records, arguments.points, arguments.seed)
        return 1 if play_points(arguments, records, points) else 0
    folder = Path(tempfile.mkdtemp(prefix="recado-disk-"))
    passed = play_all(arguments, folder)
    if passed:
        shutil.rmtree(folder)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
