"""The page of what is supported says what the tests prove."""

import pathlib
import subprocess
import sys


def test_it_is_made_from_the_tests():
    script = pathlib.Path(__file__).with_name("supported.py")
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
