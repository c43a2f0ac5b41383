#!/usr/bin/env python3
"""Prints the links of the pages to headings that do not exist, and to files that do not exist. Ends with 1 if there are any."""

import pathlib
import re
import subprocess
import sys
import unicodedata

LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?)\s*#*$")
FENCE = re.compile(r"^\s*(```|~~~)")
URL = re.compile(r"^[a-z]+:")


def list_lines(text):
    """Yields the lines outside of blocks of code."""
    is_code = False
    for line in text.splitlines():
        if FENCE.match(line):
            is_code = not is_code
        elif not is_code:
            yield line


def write_anchor(heading):
    """Returns the anchor that GitHub gives a heading: small letters and digits, spaces as hyphens."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    kept = (one for one in text if one in " -_" or unicodedata.category(one)[0] in "LN")
    return "".join(kept).strip().replace(" ", "-")


def list_anchors(path):
    """Returns the anchors of a page: those of its headings, and those that it names itself."""
    text, anchors = path.read_text(), set()
    for line in list_lines(text):
        heading = HEADING.match(line)
        if heading:
            anchor, number = write_anchor(heading[1]), 0
            while anchor + (f"-{number}" if number else "") in anchors:
                number += 1
            anchors.add(anchor + (f"-{number}" if number else ""))
    return anchors | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def main():
    found = subprocess.run(["git", "ls-files", "*.md"], capture_output=True, text=True, check=True)
    pages = [pathlib.Path(name) for name in found.stdout.split()]
    anchors, wrong = {}, []
    for page in pages:
        for line in list_lines(page.read_text()):
            for link in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                if URL.match(link):
                    continue
                name, _, anchor = link.partition("#")
                target = (page.parent / name) if name else page
                if not target.exists():
                    wrong.append(f"{page}: {link}: there is no such file")
                elif anchor and target.suffix == ".md":
                    if target not in anchors:
                        anchors[target] = list_anchors(target)
                    if anchor not in anchors[target]:
                        wrong.append(f"{page}: {link}: there is no such heading")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
