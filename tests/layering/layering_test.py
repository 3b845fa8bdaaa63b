#!/usr/bin/env python3
"""The tree keeps the include rule, and the check finds every kind of planted violation."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def run_check(root):
    return subprocess.run([sys.executable, str(HERE / "check_layering.py"), str(root)], capture_output=True, text=True)


class Layering(unittest.TestCase):
    def planted(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return run_check(folder)

    def assert_found(self, files, what):
        result = self.planted(files)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(what, result.stdout)

    def test_this_tree_keeps_the_rule(self):
        result = run_check(ROOT)
        self.assertEqual(result.returncode, 0, "\n" + result.stdout)

    def test_a_clean_tree_passes(self):
        result = self.planted({"codec/a.h": "#include <cstdint>\n", "tools/b.cpp": '#include "codec/a.h"\n#include <fmt/core.h>\n'})
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_an_include_towards_the_right_is_found(self):
        self.assert_found({"codec/a.cpp": '#include "pipeline/batch.h"\n'}, "codec/a.cpp:1")
        self.assert_found({"pipeline/a.cpp": '#include "actors/x.h"\n'}, "must not include actors")
        self.assert_found({"preload/a.cpp": '#include "actors/x.h"\n'}, "must not include actors")
        self.assert_found({"actors/a.cpp": '#include "preload/x.h"\n'}, "must not include preload")
        self.assert_found({"tools/a.cpp": '#include "tests/x.h"\n'}, "must not include tests")

    def test_an_include_without_its_folder_is_found(self):
        self.assert_found({"codec/a.cpp": '#include "b.h"\n'}, "by their path from the root")

    def test_a_third_party_header_out_of_its_place_is_found(self):
        for name, header in [
            ("codec/a.h", "zstd.h"),
            ("pipeline/a.cpp", "zstd.h"),
            ("pipeline/batcher.h", "concurrentqueue/concurrentqueue.h"),
            ("pipeline/batcher.cpp", "boost/interprocess/mapped_region.hpp"),
            ("pipeline/process/target.cpp", "libelf.h"),
            ("pipeline/a.cpp", "caf/all.hpp"),
            ("actors/a.cpp", "fmt/core.h"),
            ("actors/a.cpp", "spdlog/spdlog.h"),
            ("codec/a.cpp", "nlohmann/json.hpp"),
            ("pipeline/a.cpp", "toml++/toml.h"),
            ("tools/a.cpp", "caf/all.hpp"),
            ("tools/a.cpp", "doctest/doctest.h"),
            ("actors/capture_pipeline.h", "caf/actor.hpp"),
        ]:
            with self.subTest(name=name, header=header):
                self.assert_found({name: f"#include <{header}>\n"}, f"{name}:1: <{header}>")

    def test_threads_clocks_and_logging_out_of_their_place_are_found(self):
        self.assert_found({"codec/a.cpp": "#include <chrono>\n"}, "<chrono>")
        self.assert_found({"pipeline/a.cpp": "#include <thread>\n"}, "<thread>")
        self.assert_found({"actors/a.cpp": "#include <iostream>\n"}, "<iostream>")

    def test_a_stage_that_includes_a_stage_is_found(self):
        self.assert_found({"pipeline/batcher.cpp": '#include "pipeline/poller.h"\n'}, "another stage")

    def test_a_cycle_is_found(self):
        self.assert_found({"codec/a.h": '#include "codec/b.h"\n', "codec/b.h": '#include "codec/a.h"\n'}, "include cycle")


if __name__ == "__main__":
    unittest.main()
