"""The journal of a recorded run: what the program wrote below its folder, and the marks of the outside, in one order."""
import json
import os
import struct
from dataclasses import dataclass

# As `struct header` of recorder.c: length, kind, failed, bytes of the names, inode, offset.
HEADER = struct.Struct("=IBBHQQ")


@dataclass
class Record:
    """An operation: `kind` is the letter of recorder.c, or `M` for a mark, whose text `data` is."""
    kind: str
    failed: bool
    file: int
    offset: int
    names: list
    data: bytes


def read(path):
    """Reads all records of a journal."""
    raw = memoryview(path.read_bytes())
    records, at = [], 0
    while at < len(raw):
        length, kind, failed, names, file, offset = HEADER.unpack_from(raw, at)
        begin = at + HEADER.size
        text = bytes(raw[begin:begin + names]).decode()
        records.append(Record(chr(kind), bool(failed), file, offset, text.split("\0"), bytes(raw[begin + names:at + length])))
        at += length
    return records


class Marks:
    """Appends what happens outside to a journal. A mark is there before whoever caused it goes on."""

    def __init__(self, path):
        self.descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def append(self, kind, file=0, offset=0, name="", data=b""):
        name = name.encode()
        record = HEADER.pack(HEADER.size + len(name) + len(data), ord(kind), 0, len(name), file, offset) + name + data
        assert os.write(self.descriptor, record) == len(record), "a record was cut off"

    def note(self, what, **fields):
        self.append("M", data=json.dumps({"what": what, **fields}).encode())

    def note_folder(self, folder):
        """Notes what is in a folder before the program starts, as if it had been written and synced."""
        for path in sorted(folder.rglob("*")):
            name, inode = str(path.relative_to(folder)), path.stat().st_ino
            if path.is_dir():
                self.append("D", name=name)
                continue
            self.append("C", inode, name=name)
            self.append("W", inode, data=path.read_bytes())
            self.append("S", inode, inode)
            self.append("A", inode, inode)
        for name in ["", *(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_dir())]:
            self.append("N", name=name)
            self.append("A", name=name)

    def close(self):
        os.close(self.descriptor)


def first_moment(records):
    """The place of the record with which the run begins: what is before was in the folder."""
    return next(place for place, one in enumerate(records) if one.kind == "M" and json.loads(one.data)["what"] == "begin")


def marks_of(records):
    """The marks among records, as dictionaries, in their order."""
    return [json.loads(one.data) for one in records if one.kind == "M"]
