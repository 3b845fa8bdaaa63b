#!/usr/bin/env python3
"""Checks that every message which README.md's troubleshooting table quotes is what the program says.

The first cell of a row quotes one or more messages in backticks; an ellipsis or a word in capitals stands for anything.
What is left of a quotation must occur in the string literals of the sources, adjacent literals joined and format
fields taken for anything, in one literal.
"""
import pathlib
import re
import sys

FOLDERS = ("codec", "pipeline", "preload", "actors", "bpf", "tools")
HEADING = "## Troubleshooting"
LITERAL = r'"((?:[^"\\\n]|\\.)*)"'


def literals(root):
    """All string literals; those that follow each other, or are glued by a format field, are one."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.cpp")):
            text = path.read_text()
            for run in re.finditer(LITERAL + r"(?:\s*" + LITERAL + ")*", text):
                joined = "".join(re.findall(LITERAL, run.group(0)))
                yield joined.replace('\\"', '"')


def quotations(readme):
    table = readme.split(HEADING, 1)[1].split("\n## ", 1)[0]
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    for row in rows:
        quoted = re.findall(r"`([^`]+)`", row.split("|")[1])
        if not quoted:
            yield row, None
        for quote in quoted:
            yield row, quote


def is_said(quote, said):
    parts = [part.strip() for part in re.split(r"\.\.\.|\b[A-Z]+\b", quote)]
    return all(any(part in literal for literal in said) for part in parts if part)


def problems(root):
    readme = (root / "README.md").read_text()
    if HEADING not in readme:
        return ["README.md has no section " + HEADING]
    said = list(literals(root))
    found = []
    for row, quote in quotations(readme):
        if quote is None:
            found.append("README.md: this row quotes no message: " + row)
        elif not is_said(quote, said):
            found.append("README.md: no source says: " + quote)
    return found


if __name__ == "__main__":
    wrong = problems(pathlib.Path(sys.argv[1]))
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)
