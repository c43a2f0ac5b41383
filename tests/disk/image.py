"""The disk below the recorded folder: what is safe, what is not yet, and what a power cut may leave of that."""
import os
import random
import shutil

SECTORS = (512, 4096)
# What may become of the writes of a file, or the names of a folder, that no answered sync covers.
EXTENTS = ("all", "none", "first", "each", "each")


class File:
    """Bytes that are safe, and the later operations in their order: (number, offset, data), without data a new length."""

    def __init__(self):
        self.safe, self.pending = bytearray(), []


def apply(content, offset, data):
    if data is None:
        del content[offset:]
        content.extend(bytes(offset - len(content)))
        return
    content.extend(bytes(max(0, offset - len(content))))
    content[offset:offset + len(data)] = data


class Disk:
    """Plays records. `is_lying` tells of a name that the syncs of its file are answered and do nothing."""

    def __init__(self, is_lying=None):
        self.is_lying = is_lying
        self.files, self.syncs, self.number = {}, {}, 0
        # Names lead to files, or to "folder". Later changes: (number, folder, [(name, file or None)]).
        self.names, self.pending = {}, []

    def play(self, record):
        self.number += 1
        file = self.files.get(record.file)
        if record.kind == "C":
            file = self.files[record.file] = File()
            self.change_names([(record.names[0], file)])
        elif record.kind == "D":
            self.change_names([(record.names[0], "folder")])
        elif record.kind == "U":
            self.change_names([(record.names[0], None)])
        elif record.kind == "R":
            old, new = record.names
            assert os.path.dirname(old) == os.path.dirname(new) and old, f"not played: {old!r} becomes {new!r}"
            self.change_names([(old, None), (new, self.present()[old])])
        elif record.kind == "W":
            file.pending.append((self.number, record.offset, record.data))
        elif record.kind == "T":
            file.pending.append((self.number, record.offset, None))
        elif record.kind in "SN":
            self.syncs[record.offset] = self.number
        elif record.kind == "A":
            self.answer(self.syncs.pop(record.offset), record, file)
        else:
            assert record.kind == "M", f"no such record: {record.kind}"

    def change_names(self, changes):
        self.pending.append((self.number, os.path.dirname(changes[0][0]), changes))

    def present(self):
        """The names as the program sees them."""
        return visible(self.names, [changes for _, _, changes in self.pending])

    def answer(self, begun, record, file):
        """A sync is answered: what was written before it began is safe. Of what a failed one covers, nobody knows; later syncs
        do not mend that, since the system takes the pages for written."""
        if file is None:
            if not record.failed:
                name = record.names[0]
                done = [one for one in self.pending if one[0] < begun and one[1] == name]
                self.names = visible(self.names, [changes for _, _, changes in done])
                self.pending = [one for one in self.pending if one not in done]
            return
        if self.is_lying and self.is_lying(next((name for name, known in self.present().items() if known is file), "")):
            return
        covered = [one for one in file.pending if one[0] < begun]
        file.pending = [one for one in file.pending if one[0] >= begun]
        if record.failed:
            rng = random.Random(begun)
            covered = [one for one in covered if rng.random() < 0.5]
        for _, offset, data in covered:
            apply(file.safe, offset, data)

    def write_image(self, folder, rng):
        """Writes to `folder` what a power cut at this moment may leave, as `rng` decides; returns what was chosen, in words."""
        names, told = choose_names(self, rng)
        for name, file in sorted(names.items()):
            path = folder / name
            if not path.parent.is_dir():
                continue  # The folder's own name was lost.
            if file == "folder":
                path.mkdir(mode=0o700)
                continue
            content = bytearray(file.safe)
            extent = "all" if not file.pending else rng.choice(EXTENTS)
            for offset, data in choose_writes(file, extent, rng):
                apply(content, offset, data)
            if file.pending:
                told.append(f"{name}: {extent} of {len(file.pending)}")
            path.write_bytes(content)
            path.chmod(0o600)
        return told


def visible(names, changes):
    names = dict(names)
    for change in changes:
        for name, file in change:
            if file is None:
                names.pop(name, None)
            else:
                names[name] = file
    return names


def choose_names(disk, rng):
    extent = rng.choice(EXTENTS) if disk.pending else "all"
    kept = [one for one in disk.pending if extent == "all" or (extent == "each" and rng.random() < 0.5)]
    if extent == "first":
        kept = disk.pending[:rng.randrange(len(disk.pending) + 1)]
    told = [f"names: {extent} of {len(disk.pending)}"] if disk.pending else []
    return visible(disk.names, [changes for _, _, changes in kept]), told


def choose_writes(file, extent, rng):
    """The writes that are on the disk by the kept extent of a file: whole ones, and parts of torn ones."""
    pending = file.pending
    if extent == "none":
        return
    if extent == "first":
        count = rng.randrange(len(pending) + 1)
        yield from ((offset, data) for _, offset, data in pending[:count])
        yield from (part for _, offset, data in pending[count:count + 1] for part in tear(offset, data, rng))
        return
    for _, offset, data in pending:
        if extent == "all" or rng.random() < 0.4:
            yield offset, data
        elif rng.random() < 0.5:
            yield from tear(offset, data, rng)


def tear(offset, data, rng):
    """Parts of one write: its beginning, or some of its sectors."""
    if data is None:
        return
    if rng.random() < 0.4:
        yield offset, data[:rng.randrange(len(data) + 1)]
        return
    sector, at = rng.choice(SECTORS), offset
    while at < offset + len(data):
        end = min(at - at % sector + sector, offset + len(data))
        if rng.random() < 0.5:
            yield at, data[at - offset:end - offset]
        at = end


def differences(disk, folder):
    """Tells in which files the folder is not what the journal makes of it: the recorder would have missed something there."""
    names, told = disk.present(), []
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.name.endswith("-shm")}
    told += [f"{name} is in one of them only" for name in found ^ set(names)]
    for name, file in names.items():
        if file == "folder" or name not in found:
            continue
        content = bytearray(file.safe)
        for _, offset, data in file.pending:
            apply(content, offset, data)
        if bytes(content) != (folder / name).read_bytes():
            told.append(f"{name} has other bytes")
    return told


def empty(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
