"""The check of README.md's messages passes on the tree, and finds what it is for in trees that are wrong."""
import pathlib
import sys
import tempfile
import unittest

from check_messages import problems

TREE = pathlib.Path(sys.argv.pop())

README = """# x
## Troubleshooting

| message says | what |
|---|---|
{row}

## Next
| `not looked at` | |
"""


def tree_with(row, code):
    root = pathlib.Path(tempfile.mkdtemp())
    (root / "tools").mkdir()
    (root / "tools" / "a.cpp").write_text(code)
    (root / "README.md").write_text(README.format(row=row))
    return problems(root)


class MessagesTest(unittest.TestCase):
    def test_the_readme_quotes_what_the_program_says(self):
        self.assertEqual(problems(TREE), [])

    def test_a_message_may_be_split_over_literals_and_hold_values(self):
        code = 'say(fmt::format("the disk is {} full, "\n    "make room", share));'
        self.assertEqual(tree_with("| `... full, make room` | x |", code), [])
        self.assertEqual(tree_with("| `the disk is N full` | x |", 'say("the disk is " + n + " full");'), [])

    def test_a_message_that_nobody_says_is_found(self):
        self.assertIn("no source says", tree_with("| `the disk was full` | x |", 'say("the disk is full");')[0])

    def test_a_row_without_a_quotation_is_found(self):
        self.assertIn("quotes no message", tree_with("| the disk is full | x |", 'say("the disk is full");')[0])


if __name__ == "__main__":
    unittest.main()
