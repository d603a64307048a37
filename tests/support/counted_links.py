"""Numbers of a page's first screen that lead to a list of samples, and how long that list is."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.browser import Tab

COUNTED_LINKS = """() => {
  for (const each of document.querySelectorAll('#view-overview details')) each.open = true;
  return [...document.querySelectorAll('#view-overview a[href^="#/samples"]')].map((link) => {
    const host = link.closest('.figure, .scores td, .chart tr');
    const text = host ? host.title || host.textContent.match(/n = [\\d,]+/)[0]
      : link.closest('.run-facts') ? (link.textContent.match(/[\\d,]+ samples retried/) ?? [link.textContent])[0]
      : link.textContent;
    const kind = ['run-facts', 'problems', 'outcome', 'figure', 'scores', 'chart', 'finding', 'plain', 'strip', 'check']
      .find((name) => link.closest('.' + name));
    return [kind, link.getAttribute('href'), (text.match(/\\d[\\d,]*/) ?? ['0'])[0].replaceAll(',', ''), text];
  });
}"""
ROWS = "(t) => Report.store.select(Report.store.filterOf(t)).then((f) => f.rows.length)"


@dataclass(frozen=True)
class CountedLink:
    """A link of the overview."""

    kind: str  # of the part of the page that it stands in
    href: str
    count: int  # that the page says
    text: str
    samples: int  # in the list that it leads to

    @property
    def is_wrong(self) -> bool:
        """Whether the list has another length than the page says."""
        return not self.text.startswith("Show") and self.count != self.samples


def counted_links(tab: Tab) -> list[CountedLink]:
    """All of the overview that a tab shows; each list is made once."""
    rows = tab.run(COUNTED_LINKS)
    addresses = {href for _, href, *_ in rows}
    samples = {href: tab.run(ROWS, href.partition("?")[2]) for href in addresses}
    return [CountedLink(kind, href, int(n), text, samples[href]) for kind, href, n, text in rows]


COUNTS_OF_COMPARISON = """() => {
  for (const each of document.querySelectorAll('details')) each.open = true;
  const links = [...document.querySelectorAll('.who a, .groups td a')];
  return [
    ...links.map((link) => [link.getAttribute('href'), (link.querySelector('b') ?? link).textContent]),
    ...[...document.querySelectorAll('.groups tbody tr')].map((row) =>
      [row.querySelector('th a').getAttribute('href'), row.cells[5].textContent]),
  ];
}"""


def counts_of_comparison(tab: Tab) -> list[CountedLink]:
    """All of who is right and of the groups, on the overview of a comparison that a tab shows."""
    links = []
    for href, text in tab.run(COUNTS_OF_COMPARISON):
        tab.go(href)
        samples = int(tab.page.get_attribute(".pair", "aria-setsize"))
        links.append(CountedLink("count", href, int(text), text, samples))
    return links
