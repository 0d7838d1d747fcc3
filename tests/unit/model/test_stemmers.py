import subprocess
import sys

import pytest
import snowballstemmer

from lexigraph.model.stemmers import snowball

LOADED = """
import sys
from lexigraph.model.stemmers import snowball
print(snowball("countries", "english"), *sorted(name for name in sys.modules if name.endswith("_stemmer")))
"""


@pytest.mark.parametrize("algorithm", [name for name in snowballstemmer.algorithms() if "_" not in name])
@pytest.mark.parametrize("word", ["countries", "häuser", "nationalités", "книгами", "λόγους", "नदियाँ", "مدرستهم"])
def test_a_stem_is_that_of_the_package(word, algorithm):
    assert snowball(word, algorithm) == snowballstemmer.stemmer(algorithm).stemWord(word)


def test_only_the_language_asked_for_is_loaded():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=60)
    stem, *loaded = done.stdout.split()
    assert (stem, [name.rpartition(".")[2] for name in loaded]) == ("countri", ["english_stemmer"])
