#!/usr/bin/env python3
"""Finds circles of imports between the source files of a crate, and fails where there is one.

A file imports another if it uses an item that is defined there; re-exports are followed. A module and those below it count
as one, because a child may use its parent's items. Tests are left out. Item names are found by patterns, not by a compiler.
"""
import pathlib
import re
import sys

# The one import that may close a circle: `Deps` has the list of features, and a feature's answer to a hook gets the `Deps`.
ALLOWED = {("pipeline", ("deps",), ("features",))}

VISIBLE = r"(?:pub(?:\([^)]*\))?\s+)?"
ITEM = re.compile(rf"(?m)^{VISIBLE}(?:(?:async|const|unsafe)\s+)*(?:fn|struct|enum|trait|type|const|static)\s+(\w+)")
USE = re.compile(rf"(?m)^ *{VISIBLE}use\s+([^;]+);")
NOISE = re.compile(r'//[^\n]*|r#"(?s:.*?)"#|"(?:\\.|[^"\\])*"|\'(?:\\.[^\']*|[^\\\'])\'')
TEST = re.compile(r"#\[cfg\((?:all\()?test[^\]]*\](?:\s*#\[[^\]]*\])*[^{;]*(?:;|\{(?s:.*?)\n\})")


def leaves(tree, prefix=()):
    """Lists the paths of a use tree, each with the name that it gets."""
    tree = tree.strip()
    group = re.fullmatch(r"((?:\w+\s*::\s*)*)\{(.*)\}", tree, re.S)
    if not group:
        path, _, alias = tree.partition(" as ")
        path = prefix + tuple(part.strip() for part in path.split("::"))
        path = path[:-1] if path[-1] == "self" else path
        return [(path, alias.strip() or path[-1])] if tree else []
    prefix += tuple(part.strip() for part in group[1].split("::") if part.strip())
    parts, depth = [""], 0
    for letter in group[2]:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [leaf for part in parts for leaf in leaves(part, prefix)]


class Module:
    def __init__(self, file):
        text = TEST.sub("", NOISE.sub('""', file.read_text()))
        self.uses = {name: path for tree in USE.findall(text) for path, name in leaves(tree)}
        self.body = USE.sub("", text)
        self.items = set(ITEM.findall(text))
        self.children = re.findall(rf"(?m)^{VISIBLE}mod\s+(\w+)\s*;", text)


def load(file, name, modules):
    modules[name] = module = Module(file)
    folder = file.parent if name == () else file.with_suffix("")
    for child in module.children:
        load(folder / f"{child}.rs", (*name, child), modules)


def resolve(modules, at, path, depth=0):
    """Returns the module that defines what `path` names, seen from the module `at`; `None` if it is another crate's."""
    while path and path[0] in ("crate", "self", "super"):
        at = {"crate": (), "self": at, "super": at[:-1]}[path[0]]
        path = path[1:]
    module = modules[at]
    if not path or path[0] in module.items:
        return at
    if path[0] in module.children:
        return resolve(modules, (*at, path[0]), path[1:], depth)
    target = module.uses.get(path[0])
    if depth > 9 or target is None or target[0] == path[0]:
        return None
    return resolve(modules, at, target + path[1:], depth + 1)


def imports(modules, name):
    module = modules[name]
    written = {tuple(path.split("::")) for path in re.findall(r"(?<![\w:])\w+(?:::\w+)+", module.body)}
    used = {path for word, path in module.uses.items() if re.search(rf"\b{word}\b", module.body)}
    found = {resolve(modules, name, path) for path in written | used} - {None}
    return {other for other in found if name[: len(other)] != other and other[: len(name)] != name}


def circles(modules, crate):
    """Lists the groups of modules of which each reaches each other one."""
    edges = {name: {other for other in imports(modules, name) if (crate, name, other) not in ALLOWED} for name in modules}
    reach = {}
    for start in modules:
        seen, open_ = set(), [start]
        while open_:
            for other in edges[open_.pop()] - seen:
                seen.add(other)
                open_.append(other)
        reach[start] = seen
    return {frozenset(b for b in reach[a] if a in reach[b]) for a in modules if a in reach[a]}


def main():
    failed = False
    for root in sorted(pathlib.Path().glob("shared/**/src/lib.rs")):
        modules, crate = {}, root.parts[-3]
        load(root, (), modules)
        found = circles(modules, crate)
        failed |= bool(found)
        for circle in found:
            print(f"{crate}: " + ", ".join(sorted("::".join(name) or "lib" for name in circle)))
    return failed


if __name__ == "__main__":
    sys.exit(main())
