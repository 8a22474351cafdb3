"""Files with a token a line, the sentences of Universal Dependencies, and the experiment on them."""

from __future__ import annotations

import gzip

import pytest

from suffice.files import DataError, read_tokens

CONLLU = """# sent_id = 1
# text = It's good
1-2\tIt's\t_\t_\t_\t_\t_\t_\t_\t_
1\tIt\tit\tPRON\tPRP\t_\t3\tnsubj\t_\t_
2\t's\tbe\tAUX\tVBZ\t_\t3\tcop\t_\t_
2.1\tvery\tvery\tADV\tRB\t_\t_\t_\t_\t_
3\tgood\tgood\tADJ\tJJ\t_\t0\troot\t_\t_

1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_
"""


def test_conllu_without_ranges_and_empty_nodes(tmp_path):
    file = tmp_path / "x.conllu"
    file.write_text(CONLLU)
    assert read_tokens(file) == ([["It", "'s", "good"], ["Yes"]], [["PRON", "AUX", "ADJ"], ["INTJ"]])
    assert read_tokens(file, tag=4)[1] == [["PRP", "VBZ", "JJ"], ["UH"]]


def test_blanks_tabs_compression_missing_tags_and_one_column(tmp_path):
    file = tmp_path / "x.txt.gz"
    with gzip.open(file, "wt") as out:
        out.write("\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP ?\n\n\n# NN O O\n#\tNN\tO\tO\n")
    words, tags = read_tokens(file, tag=-1)
    assert words == [["EU", "rejects"], ["#"]]
    assert tags == [["B-ORG", None], ["O"]]
    plain = tmp_path / "words.txt"
    plain.write_text("one\ntwo\n\nthree\n")
    assert read_tokens(plain) == ([["one", "two"], ["three"]], [[None, None], [None]])


def test_errors_say_where(tmp_path):
    file = tmp_path / "x.tsv"
    file.write_text("a\tA\nb\n")
    with pytest.raises(DataError, match="line 2: no column 1 for the tag"):
        read_tokens(file, tag=1)
    file.write_text("\n\n")
    with pytest.raises(DataError, match="has no tokens"):
        read_tokens(file)
    file.write_bytes(b"caf\xe9\tN\n")
    with pytest.raises(DataError, match="latin-1"):
        read_tokens(file)


def test_english_web_treebank_has_its_published_sizes(data_folder):
    from suffice.datasets import load

    data = load("ud-english-ewt")
    assert [len(part[0]) for part in (data.train, data.dev, data.test)] == [12544, 2001, 2077]
    assert [sum(map(len, part[1])) for part in (data.train, data.dev, data.test)] == [204577, 25147, 25094]
    assert len({tag for own in data.train[1] for tag in own}) == 17


def test_taggers_beat_counting_on_part_of_it(data_folder):
    """On the first 500 sentences: counting, then the three losses; the discriminative ones are better on new sentences."""
    from suffice.experiments import EXPERIMENTS, Options

    report = EXPERIMENTS["hmm-taggers"].run(Options(quick=True, say=lambda line: None))
    found = {row.name: row.ours for row in report.rows}
    assert found["ncll, accuracy"] > found["counting, accuracy"] + 0.01
    assert found["hinge, accuracy"] > found["counting, accuracy"] + 0.005
    assert found["ncll, log-loss"] < found["nll, log-loss"]
