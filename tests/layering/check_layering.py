#!/usr/bin/env python3
"""Checks the include rule of docs/architecture.md over a source tree.

usage: check_layering.py ROOT

Prints one line a violation (file:line: what) and exits 1 if there is any.
"""

import pathlib
import re
import sys

# A folder may include itself and what stands here.
FOLDERS = {
    "codec": set(),
    "pipeline": {"codec"},
    "bpf": {"codec", "pipeline"},
    "preload": {"codec", "pipeline"},
    "actors": {"codec", "pipeline"},
    "tools": {"codec", "pipeline", "bpf", "preload", "actors"},
    "tests": {"codec", "pipeline", "bpf", "preload", "actors", "tools", "perf"},
    "perf": {"codec", "pipeline", "bpf", "preload", "actors", "tools", "tests"},
}

# Third-party headers and the only places (regular expressions over paths) that may name them.
QUARANTINE = [
    (r"zstd(_errors)?\.h|zdict\.h", r"codec/[^/]+\.cpp|tests/.*|perf/.*"),
    (r"xxhash\.h", r"codec/xxhash64\.cpp"),
    (r"concurrentqueue/.*|(blocking)?concurrentqueue\.h", r"pipeline/bounded_queue\.(h|cpp)|perf/.*"),
    (r"boost/interprocess/.*", r"pipeline/mapped_file\.cpp|preload/[^/]+\.cpp|tests/.*"),
    (r"(libelf|gelf|dwarf|elfutils/.*)(\.h)?", r"pipeline/process/elf_symbols\.cpp|tests/.*"),
    (r"bpf/(libbpf|bpf)\.h", r"bpf/[^/]+\.cpp|tests/.*"),
    (r"caf/.*", r"actors/[^/]+\.(h|cpp)|tests/actors/.*|perf/.*"),
    (r"(CLI|toml\+\+|spdlog|fmt|nlohmann|boost/asio)(/.*|\.hpp|\.h)", r"tools/.*|tests/.*|perf/.*"),
    (r"doctest/.*|msgpack.*", r"tests/.*"),
    (r"benchmark/.*", r"perf/.*"),
]

# Headers that break a folder's promise: no threads, no clock, no I/O, no logging where it says so.
FORBIDDEN = [
    (r"codec/.*", r"thread|mutex|condition_variable|future|chrono|ctime|time\.h|fstream|unistd\.h|fcntl\.h"),
    (r"pipeline/.*", r"thread|future|condition_variable|pthread\.h"),
    (r"(codec|pipeline|bpf|preload|actors)/.*", r"iostream|print|syslog\.h"),
    (r"actors/capture_pipeline\.h|actors/read_pipeline\.h", r"caf/.*"),
]

# A stage never includes another stage.
STAGES = {"poller", "batcher", "compressor", "artifact_writer", "splitter", "decoder", "reassembler"}

SUFFIXES = {".h", ".hpp", ".c", ".cpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(path):
    """Yields (line number, quoted?, name) of each include of a file."""
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1) == '"', match.group(2)


def folder_violation(name, target):
    folder = name.split("/")[0]
    other = target.split("/")[0]
    if "/" not in target:
        return f'"{target}": project headers are included by their path from the root'
    if other != folder and other not in FOLDERS[folder]:
        return f'"{target}": {folder} must not include {other}'
    return None


def stage_violation(name, target):
    if not (name.startswith("pipeline/") and target.startswith("pipeline/")):
        return None
    own, other = pathlib.PurePath(name).stem, pathlib.PurePath(target).stem
    if other in STAGES and own in STAGES and own != other:
        return f'"{target}": a stage must not include another stage'
    return None


def third_party_violation(name, target):
    for pattern, places in QUARANTINE:
        if re.fullmatch(pattern, target) and not re.fullmatch(places, name):
            return f"<{target}>: allowed only in {places}"
    for place, pattern in FORBIDDEN:
        if re.fullmatch(place, name) and re.fullmatch(pattern, target):
            return f"<{target}>: not in {place}"
    return None


def cycles(graph):
    """Yields one path for each cycle found by depth-first search."""
    state = {}

    def visit(node, trail):
        state[node] = "open"
        for target in graph.get(node, ()):
            if state.get(target) == "open":
                yield trail[trail.index(target):] + [target] if target in trail else [node, target]
            elif target not in state:
                yield from visit(target, trail + [target])
        state[node] = "done"

    for node in sorted(graph):
        if node not in state:
            yield from visit(node, [node])


def check(root):
    violations, graph = [], {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            name = path.relative_to(root).as_posix()
            for number, quoted, target in includes(path):
                if quoted:
                    graph.setdefault(name, []).append(target)
                    problems = [folder_violation(name, target), stage_violation(name, target)]
                else:
                    problems = [third_party_violation(name, target)]
                violations += [f"{name}:{number}: {problem}" for problem in problems if problem]
    violations += ["include cycle: " + " -> ".join(trail) for trail in cycles(graph)]
    return violations


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    violations = check(pathlib.Path(sys.argv[1]))
    for line in violations:
        print(line)
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
