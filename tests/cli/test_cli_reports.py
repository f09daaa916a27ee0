"""The reports of `diff`: well-formed, and the page works in a real browser without a network."""

import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

CHROMIUM = shutil.which("chromium")

HOSTILE = """
import sys
import torch

torch.manual_seed(0)
model = torch.nn.Sequential()
model.add_module("</script><script>document{title='taken'}//", torch.nn.Linear(8, 8))
model.add_module("<img src=x onerror=document[`title`]='taken'>", torch.nn.Tanh())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(4, 8)
for step in range(int(sys.argv[2])):
    optimizer.zero_grad()
    (model(x) * float(sys.argv[1])).square().mean().backward()
    optimizer.step()
"""


def render(ulpscope, folder, format, a="a.ulps", b="other.ulps", **options):
    return ulpscope("diff", a, b, f"--format={format}", cwd=folder, **options)


def dom(page: pathlib.Path, fragment="") -> str:
    """What the browser made of a page once its script has run."""
    assert CHROMIUM, "chromium is not there; run scripts/setup --tests"
    done = subprocess.run(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,900",
         "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={page.parent / 'profile'}",
         "--virtual-time-budget=5000", "--dump-dom", f"{page.as_uri()}{fragment}"],
        capture_output=True, text=True, timeout=180,
    )  # fmt: skip
    assert "<html" in done.stdout, done.stderr
    return done.stdout


def rows(document: str) -> list[int]:
    return [int(pair) for pair in re.findall(r'data-pair="(\d+)"', document)]


@pytest.fixture(scope="module")
def hostile(ulpscope, tmp_path_factory):
    """Traces whose modules are named like markup, long enough to need scrolling, and their page."""
    folder = tmp_path_factory.mktemp("<b>hostile")
    (folder / "train.py").write_text(HOSTILE)
    for name, scale in ("a", "1.0"), ("b", "1.5"):
        done = ulpscope("record", "-o", f"{name}.ulps", "--", sys.executable, "train.py", scale, 60, cwd=folder)
        assert done.returncode == 0, done.stderr
    page = folder / "report.html"
    done = render(ulpscope, folder, "html", b="b.ulps")
    assert done.returncode in (1, 3), done.stderr
    page.write_text(done.stdout)
    return page


def test_the_page_shows_the_answer_in_a_browser(hostile):
    document = dom(hostile)
    answer = re.search(r"<title>(.*?)</title>", document).group(1)
    assert answer.startswith("First ") and "aten::mul" in answer
    heading = re.search(r"<h1>(.*?)</h1>", document, re.S).group(1)
    assert re.sub("<[^>]*>", "", heading) == answer
    assert 'class="growth"' in document
    assert rows(document)[0] == 0


def test_names_from_the_program_are_never_markup(hostile):
    document = dom(hostile)
    assert "<title>taken</title>" not in document
    assert "<img" not in document
    text = html.unescape(document)
    assert "</script><script>document{title='taken'}//" in text


def test_the_list_is_drawn_row_by_row_and_follows_links(hostile):
    count = json.loads(pair_data(hostile.read_text()))["count"]
    assert count > 1000
    document = dom(hostile, f"#row={count - 1}")
    drawn = rows(document)
    assert drawn[-1] == count - 1 and len(drawn) < 60
    assert 'class="row chosen"' in document


def test_search_filters_the_list(hostile):
    data = json.loads(pair_data(hostile.read_text()))
    document = dom(hostile, "#q=tanh&differing")
    expected = [
        i for i in range(data["count"])
        if any("tanh" in data["strings"][side["op"][i]] for side in (data["a"], data["b"]))
        and data["labels"][int(data["label"][i])] != "identical"
    ]  # fmt: skip
    assert expected
    assert rows(document) == expected[: len(rows(document))]
    assert f"{len(expected)} of {data['count']:,}" in document


def pair_data(page: str) -> str:
    return re.search(r'id="pairs">(.*?)</script>', page, re.S).group(1)


def test_junit_is_xml_that_counts(ulpscope, traces):
    for b, failed in ("other.ulps", 1), ("same.ulps", 0):
        suite = ElementTree.fromstring(render(ulpscope, traces, "junit", b=b).stdout).find("testsuite")
        cases = suite.findall("testcase")
        assert int(suite.get("tests")) == len(cases) >= 1
        assert int(suite.get("failures")) == len(suite.findall("testcase/failure"))
        assert (int(suite.get("failures")) > 0) == bool(failed)


def test_annotations_point_into_the_checkout(ulpscope, traces):
    done = render(ulpscope, traces, "github", env={"GITHUB_WORKSPACE": str(traces)})
    lines = (traces / "train.py").read_text().splitlines()
    (line,) = (number for number, text in enumerate(lines, 1) if "* scale" in text)
    assert done.stdout.startswith(
        f"::error file=train.py,line={line},title=ulpscope%3A aten%3A%3Amul::First "
    )
    elsewhere = render(ulpscope, traces, "github", env={"GITHUB_WORKSPACE": "/nowhere"})
    assert elsewhere.stdout.startswith("::error title=")


def test_sarif_and_markdown(ulpscope, traces):
    sarif = json.loads(render(ulpscope, traces, "sarif", env={"GITHUB_WORKSPACE": str(traces)}).stdout)
    location = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "train.py"
    markdown = render(ulpscope, traces, "markdown").stdout
    assert "`aten::mul`" in markdown.splitlines()[0]


def test_every_format_gives_the_same_status(ulpscope, traces):
    for format in "html", "markdown", "junit", "github", "sarif":
        for b in "same.ulps", "other.ulps", "extra.ulps":
            status = render(ulpscope, traces, "text", b=b).returncode
            assert render(ulpscope, traces, format, b=b).returncode == status, (format, b)
