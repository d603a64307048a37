"use strict";
/* The first screen and what is below it. Texts, figures and links come ready from Python; nothing is rounded here. */

Report.overview = (() => {
  const { byId, el, svg, styled, whole, wide, plural, store, VERDICTS, told } = Report;
  let isWithPublished = null; // whether published results are shown; null: as the data have it

  const link = (filter, ...children) =>
    filter ? el("a", { href: store.listLink(filter) }, ...children) : el("span", {}, ...children);
  const nothing = () => document.createDocumentFragment();

  function draw(host) {
    const { summary } = store;
    host.replaceChildren(
      el(
        "div",
        { class: "first-screen" },
        facts(summary),
        problems(summary),
        summary.datasets.map(strip),
        checks(summary),
      ),
      ...summary.datasets.filter((data) => !data.no_score).map(inDetail),
      ...summary.servers.map((section) =>
        el("section", { class: "data-set audit servers" }, el("h2", {}, section.title), tables(section)),
      ),
      provenance(summary.manifest),
    );
  }

  function facts({ facts: known }) {
    return el(
      "dl",
      { class: "run-facts" },
      known.map(({ name, text, whole: all, link: filter }) =>
        el(
          "div",
          {},
          el("dt", {}, name, all === text ? null : [" · ", leadTo("provenance", "all of it")]),
          el("dd", { title: all }, link(filter, text)),
        ),
      ),
    );
  }

  /* -- what went wrong -- */

  function problems(summary) {
    const notFound = "missing or unreadable when this report was built";
    const missing = summary.pictures.filter((picture) => !picture.view).length;
    const lines = [
      ...summary.stopped,
      ...summary.lost_servers,
      ...summary.datasets.flatMap((data) => data.notices.map((line) => `${data.level}: ${line}`)),
    ];
    const parts = summary.datasets.filter((data) => data.partial).map((data) => data.level);
    if (parts.length) lines.push(`${parts.join(", ")}: a partial run; its scores cover only some of the samples`);
    if (missing) {
      lines.push(
        missing === summary.pictures.length
          ? `The images were ${notFound}: targets and clicks are drawn on empty frames`
          : `${plural(missing, "image")} of ${whole(summary.pictures.length)} ${notFound}`,
      );
    }
    if (!summary.samples) lines.push("No sample has been scored yet");
    const found = summary.datasets.flatMap((data) => data.problems);
    const doubts = summary.checks.flatMap(alarms);
    if (!lines.length && !found.length && !doubts.length) return nothing();
    return el(
      "section",
      { class: "problems", "aria-label": "What went wrong" },
      el(
        "ul",
        {},
        doubts,
        found.map((problem) =>
          el(
            "li",
            {},
            el(
              "p",
              {},
              el("b", { class: "level" }, problem.level),
              " ",
              link(problem.link, problem.count),
              ` ${problem.text}`,
            ),
            problem.examples.length ? el("p", { class: "examples" }, problem.examples.map(example)) : null,
          ),
        ),
        lines.map((line) => el("li", {}, el("p", {}, line))),
      ),
    );
  }

  /** What makes a score doubtful, in the words of the console's warnings, each with a link to its check. */
  const warningsOf = ({ findings }) => findings.filter((finding) => finding.is_warning);
  const placeOf = ({ level, title }) => `check-${level}-${title.replaceAll(" ", "-")}`;
  const alarms = (check) =>
    warningsOf(check).map(({ text }) =>
      el(
        "li",
        { class: "alarm" },
        el(
          "p",
          {},
          el("b", { class: "level" }, check.level),
          " ",
          leadTo(placeOf(check), check.title),
          ": ",
          withCode(text),
        ),
      ),
    );

  /** A link to another part of this screen, which it opens. */
  const leadTo = (id, text) =>
    el(
      "a",
      {
        href: "#/overview",
        onclick: (event) => {
          event.preventDefault();
          const host = byId(id);
          for (const each of [host, ...host.querySelectorAll("details")])
            if (each.localName === "details") each.open = true;
          (host.querySelector(":scope > summary") ?? host).focus();
        },
      },
      text,
    );

  /** The mark at a level's main figure that a warning makes doubtful. */
  function doubt(level) {
    const all = store.summary.checks
      .filter((check) => check.level === level)
      .flatMap(warningsOf)
      .map(({ text }) => text);
    return all.length
      ? el(
          "span",
          { class: "doubt", role: "img", title: all.join("\n"), "aria-label": `Doubtful: ${all.join(" ")}` },
          "!",
        )
      : null;
  }

  const example = ({ text, row }) =>
    el("a", { href: store.sampleLink(row, {}), title: text }, `${store.number(row)} `, el("q", {}, text));

  /* -- scores -- */

  /** What samples are of: "54 samples on 18 images", "20 episodes of 10 tasks". */
  const below = ({ pictures, unit }) => `${unit === "task" ? "of" : "on"} ${plural(pictures, unit)}`;
  const samples = ({ samples: count, unit }) => plural(count, unit === "task" ? "episode" : store.noun);
  /** The samples of a data set, as a link to their list; where they have several answers each, that lists answers. */
  const counts = (data) => {
    const all = (text) => link({ dataset: data.name }, text);
    return store.hasRepeats(data)
      ? [`${plural(data.questions, "sample")} ${below(data)}, `, all(plural(data.samples, "answer"))]
      : [all(plural(data.samples, data.unit === "task" ? "episode" : "sample")), ` ${below(data)}`];
  };

  /** An element's id; an id with a space would name two. */
  const idOf = (part, { name }) => `${part}-${encodeURIComponent(name)}`;

  function strip(data) {
    return el(
      "section",
      { class: "strip", "aria-labelledby": idOf("head", data), "data-level": data.level },
      el(
        "div",
        { class: "about" },
        el(
          "h2",
          { id: idOf("head", data) },
          el("span", { class: "level" }, data.level),
          data.name === data.level ? null : ` ${data.name}`,
          data.partial ? el("span", { class: "tag" }, "partial") : null,
          data.protocol ? el("span", { class: "tag" }, data.protocol) : null,
        ),
        el("p", { class: "quiet" }, counts(data)),
        outcomes(data),
      ),
      el(
        "div",
        { class: "scores-of" },
        data.no_score ? noScore(data.no_score) : official(data),
        data.no_score
          ? null
          : el(
              "div",
              { class: "below" },
              second(data.judged),
              second(data.all_orders),
              second(data.without_doubtful),
              legend(data),
              beside(data.beside),
              published(data),
            ),
      ),
    );
  }

  /** What became of the samples, as one bar and as links to them. */
  function outcomes(data) {
    const tone = (name) => `is-${name.replaceAll(" ", "-")}`;
    return el(
      "div",
      { class: "outcome" },
      el(
        "div",
        { class: "stack", "aria-hidden": "true" },
        data.outcomes.map(({ name, count }) => styled(el("span", { class: tone(name) }), { "flex-grow": count })),
      ),
      el(
        "ul",
        {},
        data.outcomes.map(({ name, count, share, link: filter }) =>
          el(
            "li",
            { class: tone(name), title: `${share} %` },
            link(
              filter,
              el("span", { class: "sign", "aria-hidden": "true" }, VERDICTS[name][0]),
              `${whole(count)} ${told(name, data.unit === "task")}`,
            ),
          ),
        ),
        data.declined
          ? el(
              "li",
              { title: "The reply says that there is no such element: a hit if this is true, else a miss" },
              "of these, ",
              link(data.declined.link, `${whole(data.declined.count)} declined`),
            )
          : null,
      ),
    );
  }

  function noScore({ text, note, link: filter, examples }) {
    return el(
      "div",
      { class: "no-score" },
      el("p", { class: "value" }, link(filter, text)),
      el("p", { class: "quiet" }, note),
      examples.length ? el("p", { class: "examples" }, examples.map(example)) : null,
    );
  }

  function official(data) {
    if (!data.figures.length)
      return el("p", { class: "quiet" }, "The analysis of this data set is missing; score it again.");
    return el(
      "div",
      { class: "official" },
      data.figures.map((figure) =>
        el(
          "div",
          { class: figure.is_main ? "figure main" : "figure" },
          el("p", { class: "name" }, figure.name),
          el(
            "p",
            { class: "value" },
            link(figure.link, figure.text),
            el("small", {}, " %"),
            figure.is_main ? doubt(data.level) : null,
          ),
          track(figure, data.published?.figures[figure.name]),
          el(
            "p",
            { class: "quiet range" },
            figure.range ? `[${figure.range}]` : `no interval: fewer than 10 ${data.unit}s`,
          ),
          el(
            "p",
            { class: "quiet" },
            link(figure.link, `n = ${whole(figure.samples)}`),
            figure.chance_text
              ? el("span", { title: `chance: ${data.chance}` }, ` · chance ${figure.chance_text} %`)
              : null,
          ),
        ),
      ),
    );
  }

  /** A figure beside the official one: with a judge, of circular evaluation, or without doubtful rows. */
  const second = (cell) =>
    cell
      ? el(
          "p",
          { class: "judged" },
          `${cell.name}: `,
          el("b", {}, `${cell.text} %`),
          cell.range ? ` [${cell.range}]` : null,
          el("span", { class: "quiet" }, " · in addition to the official figure"),
        )
      : nothing();

  function legend({ figures, chance, unit, terms, published: others }) {
    const parts = [...terms];
    if (chance) parts.unshift(`dotted line: chance, ${chance}`);
    if (figures.some(({ range }) => range)) parts.unshift(`in brackets: 95 % interval, by ${unit}`);
    return figures.length && (parts.length || others)
      ? el(
          "ul",
          { class: "legend-of-scores quiet" },
          parts.map((part) => el("li", {}, part)),
          others ? el("li", { class: "of-ticks" }, "brown lines: published results of other models") : null,
        )
      : nothing();
  }

  const UNBENT = { "vector-effect": "non-scaling-stroke" };

  /** A bar with the interval, chance and published results on 0 to 100; the figures beside it say the same in text. */
  function track(cell, others) {
    const parts = [svg("rect", { class: "ground", x: 0, y: 4, width: 100, height: 6 })];
    if (cell.value !== null) parts.push(svg("rect", { class: "fill", x: 0, y: 4, width: cell.value, height: 6 }));
    for (const { model, value, text } of others ?? []) {
      parts.push(
        svg(
          "path",
          { class: "published-tick", d: `M${value} 4V14`, ...UNBENT },
          svg("title", {}, `${model}, published: ${text}`),
        ),
      );
    }
    if (cell.chance !== null && cell.chance !== undefined)
      parts.push(svg("path", { class: "chance-tick", d: `M${cell.chance} 0V10`, ...UNBENT }));
    if (cell.low !== null && cell.low !== undefined) {
      parts.push(
        svg("path", {
          class: "whisker",
          d: `M${cell.low} 7H${cell.high}M${cell.low} 4V10M${cell.high} 4V10`,
          ...UNBENT,
        }),
      );
    }
    return svg(
      "svg",
      { class: "track", viewBox: "0 0 100 14", preserveAspectRatio: "none", "aria-hidden": "true" },
      parts,
    );
  }

  /** Published figures of the checkpoint that was run, and on demand those of its family. */
  function beside(section) {
    if (!section) return nothing();
    const { checkpoint, protocol, rows, family } = section;
    const how = protocol === "single" ? "" : `, ${protocol}`;
    const own = section.own_settings.length
      ? `Your config overrides the recipe: ${section.own_settings.join(", ")}.`
      : "";
    const apart = section.spread ? `The published figures differ by up to ${section.spread} points.` : "";
    return el(
      "div",
      { class: "beside" },
      rows.length
        ? el(
            "table",
            {},
            el("caption", {}, `Published for ${checkpoint}${how}`),
            el(
              "tbody",
              {},
              rows.map((row) =>
                el(
                  "tr",
                  {},
                  el("td", {}, row.text),
                  el("th", { scope: "row" }, row.source),
                  el("td", { class: "quiet" }, row.distance),
                ),
              ),
            ),
          )
        : null,
      el("p", { class: "quiet" }, [apart, own].filter(Boolean).join(" ")),
      family.length
        ? el(
            "details",
            {},
            el("summary", {}, `Published for ${rows.length ? "others of its family" : "its family"}${how}, as context`),
            el(
              "ul",
              {},
              family.map((row) =>
                el(
                  "li",
                  {},
                  `${row.text} ${row.model} · ${row.source} · ${row.average}${row.note ? ` · ${row.note}` : ""}`,
                ),
              ),
            ),
          )
        : null,
    );
  }

  /** The switch for results of other models, and where it is on their list beside this run. */
  function published(data) {
    const found = data.published;
    if (!found) return nothing();
    const own = new Map(data.figures.map((figure) => [figure.name, figure]));
    const box = el("input", {
      type: "checkbox",
      onchange: () => {
        isWithPublished = box.checked;
        show();
      },
    });
    const ranks = el(
      "div",
      { class: "ranks" },
      Object.entries(found.figures).map(([name, rows]) => {
        const mine = own.get(name);
        const listed = [...rows, { model: "this run", value: mine.value, text: mine.text, isMine: true }].sort(
          (a, b) => b.value - a.value,
        );
        return el(
          "table",
          {},
          el("caption", {}, name),
          el(
            "tbody",
            {},
            listed.map(({ model, text, isMine, remark }) =>
              el(
                "tr",
                { class: isMine ? "mine" : null },
                el(
                  "th",
                  { scope: "row" },
                  model,
                  isMine ? null : remark ? " ‖" : " †",
                  remark ? el("span", { class: "quiet remark" }, ` ${remark}`) : null,
                ),
                el("td", {}, text),
              ),
            ),
          ),
        );
      }),
      found.sources.map((source) => el("p", { class: "quiet" }, `† published, from: ${source}`)),
    );
    const host = el(
      "div",
      { class: "published" },
      el(
        "label",
        { class: "published-switch" },
        box,
        found.is_comparable
          ? " Published results of other models"
          : " Published results as context: they are for other data, so they cannot be compared",
      ),
      ranks,
    );
    const show = () => {
      for (const section of document.querySelectorAll("#view-overview .strip")) {
        const switched = /** @type {HTMLInputElement} */ (section.querySelector(".published-switch input"));
        if (!switched) continue;
        switched.checked = Boolean(isWithPublished);
        section.querySelector(".ranks").toggleAttribute("hidden", !isWithPublished);
        section.classList.toggle("with-published", Boolean(isWithPublished));
      }
    };
    ranks.hidden = true;
    if (found.is_comparable) host.classList.add("comparable");
    return host;
  }

  /* -- checks -- */

  function checks({ checks: all }) {
    if (!all.length) return nothing();
    const odd = all.filter((check) => check.findings.length),
      clear = all.filter((check) => !check.findings.length && !check.is_undecided),
      undecided = all.filter((check) => !check.findings.length && check.is_undecided);
    const judged = all.length - undecided.length;
    const counts = [odd.length ? `${clear.length} clear, ${odd.length} found something` : "all clear"];
    if (undecided.length) counts.push(`${undecided.length} not judged`);
    const verdict = judged
      ? `${plural(judged, "check")}, ${counts.join(", ")}`
      : `${plural(undecided.length, "check")} not judged`;
    return el(
      "section",
      { class: "checks", "aria-labelledby": "head-checks" },
      el("h2", { id: "head-checks" }, verdict),
      el(
        "div",
        { class: "clear-checks" },
        clear.map((check) => line(check, "✓", "is-hit")),
        undecided.map((check) => line(check, "–", "quiet")),
      ),
      odd.map((check) => line(check, "!", "is-failed")),
    );
  }

  function line(check, sign, tone) {
    const isOdd = check.findings.length > 0,
      isMore = check.tables.length + check.notes.length > 0;
    const head = [
      el("span", { class: `sign ${tone}`, "aria-hidden": "true" }, sign),
      check.level ? el("span", { class: "level" }, check.level) : null,
      el("b", {}, check.title),
    ];
    if (!isOdd) {
      const verdict = check.is_undecided ? `not judged: ${check.clear}` : check.clear;
      head.push(el("span", { class: "quiet" }, verdict));
      return isMore
        ? el("details", { class: "check" }, el("summary", { class: "line" }, head), tables(check))
        : el("p", { class: "check line" }, head);
    }
    return el(
      "div",
      { class: "check odd", id: placeOf(check), tabIndex: -1 },
      el("p", { class: "line" }, head),
      check.findings.map(({ text, summary, link: filter, is_warning: isAbove }) =>
        el(
          "p",
          { class: "finding" },
          withCode(isAbove ? `${summary}. ` : text), // a warning is above in full
          filter ? [" ", el("a", { href: store.listLink(filter) }, "Show these samples")] : null,
        ),
      ),
      isMore ? el("details", {}, el("summary", { class: "quiet" }, "Figures"), tables(check)) : null,
    );
  }

  /** A text with what one types in it, as code. */
  const withCode = (text) =>
    text.split(/(data\.\w+\.\w+: "[\w.]+"|--mode \w+)/).map((part, place) => (place % 2 ? el("code", {}, part) : part));

  function tables({ level, title, tables: all, notes }) {
    return el(
      "div",
      { class: "behind" },
      el(
        "div",
        { class: all.length > 1 && all.every((table) => table.columns.length < 4) ? "parts" : null },
        all.map((table) => smallTable([level, title, table.caption, table.columns.join(", ")].join(" "), table)),
      ),
      notes.map((note) => el("p", { class: "quiet" }, note)),
    );
  }

  const hasWords = (text) => /[a-z]{3,}/i.test(text);

  function smallTable(name, { caption, basis, columns, rows }) {
    const ofWords = columns.map((_, place) => rows.some(({ cells }) => hasWords(cells[place].text)));
    const kind = (place, text) => (/^[a-z_.]{9,}$/i.test(text) ? "words-in" : ofWords[place] ? "sentence" : null);
    return wide(
      name,
      el(
        "table",
        { class: "plain" },
        caption || basis
          ? el("caption", {}, caption, basis ? el("span", { class: "quiet" }, " ", link(basis.link, basis.text)) : null)
          : null,
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("td"),
            columns.map((name, place) => el("th", { scope: "col", class: ofWords[place] ? "sentence" : null }, name)),
          ),
        ),
        el(
          "tbody",
          {},
          rows.map(({ name, cells, words }) => [
            el(
              "tr",
              {},
              el("th", { scope: "row" }, name),
              cells.map(({ text, range, link: filter }, place) =>
                el(
                  "td",
                  { class: kind(place, text) },
                  link(filter, text),
                  range ? el("span", { class: "quiet" }, ` [${range}]`) : null,
                ),
              ),
            ),
            words
              ? el(
                  "tr",
                  { class: "words-of" },
                  el("td", { colspan: 1 + cells.length }, el("p", { class: "quiet" }, words)),
                )
              : null,
          ]),
        ),
      ),
    );
  }

  /* -- below the first screen -- */

  function inDetail(data) {
    return el(
      "section",
      { class: "data-set", "aria-labelledby": idOf("detail", data) },
      el(
        "h2",
        { id: idOf("detail", data) },
        el("span", { class: "level" }, data.level),
        `${data.name === data.level ? "" : ` ${data.name}`} in detail`,
      ),
      data.table ? scoreTable(data.table, data.unit) : null,
      data.repeats ? scoreTable(data.repeats, data.unit) : null,
      data.circular ? scoreTable(data.circular, data.unit) : null,
      data.judge ? scoreTable(data.judge, data.unit) : null,
      el(
        "div",
        { class: "charts" },
        data.groups.map((group) => chart(group, data.unit)),
        averages(data),
      ),
      data.details.map((section) => audit(section, data)),
    );
  }

  /** A table that looks for nothing; what is context alone is folded at first. */
  function audit(section, { rules }) {
    const isOfRules = section.tables.some((table) => table.rows.some(({ words }) => words));
    return el(
      "details",
      { class: "audit", open: !section.is_folded },
      el("summary", {}, el("h3", {}, section.title)),
      tables(section),
      isOfRules && rules ? Report.rules.meanings(rules.verdicts) : null,
    );
  }

  function averages({ averages: cells }) {
    if (!cells.length) return nothing();
    return el(
      "details",
      { class: "averages" },
      el("summary", {}, "Other averages"),
      el(
        "table",
        { class: "plain" },
        el(
          "tbody",
          {},
          cells.map((cell) =>
            el(
              "tr",
              {},
              el("th", { scope: "row" }, cell.name),
              el(
                "td",
                {},
                el("b", {}, cell.text),
                cell.range ? el("span", { class: "quiet" }, ` [${cell.range}]`) : null,
              ),
            ),
          ),
        ),
      ),
    );
  }

  function scoreTable({ title, unit: said, columns, rows, notes }, unit) {
    const name = `${title}: ${said}`;
    return el(
      "div",
      { class: "block-of-scores" },
      el("h3", {}, name),
      wide(
        name,
        el(
          "table",
          { class: "scores" },
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              el("td"),
              columns.map((column) => el("th", { scope: "col" }, column)),
            ),
          ),
          el(
            "tbody",
            {},
            rows.map((row) =>
              el(
                "tr",
                {},
                el("th", { scope: "row" }, row.name),
                row.cells.map((cell) => scoreCell(cell, unit)),
              ),
            ),
          ),
        ),
      ),
      (notes ?? []).map((note) => el("p", { class: "quiet" }, note)),
    );
  }

  function scoreCell(cell, unit) {
    if (!cell) return el("td", { class: "none" }, "–");
    const under = cell.range ? `[${cell.range}]` : cell.samples ? `n = ${whole(cell.samples)}` : "";
    return styled(
      el("td", { title: basis(cell, unit) }, link(cell.link, cell.text), el("span", { class: "quiet" }, under)),
      { "--share": `${cell.value}%` },
    );
  }

  const basis = (cell, unit) => (cell.samples ? `${samples({ ...cell, unit })} ${below({ ...cell, unit })}` : null);

  function chart({ title, cells }, unit) {
    return el(
      "div",
      { class: "chart" },
      el(
        "table",
        {},
        el("caption", {}, title),
        el(
          "tbody",
          {},
          cells.map((cell) =>
            el(
              "tr",
              { title: basis(cell, unit) },
              el("th", { scope: "row" }, link(cell.link, cell.name)),
              el("td", { class: "meter" }, track(cell)),
              el("td", { class: "number" }, cell.text),
              el("td", { class: "number quiet" }, cell.range ? `[${cell.range}]` : ""),
              el("td", { class: "number quiet" }, link(cell.link, `n = ${whole(cell.samples)}`)),
            ),
          ),
        ),
      ),
    );
  }

  /** What a JSON value holds, as paths and texts: `["config.model.m.imp_type", "openai"]`. */
  function leaves(value, path = "") {
    if (value === null || typeof value !== "object") return [[path, value === null ? "none" : String(value)]];
    const entries = Object.entries(value);
    if (!entries.length) return [[path, "empty"]];
    if (Array.isArray(value) && value.every((each) => each === null || typeof each !== "object"))
      return [[path, value.join(", ")]];
    return entries.flatMap(([key, each]) => leaves(each, path ? `${path}.${key}` : key));
  }

  /** Any JSON value as a list of paths and values; one that is no object as its text. */
  function flat(value, name = "") {
    const all = leaves(value, name);
    if (all.length === 1 && all[0][0] === name) return el("code", {}, all[0][1]);
    return el(
      "dl",
      { class: "paths" },
      all.map(([path, text]) => el("div", {}, el("dt", {}, path), el("dd", {}, el("code", {}, text)))),
    );
  }

  /** The manifest: what it says at its top, then each of its parts, which open one by one. */
  function provenance(manifest) {
    if (!manifest) return nothing();
    const isPart = ([, value]) => value !== null && typeof value === "object" && leaves(value).length > 1;
    // Of answers that were scored again with another config, that config is what people look for.
    const isScoredAgain = Boolean(manifest.scoring?.config);
    const open = isScoredAgain ? "scoring" : "config";
    const entries = Object.entries(manifest).sort(([a], [b]) => Number(b === open) - Number(a === open));
    const nameOf = (name) => (isScoredAgain && name === "config" ? "config of the requests" : name);
    return el(
      "details",
      { class: "provenance", id: "provenance" },
      el(
        "summary",
        {},
        el("h2", {}, "Provenance"),
        el("span", { class: "quiet" }, " versions, settings and data of this run"),
      ),
      flat(Object.fromEntries(entries.filter((entry) => !isPart(entry)))),
      entries
        .filter(isPart)
        .map(([name, value]) =>
          el(
            "details",
            { open: name === open },
            el(
              "summary",
              {},
              el("b", {}, nameOf(name)),
              el("span", { class: "quiet" }, ` ${plural(leaves(value).length, "value")}`),
            ),
            flat(value, name),
          ),
        ),
    );
  }

  return { draw, flat };
})();
