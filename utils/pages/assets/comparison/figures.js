"use strict";
/* The overview: official figures of both runs and their difference, who is right where, groups, scores. */

Report.figures = (() => {
  const { el, svg, styled, whole, plural, wide, pairs } = Report;
  const figures = {};
  const GROUPS = { L1: "By platform", L2: "By platform and kind of element" };
  const APART =
    "Different: other options, texts or kinds of action, clicks farther apart than the size of the target, or another end of the episode.";

  figures.draw = (host) => {
    const { summary, match } = pairs;
    const isRanked = summary.rankings.length > 0;
    const beside = summary.summary.some((board) => board.rows.some((row) => row.is_published));
    host.replaceChildren(
      ...[
        isRanked ? Report.ranking.draw() : null,
        match ? sides(match) : null,
        ...(match?.sets ?? []).map(set),
        !isRanked && (beside || !match)
          ? panel(
              "Scores of all runs",
              "In %, with the 95 % interval below each figure where there is one.",
              tables(summary.summary),
            )
          : null,
        summary.by_rule.length
          ? panel(
              "The same answers under every rule",
              "In %. The answers of each run were judged by all rules.",
              summary.by_rule.map(ruleTable),
              meanings(match),
            )
          : null,
        summary.headrooms.map(headroom),
        match ? differs(match) : null,
        summary.boards.length
          ? el("details", { class: "sheet" }, el("summary", {}, el("h2", {}, "Score tables")), tables(summary.boards))
          : null,
        notes([...summary.notes, ...(match ? [summary.how] : [])]),
      ]
        .flat()
        .filter(Boolean),
    );
    Report.ranking.follow(host);
  };

  /** What the words for verdicts at the samples mean. */
  const meanings = (match) => {
    const words = match?.sets.find(({ rules }) => rules)?.rules;
    return words ? Report.rules.meanings(words.verdicts) : null;
  };

  const mark = (letter) => el("b", { class: `mark of-${letter.toLowerCase()}` }, letter);

  function sides(match) {
    return el(
      "ul",
      { class: "runs" },
      ["A", "B"].map((letter) => {
        const run = pairs.summary.runs.find(({ label }) => label === match[letter.toLowerCase()]);
        return el(
          "li",
          {},
          mark(letter),
          el("span", { class: "run-name" }, run.label),
          run.partial.length ? el("span", { class: "quiet" }, `‡ only a part of ${run.partial.join(", ")}`) : null,
          run.report ? el("a", { href: run.report }, "Report") : null,
          el(
            "span",
            { class: "quiet" },
            [run.model === run.label ? null : run.model, run.folder, run.date].filter(Boolean).join(" · "),
          ),
        );
      }),
    );
  }

  const panel = (title, note, ...children) =>
    el("section", { class: "sheet" }, el("h2", {}, title), note ? el("p", { class: "quiet" }, note) : null, children);

  function set(found) {
    const [main, ...others] = [...found.headline].reverse();
    const reach = reachOf(found.headline);
    const [common, ...notes] = found.notes;
    return el(
      "section",
      { class: "sheet set" },
      el(
        "h2",
        {},
        el("span", { class: "level" }, found.level),
        found.dataset === found.level ? " " : ` ${found.dataset} `,
        el("span", { class: "quiet" }, [common + (main ? below(main, found.unit) : ""), ...notes].join("; ")),
      ),
      found.doubts.map(doubt),
      main
        ? el(
            "div",
            { class: "first-row" },
            el(
              "div",
              { class: "forest" },
              [main, ...others.reverse()].map((each) => figure(each, reach, found, each === main)),
            ),
            outcomes(found),
          )
        : null,
      found.groups.length ? groups(found) : null,
    );
  }

  /** What an audit says against the score of a run. */
  function doubt([label, text]) {
    const { report } = pairs.summary.runs.find((run) => run.label === label);
    return el(
      "p",
      { class: "problems" },
      `${label}: ${text}`,
      report ? ["; see ", el("a", { href: report }, "its report")] : null,
    );
  }

  const below = (each, unit) => ` ${unit === "task" ? "of" : "on"} ${plural(each.images, unit)}`;

  const reachOf = (list) =>
    Math.max(
      5,
      Math.ceil(
        Math.max(...list.flatMap((each) => [each.low, each.high, each.points].map((value) => Math.abs(value ?? 0)))) /
          5,
      ) * 5,
    );

  /** One official figure: "+7.2 [2.3, 11.9]", drawn, with both accuracies and what it says. */
  function figure(each, reach, found, isMain) {
    const [points, bounds] = split(each.text);
    const count = plural(each.samples, pairs.noun(found));
    return el(
      "div",
      { class: isMain ? "official first" : "official" },
      el("p", { class: "o-name" }, el("a", { href: linkOf(found, each, {}) }, each.name)),
      el(
        "p",
        {
          class: "o-value",
          title: `${pairs.match.b} − ${pairs.match.a} = ${each.text}, ${count}${below(each, found.unit)}`,
        },
        points,
        bounds ? el("small", {}, ` ${bounds}`) : null,
      ),
      track(each, reach),
      el("p", { class: "from-to" }, mark("A"), ` ${each.a} → `, mark("B"), ` ${each.b}`),
      verdict(each, isMain, found.unit),
    );
  }

  /** A difference and its interval apart, with the minus of typographers. */
  const split = (text) => {
    const [, points, bounds] = /^(\S+) ?(.*)$/.exec(text.replaceAll("-", "−"));
    return [points, bounds];
  };

  function verdict(each, isMain, unit) {
    const letter = each.points > 0 ? "B" : "A";
    return el(
      "p",
      { class: "verdict-of" },
      each.is_clear
        ? el(
            "span",
            { class: `tag lead of-${letter.toLowerCase()}`, title: pairs.match[letter.toLowerCase()] },
            `${pairs.brief(letter)} is better`,
          )
        : isMain
          ? el("span", { class: "quiet" }, "no clear difference")
          : null,
      el(
        "span",
        { class: "quiet" },
        each.low === null ? (isMain ? `too few ${unit}s for an interval` : `too few ${unit}s`) : `p ${each.p}`,
      ),
    );
  }

  /** The difference as a mark and its interval as a bar about the line of no difference. */
  function track(each, reach) {
    const at = (value) => 50 + 50 * Math.max(-1, Math.min(1, value / reach));
    const line = (x, name, from, to) =>
      svg("line", { class: name, x1: x, x2: x, y1: from, y2: to, "vector-effect": "non-scaling-stroke" });
    const tone = !each.is_clear ? "" : each.points > 0 ? "of-b" : "of-a";
    return svg(
      "svg",
      { class: `line-of ${tone}`, viewBox: "0 0 100 14", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { class: "ground", x: 0, y: 6, width: 100, height: 2 }),
      line(50, "zero", 0, 14),
      each.low === null
        ? null
        : svg("rect", {
            class: "fill",
            x: at(each.low),
            y: 4,
            width: Math.max(0.4, at(each.high) - at(each.low)),
            height: 6,
          }),
      line(at(each.points), "whisker", 1, 13),
    );
  }

  figures.split = split;

  /** Who is right: counts as one bar, each a link to exactly its samples. */
  function outcomes(found) {
    const shown = pairs.summary.outcomes;
    return el(
      "div",
      { class: "who" },
      el(
        "div",
        { class: "stack", "aria-hidden": "true" },
        shown.map((name) =>
          styled(el("span", { class: `is-${pairs.slug(name)}` }), { "flex-grow": found.outcomes[name][0] }),
        ),
      ),
      el(
        "ul",
        {},
        shown.map((name) => {
          const [count, share] = found.outcomes[name];
          const body = [
            el("i", { class: `swatch is-${pairs.slug(name)}`, "aria-hidden": "true" }),
            el("span", {}, name),
            el("b", {}, whole(count)),
            el("span", { class: "quiet" }, `${share} %`),
          ];
          return el(
            "li",
            {},
            count
              ? el("a", { href: pairs.listLink({ dataset: found.dataset, outcome: pairs.slug(name) }) }, body)
              : el("span", {}, body),
          );
        }),
      ),
      el("p", { class: "quiet explained" }, APART),
    );
  }

  function linkOf(found, each, more) {
    return pairs.listLink({ dataset: found.dataset, ...(each.field ? { [each.field]: each.group } : {}), ...more });
  }

  /** A table with heads of its columns, which is scrolled where the window is too narrow. */
  const wideTable = (label, heads, lines) =>
    wide(
      label,
      el(
        "table",
        { class: "plain" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            heads.map((head) => el("th", { scope: "col" }, head)),
          ),
        ),
        el("tbody", {}, lines),
      ),
    );

  function groups(found) {
    const reach = reachOf(found.groups),
      clear = found.groups.filter((each) => each.is_clear);
    const tested = found.groups.filter(({ p }) => p !== "-").length;
    const heads = [
      "group",
      "B − A [95 %]",
      `−${reach} … 0 … +${reach}`,
      "A",
      "B",
      "n",
      `${found.unit}s`,
      "p (Holm)",
      "only A right",
      "only B right",
    ];
    const count = (each, outcome, value) =>
      el("td", {}, value ? el("a", { href: linkOf(found, each, { outcome }) }, whole(value)) : "0");
    return el(
      "details",
      { class: "groups", open: clear.length > 0 },
      el(
        "summary",
        {},
        el("b", {}, found.rules ? "By episode and other groups" : (GROUPS[found.level] ?? "By platform and category")),
        el(
          "span",
          { class: "quiet" },
          !tested
            ? ` too few ${found.unit}s`
            : clear.length
              ? ` ${clear.length} of ${tested} ${clear.length === 1 ? "differs" : "differ"} clearly`
              : ` none of ${tested} differs clearly`,
        ),
      ),
      el("p", { class: "quiet" }, "p is corrected for all tests of groups on this data set (Holm)."),
      wideTable(
        `Groups of ${found.dataset}`,
        heads,
        found.groups.map((each) => {
          const [points, bounds] = split(each.text);
          return el(
            "tr",
            { class: each.is_clear ? "clear" : null },
            el("th", { scope: "row" }, el("a", { href: linkOf(found, each, {}) }, each.name)),
            el(
              "td",
              { class: "both" },
              el("b", {}, points),
              el("span", { class: "quiet" }, bounds ? ` ${bounds}` : ` too few ${found.unit}s`),
            ),
            el("td", { class: "drawn" }, track(each, reach)),
            el("td", {}, each.a),
            el("td", {}, each.b),
            el("td", {}, whole(each.samples)),
            el("td", {}, whole(each.images)),
            el("td", {}, each.p),
            count(each, "only-a-right", each.only_a),
            count(each, "only-b-right", each.only_b),
          );
        }),
      ),
    );
  }

  const tables = (boards) =>
    el(
      "div",
      { class: "tables" },
      boards.map((board) => el("section", {}, el("h3", {}, board.title), table(board))),
    );

  function table(board) {
    return wide(
      board.title,
      el(
        "table",
        { class: "plain scores-of-runs" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", { scope: "col" }, "run"),
            board.columns.map((name) => el("th", { scope: "col" }, name)),
          ),
        ),
        el(
          "tbody",
          {},
          board.rows.map((row) =>
            el(
              "tr",
              { class: row.is_published ? "published" : null },
              el(
                "th",
                { scope: "row" },
                row.name,
                row.mark ? el("span", { class: "quiet", title: row.mark }, ` ${row.mark[0]}`) : null,
              ),
              row.cells.map(([value, bounds]) =>
                el("td", {}, el("b", {}, value), bounds ? el("span", { class: "quiet" }, bounds) : null),
              ),
            ),
          ),
        ),
      ),
    );
  }

  /** The figures of all runs by every rule, and below the rule's name what it asks for. */
  function ruleTable({ title, runs, figures: names, rows, notes: said }) {
    const letters = pairs.match ? [pairs.match.a, pairs.match.b] : [];
    const letter = (run) => ["A", "B"][letters.indexOf(run)];
    return el(
      "section",
      { class: "by-rule" },
      el("h3", {}, title),
      wide(
        `${title} under every rule`,
        el(
          "table",
          { class: "plain" },
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              el("td"),
              names.map((name) => el("th", { scope: "colgroup", colspan: runs.length }, name)),
            ),
            el(
              "tr",
              {},
              el("th", { scope: "col" }, "rule"),
              names.map(() =>
                runs.map((run) => el("th", { scope: "col", title: run }, letter(run) ? mark(letter(run)) : run)),
              ),
            ),
          ),
          el(
            "tbody",
            {},
            rows.map(({ rule, words, cells }) => [
              el(
                "tr",
                {},
                el("th", { scope: "row" }, rule),
                cells.map((values) => values.map((value) => el("td", {}, value))),
              ),
              el(
                "tr",
                { class: "words-of" },
                el("td", { colspan: 1 + names.length * runs.length }, el("p", { class: "quiet" }, words)),
              ),
            ]),
          ),
        ),
      ),
      said.map((line) => el("p", { class: "quiet" }, line)),
    );
  }

  /** What all strong runs get right and miss, and the rows on which they agree against the table. */
  function headroom(found) {
    const OF_RUNS = "right, in % of rows";
    const cells = ([name, ...values]) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, name),
        values.map((value) => el("td", {}, typeof value === "number" ? whole(value) : value)),
      );
    return panel(
      `Headroom of ${found.title}`,
      `${plural(found.rows, "row")} that ${plural(found.strong.length, "strong run")} answered. ${found.rule}`,
      wideTable("rows", ["rows", "count", "%", "95 %"], found.shares.map(cells)),
      wideTable(OF_RUNS, [OF_RUNS, "rows", "all", "95 %", "without doubtful", "95 %"], found.runs.map(cells)),
      found.doubtful.length
        ? el(
            "details",
            { class: "groups" },
            el("summary", {}, el("b", {}, "Doubtful rows"), el("span", { class: "quiet" }, " to look at")),
            el(
              "ul",
              {},
              found.doubtful.map((row) =>
                el(
                  "li",
                  {},
                  row.link ? el("a", { href: row.link }, row.text) : row.text,
                  el(
                    "span",
                    { class: "quiet" },
                    ` → ${row.answer} in ${row.seen_by.length} of ${found.strong.length}; ${row.image}`,
                  ),
                ),
              ),
            ),
          )
        : null,
    );
  }

  function differs(match) {
    if (!match.settings.length)
      return panel("Settings", null, el("p", { class: "quiet" }, "The configs of both runs have the same settings."));
    return panel(
      "Settings that differ",
      null,
      wide(
        "Settings that differ",
        el(
          "table",
          { class: "plain settings" },
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              el("th", { scope: "col" }, "setting"),
              el("th", { scope: "col" }, mark("A")),
              el("th", { scope: "col" }, mark("B")),
            ),
          ),
          el(
            "tbody",
            {},
            match.settings.map(([name, ...both]) =>
              el(
                "tr",
                {},
                el("th", { scope: "row" }, name),
                both.map((value) => el("td", {}, el("code", {}, value))),
              ),
            ),
          ),
        ),
      ),
    );
  }

  const notes = (list) =>
    list.length
      ? el(
          "section",
          { class: "notes" },
          el(
            "ul",
            {},
            list.map((note) => el("li", { class: "quiet" }, note)),
          ),
        )
      : null;

  figures.mark = mark;
  return figures;
})();
