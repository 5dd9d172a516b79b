"""Pages of reports taken apart for the tests, and checked for what holds for all of them."""
import html.parser
import pathlib
import re

from studies import figures, report

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(html.parser.HTMLParser):
    """A page taken apart; fails on tags that do not match."""

    def __init__(self, path):
        super().__init__()
        self.text = pathlib.Path(path).read_text(encoding="utf-8")
        self.open, self.ids, self.links, self.headings = [], [], [], []
        self.figures, self.tables, self.tags = [], [], []
        self.shown = []
        self.feed(self.text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        given_ = dict(attributes)
        self.tags.append((tag, given_))
        self.ids += [given_["id"]] if "id" in given_ else []
        self.links += [
            given_[name] for name in ("href", "src", "xlink:href", "srcset", "data", "action") if name in given_
        ]
        if tag == "figure":
            self.figures.append({"desc": "", "figcaption": "", "svg": {}})
        if tag == "table":
            self.tables.append({"caption": ""})
        if tag == "svg" and self.figures and "figure" in self.open:
            self.figures[-1]["svg"] = given_
        if re.fullmatch("h[1-6]", tag):
            self.headings.append([tag, ""])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> after <{self.open[-1:]}>, line {self.getpos()}"
        self.open.pop()

    def handle_data(self, data):
        self.shown.append(data)
        if self.open and self.open[-1] in ("desc", "figcaption") and self.figures:
            self.figures[-1][self.open[-1]] += data
        if self.open and self.open[-1] == "caption":
            self.tables[-1]["caption"] += data
        if self.open and re.fullmatch("h[1-6]", self.open[-1]):
            self.headings[-1][1] += data

    def titles(self):
        return [text for _, text in self.headings]


def make(folder, *results, files=False):
    """A page, taken apart, and checked for what holds for all of them."""
    out = folder / "report.html"
    assert report.main([*map(str, results), "-o", str(out), *([] if files else ["--no-files"])]) == 0
    found = Page(out)
    assert len(found.ids) == len(set(found.ids)), sorted(i for i in found.ids if found.ids.count(i) > 1)[:3]
    for link in found.links:
        if link.startswith("#"):
            assert link[1:] in found.ids, link
        elif not link.startswith("data:image/png;base64,"):  # a picture that stands in the page itself
            assert re.fullmatch(r"report_files/[\w-]+\.(csv|svg|png)", link), link
            assert (folder / link).is_file(), link
    assert not re.search(r"@import|@font-face|https?://|url\((?!#)",
                         re.sub(r"(?s)<(td|th|dd|pre|p|desc|title|h1)\b.*?</\1>", "", found.text))
    assert not [tag for tag, _ in found.tags if tag in ("link", "iframe", "object", "embed", "img", "base", "form")]
    for name in re.findall(r"url\(#([^)]+)\)", found.text):
        assert name in found.ids, name
    levels = [int(tag[1]) for tag, _ in found.headings]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b <= a + 1 for a, b in zip(levels, levels[1:]))
    for figure in found.figures:
        assert len(figure["desc"]) > 30 and len(figure["figcaption"].strip()) > 15, figure
        assert figure["svg"]["role"] == "img" and figure["svg"]["aria-labelledby"] in found.ids
    drawn = "".join(re.findall(r"(?s)<svg.*?</svg>", found.text))  # in colours that the page sets, for light and dark
    assert not re.search("(?i)" + "|".join([figures.INK, figures.GRID, *figures.LINES]), drawn)
    assert "currentColor" in drawn or not found.figures
    for table in found.tables:
        assert len(table["caption"]) > 5
    return found
