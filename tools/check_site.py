"""Every link, picture and anchor inside a built site leads somewhere, and every page is reachable: python tools/check_site.py docs/_build/html

Addresses outside are listed, not opened (the build is offline).
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        found = dict(attrs)
        if name := found.get("id"):
            self.ids.add(name)
        for key in ("href", "src"):
            if target := found.get(key):
                self.links.append(target)


def main(root: Path) -> int:
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.html"))
        if "_static" not in path.parts
    }
    broken, outside = [], set()
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                outside.add(link)
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                broken.append(f"{path.relative_to(root)}: {link} is not there")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                broken.append(f"{path.relative_to(root)}: {link} has no such place")
    print(
        f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(outside)} addresses outside"
    )
    for line in broken:
        print(line)
    return 1 if broken or not pages else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
