"use strict";
/* The one table of many runs: a row each, sorted by score, with the difference from the first run. */

Report.ranking = (() => {
  const { el, plural, pairs, wide } = Report;
  const DENSE = 20; // rows: with more, all of fifty runs are to fit a screen
  const phone = matchMedia("(max-width: 720px)");
  let sortedBy = 0,
    wasChosen = false;

  /** The table of all runs and data sets. */
  function draw() {
    const rankings = pairs.summary.rankings;
    const runs = runsOf(rankings);
    const table = el(
      "table",
      { class: runs.length > DENSE ? "plain ranking dense" : "plain ranking" },
      head(rankings),
      el(
        "tbody",
        {},
        runs.map((run, place) => row(run, place, rankings)),
      ),
    );
    return el(
      "section",
      { class: "sheet" },
      el("h2", {}, `${plural(pairs.summary.runs.length, "run")}, the best first`),
      el(
        "p",
        { class: "quiet" },
        "Scores and differences from A in %, with 95 % intervals; p is corrected for all pairs of runs (Holm). A name leads to where that run and A differ.",
      ),
      wide("All runs", table),
      rankings.flatMap(({ title, notes }) => notes.map((note) => el("p", { class: "quiet" }, `${title}: ${note}`))),
    );
  }

  /** The names of all runs in the order of the data set that is sorted by. */
  const runsOf = (rankings) => {
    const order = [rankings[sortedBy], ...rankings].flatMap(({ rows }) => rows);
    const byName = new Map(order.toReversed().map((each) => [each.name, each]));
    return [...new Set(order.map(({ name }) => name))]
      .map((name) => byName.get(name))
      .sort((a, b) => a.is_published - b.is_published);
  };

  function head(rankings) {
    const sets = rankings.map((ranking, number) => {
      const name = `${phone.matches ? ranking.level : ranking.title}${number === sortedBy ? " ↓" : ""}`;
      const button = el("button", { type: "button", title: "Sort by this data set" }, name);
      button.addEventListener("click", () => {
        sortedBy = number;
        Report.figures.draw(document.getElementById("view-overview"));
      });
      const sort = number === sortedBy ? "descending" : null;
      return el("th", { scope: "colgroup", colSpan: columnsOf(ranking).length, "aria-sort": sort }, button);
    });
    const names = rankings.flatMap((ranking) =>
      columnsOf(ranking).map(([name], place) => el("th", { scope: "col", class: place ? null : "begins" }, name)),
    );
    return el("thead", {}, el("tr", {}, el("th", { scope: "col", rowSpan: 2 }, "run"), sets), el("tr", {}, names));
  }

  /** The columns of a data set: head, what it shows of a run, whether a phone has no room for it. */
  function columnsOf(ranking) {
    const quiet = (text) => el("span", { class: "quiet" }, text);
    const columns = [
      ...ranking.others.map((name, place) => [name, (run) => run.others[place], true]),
      [ranking.main, (run) => el("b", {}, run.value)],
      ["95 %", (run) => quiet(run.interval), true],
      ["− A", points],
      ["95 %", (run) => quiet(run.difference ? Report.figures.split(run.difference.text)[1] : ""), true],
      ["p", (run) => run.difference?.p ?? "", true],
    ];
    if (ranking.has_all_pairs)
      columns.push(["better / worse than", (run) => `${run.better_than} / ${run.worse_than}`, true]);
    return columns.filter(([, , isMore]) => !isMore || !phone.matches);
  }

  function points({ difference, is_baseline: isBaseline }) {
    if (!difference) return isBaseline ? "A" : "";
    const tone = !difference.is_clear ? "" : difference.points > 0 ? "of-b" : "of-a";
    return el("span", { class: `points ${tone}` }, Report.figures.split(difference.text)[0]);
  }

  function row(run, place, rankings) {
    const number = pairs.summary.matches.findIndex(({ b }) => b === run.name);
    const link = el("a", { href: `#/overview${number ? `?pair=${number + 1}` : ""}` }, run.name);
    link.addEventListener("click", () => {
      wasChosen = true;
    });
    const isChosen = pairs.match?.b === run.name;
    return el(
      "tr",
      { class: run.is_published ? "published" : isChosen ? "chosen" : null },
      el(
        "th",
        { scope: "row", title: run.name },
        el("span", { class: "quiet place" }, run.is_published ? "" : String(place + 1)),
        number < 0 ? run.name : link,
        run.mark ? el("span", { class: "quiet", title: run.mark }, ` ${run.mark[0]}`) : null,
      ),
      rankings.flatMap((ranking) => {
        const found = ranking.rows.find(({ name }) => name === run.name);
        return columnsOf(ranking).map(([, show], column) =>
          el("td", { class: column ? null : "begins" }, found ? show(found) : ""),
        );
      }),
    );
  }

  /** Shows the two runs that were just chosen in the table: they stand below it. */
  function follow(host) {
    if (wasChosen) host.querySelector(".runs")?.scrollIntoView();
    wasChosen = false;
  }

  phone.addEventListener("change", () => {
    if (pairs.summary?.rankings.length) Report.figures.draw(document.getElementById("view-overview"));
  });
  return { draw, follow };
})();
