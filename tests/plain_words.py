#!/usr/bin/env python3
"""Counts names, comments and functions in shipped Rust that are hard to read, and fails where there are more than the limits below.

Usage: plain_words.py [--list]     --list prints every name and comment that counts, with its place
"""
import re
import statistics
import subprocess
import sys
from collections import defaultdict

# The limits are what is reached; they only ever go down (the median up).
LIMITS = {
    "median length of function names": 14,
    "function names of four letters or fewer, per cent": 5,
    "types that share their name with another": 2,
    "comments that begin with What, How, Whether, Who or It, per cent": 0.5,
    "first sentences of more than 20 words": 0,
    "docs on private fields that only repeat the name": 0,
    "functions with a body of more than 60 lines": 0,
    "words that are not in the glossary and had a better one": 0,
    "old names in tests": 0,
    "faults of the glossary": 0,
}
GLOSSARY = "docs/glossary.md"
# A newcomer reads the glossary at one sitting: the terms of a single topic stand on that topic's page.
GLOSSARY_TERMS = range(40, 61)
# Old names of this code, where another word is right: wake-up job, to give up, dead letter, failed, system, context.
OLD_NAMES = re.compile(
    r"\b(kick(?:s|ed|ing)?|bur(?:y|ied|ies)|letters?|ambient|hears?|heard|wish(?:es)?|worlds?|died|sightings?|apology|apologies)\b",
    re.IGNORECASE,
)
# The same in sentences, where "letters" of a text, or a wish, may be what is meant.
OLD_WORDS = re.compile(r"\b(kick(?:s|ed|ing)?|bur(?:y|ied|ies)|ambient|sightings?)\b|`(?:letters?|died|heard|wish|world)`", re.IGNORECASE)
# The worst of them in tests too, also as a part of a longer name.
OLD_TEST_NAMES = re.compile(r"(?<![a-z])(?:kick(?:s|ed|ing)?|bur(?:y|ied|ies)|hears?|heard|sightings?|apolog(?:y|ies))(?![a-z])")
PAGES = ["*.md", "docs/*.json", "*.yaml", "*.toml", "Makefile", ":!CHANGELOG.md", ":!tests/*"]
TOKEN = re.compile(r"//(?P<comment>[^\n]*)|r(?P<h>#*)\"(?P<raw>.*?)\"(?P=h)|\"(?P<text>(?:[^\"\\]|\\.)*)\"|'(?:[^'\\]|\\[^\n]+?)'", re.DOTALL)
NOT_SHIPPED = re.compile(r"(^|/)(tests?|benches|fuzz)(/|\.rs$)")
FUNCTION = re.compile(r"\s*(?:pub(?:\([a-z ]+\))?\s+)?(?:const\s+|async\s+|unsafe\s+)*fn\s+(\w+)")
TYPE = re.compile(r"\s*(?:pub(?:\([a-z ]+\))?\s+)?(?:struct|enum|trait|type)\s+(\w+)")
COMMENT = re.compile(r"\s*//[/!]\s?(.*)")
STRUCT = re.compile(r"(?:pub(?:\([a-z ]+\))?\s+)?struct\s+\w+")
PRIVATE_FIELD = re.compile(r"    (?:pub\([a-z ]+\) )?(\w+): (.*),$")
# Their docs are printed: as help of the command line, or in the description of the API.
PRINTED = re.compile(r"derive\([^)]*\b(Args|Parser|Subcommand|ToSchema|IntoParams)\b")
VAGUE = re.compile(r"(What|How|Whether|Who|Whose|It|Its)\b")


def shipped_part(text):
    """Returns the text before the tests that a file holds. Other items that tests alone compile stay in."""
    return re.split(r"^#\[cfg\(test\)\]\n(?:pub(?:\([a-z ]+\))? )?mod \w+(?: \{|;\s*\Z)", text, maxsplit=1, flags=re.MULTILINE)[0]


def shipped():
    listed = subprocess.check_output(["git", "ls-files", "--", "*.rs"], text=True).split()
    return [path for path in listed if not NOT_SHIPPED.search(path)]


def read(paths):
    functions, types, comments = [], defaultdict(list), []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            lines = shipped_part(file.read()).splitlines()
        block, begun, stand_in = [], 0, path.endswith("_left_out.rs")
        for number, line in enumerate([*lines, ""], 1):
            place = f"{path}:{number}"
            if found := FUNCTION.match(line):
                functions.append((found[1], place))
            # Spaces and `type`: an associated type, which each implementation names. A type that stands in for one of a feature
            # has that one's name.
            if (found := TYPE.match(line)) and not re.match(" +type ", line) and not stand_in:
                types[found[1]].append(place)
            stand_in = path.endswith("_left_out.rs") or line.startswith("#[cfg(not(feature") or (stand_in and line.startswith("#["))
            if found := COMMENT.match(line):
                begun = begun if block else number
                block.append(found[1])
            elif block:
                comments.append((" ".join(block).strip(), f"{path}:{begun}"))
                block = []
    return functions, types, comments


def words_of(text):
    """Lists the words of a text or a name, small and without the s of a plural; words that say nothing alone are left out."""
    parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", text)
    return {part.lower().rstrip("s") for part in parts} - {"the", "a", "an", "of", "it", "thi", "these", ""}


