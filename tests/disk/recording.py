"""Records a run of the program on a disk that has its troubles, and shows beside what the program says of each."""
import concurrent.futures
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import image
import journal
from checks import Known
from story import HomeTenant, Machine, NotedPartners, Story

HERE = Path(__file__).resolve().parent
# Troubles of the disk in the recorded run, each for a moment (recorder.c).
TROUBLES = [["full recado.db"], ["full intake.db"], ["fail intake.db"], ["fail recado.db"], ["slow 150"], ["full payloads/", "full files/"]]
TROUBLE_SECONDS = 1.2


def build_recorder(folder):
    """Compiles the recorder with the machine's C compiler."""
    library = folder / "recorder.so"
    subprocess.run(["cc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, HERE / "recorder.c", "-lpthread"], check=True)
    return library


@dataclass
class Before:
    """What a power cut left of an earlier run: an image of its folder, and the marks until then."""
    folder: Path
    marks: list


class Recorded:
    """A program that runs below the recorder, in a folder of its own, and the troubles of its disk."""

    def __init__(self, binary, library, partners, folder, before=None):
        self.journal, self.trouble = folder / "journal", folder / "trouble"
        self.marks = journal.Marks(self.journal)
        partners.evolution.marks = self.marks

        def prepare(data):
            image.empty(data)
            if before:
                shutil.copytree(before.folder, data, dirs_exist_ok=True)
                self.marks.note_folder(data)
                for mark in before.marks:
                    self.marks.note(**mark)
            self.marks.note("begin")
            return {"LD_PRELOAD": str(library), "RECORDER_FOLDER": str(data.resolve()), "RECORDER_JOURNAL": str(self.journal),
                    "RECORDER_TROUBLE": str(self.trouble)}

        self.machine = Machine(binary, partners, prepare)
        self.data = Path(self.machine.settings["RECADO_DATA"])

    def set_trouble(self, *lines):
        """Sets the troubles of the disk in one step; without a line there are none."""
        part = self.trouble.with_suffix(".part")
        part.write_text("".join(f"{one}\n" for one in lines))
        part.rename(self.trouble)

    def close(self):
        self.machine.close()
        self.marks.close()


def go_on_in_trouble(recorded, story, trouble):
    """Goes on with the story while the disk has its troubles for a moment. Who is refused then comes again until it is over."""
    recorded.set_trouble(*trouble)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        job = pool.submit(story.go_on, 1)
        time.sleep(TROUBLE_SECONDS)
        recorded.set_trouble()
        job.result()


def go_on_over_a_kill(recorded, story):
    """Goes on with the story while the process is killed and started again."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        job = pool.submit(story.go_on, 2)
        time.sleep(TROUBLE_SECONDS / 10)
        recorded.set_trouble("die 1")
        recorded.machine.process.wait(60)
        recorded.set_trouble()
        recorded.machine.start()
        job.result()


def record(binary, library, folder, before=None):
    """Plays the story below the recorder, from the beginning or going on after a power cut, and returns the records."""
    partners = NotedPartners()
    known = Known(before.marks if before else [])
    partners.evolution.restore(known.sent)
    recorded = Recorded(binary, library, partners, folder, before)
    machine = recorded.machine
    try:
        tenant = HomeTenant(machine)
        partners.evolution.lose_some_answers()
        story = Story(tenant, recorded.marks)
        assert tenant.secret
        story.take_up(known)
        story.go_on(2)
        story.wait_for_rest()
        for trouble in TROUBLES:
            go_on_in_trouble(recorded, story, trouble)
            story.wait_for_rest()
        story.go_on(1)
        machine.stop()
        machine.start()
        go_on_over_a_kill(recorded, story)
        story.go_on(1)
        story.wait_for_rest()
        machine.stop()
        check_recorder(recorded)
        return journal.read(recorded.journal)
    finally:
        recorded.close()
        partners.close()


def check_recorder(recorded):
    """The folder has to be what the journal makes of it, or the recorder missed something."""
    disk = image.Disk()
    for one in journal.read(recorded.journal):
        disk.play(one)
    told = image.differences(disk, recorded.data)
    assert not told, f"the recorder missed something: {told}"