def repeating_docs(paths):
    found = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            lines = shipped_part(file.read()).splitlines()
        derived, inside, doc = "", False, []
        for number, line in enumerate(lines, 1):
            if line.startswith("#[derive"):
                derived = line
            elif re.match(r"#\[cfg_attr\((test|feature = \"schema\"), derive", line):
                derived += line
            elif STRUCT.match(line):
                inside, derived = line.endswith("{") and not PRINTED.search(derived), ""
            elif line == "}":
                inside = False
            if comment := COMMENT.match(line):
                doc.append(comment[1])
            elif not line.lstrip().startswith("#["):
                field = PRIVATE_FIELD.match(line)
                if inside and doc and field and words_of(" ".join(doc)) <= words_of(field[1] + " " + field[2]):
                    found.append(f"{' '.join(doc)} {path}:{number}")
                doc = []
    return found


def long_functions(paths):
    """Lists functions whose body has more than 60 lines of code, as clippy counts them: blank lines and comments are left out."""
    found = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            lines = shipped_part(file.read()).splitlines()
        for number, line in enumerate(lines):
            if function := FUNCTION.match(line):
                margin = line[: len(line) - len(line.lstrip())]
                # rustfmt puts the end of a body, and of nothing else, at the margin of its function.
                # What a trait only declares ends with a semicolon and has none, and a body of one line is short.
                begin = next(at for at in range(number, len(lines)) if lines[at].endswith(("{", "}", ";")))
                if not lines[begin].endswith("{"):
                    continue
                end = next((at for at in range(begin, len(lines)) if lines[at].startswith(margin + "}")), begin)
                body = [text.strip() for text in lines[begin + 1 : end]]
                if sum(1 for text in body if text and not text.startswith("//")) > 60:
                    found.append(f"{function[1]} {path}:{number + 1}")
    return found


def old_words(paths):
    found = []

    def note(path, text, at, hits):
        found.extend(f"{hit[0]} {path}:{text.count(chr(10), 0, at + hit.start()) + 1}" for hit in hits)

    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = shipped_part(file.read())
        for token in TOKEN.finditer(text):
            note(path, text, token.start(), OLD_WORDS.finditer(token[0]))
        # Blanks in the place of comments and texts, so that the lines stay.
        code = TOKEN.sub(lambda token: re.sub(r"[^\n]", " ", token[0]), text)
        note(path, code, 0, OLD_NAMES.finditer(code))
    for path in subprocess.check_output(["git", "ls-files", "--", *PAGES], text=True).split():
        with open(path, encoding="utf-8") as file:
            text = file.read()
        note(path, text, 0, OLD_WORDS.finditer(text))
    return found


def old_test_names():
    found = []
    for path in subprocess.check_output(["git", "ls-files", "--", "*.rs"], text=True).split():
        if NOT_SHIPPED.search(path):
            with open(path, encoding="utf-8") as file:
                code = TOKEN.sub(lambda token: re.sub(r"[^\n]", " ", token[0]), file.read())
            hits = OLD_TEST_NAMES.finditer(code)
            found.extend(f"{hit[0]} {path}:{code.count(chr(10), 0, hit.start()) + 1}" for hit in hits)
    return found


def glossary_faults():
    """Lists faults of the glossary: too few or too many terms, rows that are long or out of order, terms that no other page and no code uses."""
    with open(GLOSSARY, encoding="utf-8") as file:
        rows = re.findall(r"^\| \*\*(.+?)\*\*[^|]*\| (.+?) \|$", file.read(), re.MULTILINE)
    terms = [term for term, _ in rows]
    found = [] if len(terms) in GLOSSARY_TERMS else [f"{len(terms)} terms {GLOSSARY}"]
    found += [f"{term} stands behind {before} {GLOSSARY}" for before, term in zip(terms, terms[1:]) if before.lower() >= term.lower()]
    found += [f"{term} takes {len(meaning.split())} words {GLOSSARY}" for term, meaning in rows if len(meaning.split()) > 35]
    for term in terms:
        # Of several words one letter may differ between them: `dead letter`, `dead-letter`, `dead_letter`, `DeadLetter`.
        pattern = "[ _-]?".join(re.escape(word) for word in re.split(r"[ _-]", term))
        used = subprocess.run(["git", "grep", "-qiE", pattern, "--", "shared/*.rs", "functions/*.rs", "docs/*.md", f":!{GLOSSARY}"])
        if used.returncode != 0:
            found.append(f"{term} is used nowhere {GLOSSARY}")
    return found


def first_sentence(comment):
    return re.split(r"(?<=[.!?:])\s", comment, maxsplit=1)[0]


def count(functions, types, comments, repeating, large, old, in_tests, glossary):
    short = [f"{name} {place}" for name, place in functions if len(name) <= 4]
    shared = [f"{name} {place}" for name, places in sorted(types.items()) if len(places) > 1 for place in places]
    vague = [f"{comment[:90]} {place}" for comment, place in comments if VAGUE.match(comment)]
    long = [f"{first_sentence(comment)[:110]} {place}" for comment, place in comments if len(first_sentence(comment).split()) > 20]
    numbers = [
        statistics.median(len(name) for name, _ in functions),
        100 * len(short) / len(functions),
        len(shared),
        100 * len(vague) / len(comments),
        len(long),
        len(repeating),
        len(large),
        len(old),
        len(in_tests),
        len(glossary),
    ]
    return dict(zip(LIMITS, numbers)), short + shared + vague + long + repeating + large + old + in_tests + glossary


def main():
    paths = shipped()
    numbers, found = count(*read(paths), repeating_docs(paths), long_functions(paths), old_words(paths), old_test_names(), glossary_faults())
    if "--list" in sys.argv[1:]:
        print("\n".join(found))
    failed = False
    for what, number in numbers.items():
        limit = LIMITS[what]
        bad = number < limit if what.startswith("median") else number > limit
        failed = failed or bad
        print(f"{what}: {number:.4g} (limit {limit}){' FAILED' if bad else ''}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
