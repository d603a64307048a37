"use strict";
/* The list of samples beside the one that is open: both clicks on its image, both replies. */

Report.samples = (() => {
  const { byId, el, styled, badge, whole, plural, distance, rules, stage, pairs, figures } = Report;
  const ROW_PX = 76,
    ROWS_AHEAD = 6;
  const LABELS = { dataset: "Data set", platform: "Platform", split: "Split", kind: "Type", tier: "Tier" };
  const samples = { rows: [], active: 0, wanted: {}, query: "", isNarrow: false };
  let drawn = new Map(),
    selects = {},
    turn = 0,
    shown = 0;
  let search = null;

  samples.start = () => {
    const narrow = matchMedia("(max-width: 860px)");
    const fold = () => {
      samples.isNarrow = narrow.matches;
    };
    narrow.addEventListener("change", fold);
    fold();
    byId("rows").addEventListener("scroll", draw, { passive: true });
    new ResizeObserver(draw).observe(byId("rows"));
    search = Report.searching(byId("search"), (query) => samples.go(samples.wanted, query));
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("clear").addEventListener("click", () => {
      search.forget();
      samples.go({}, "");
      byId("rows").focus();
    });
    byId("close").addEventListener("click", samples.close);
    byId("previous").addEventListener("click", () => samples.step(-1));
    byId("next").addEventListener("click", () => samples.step(1));
  };

  /** Filters by what two other runs have. */
  samples.reset = () => {
    const { facets, sets } = pairs.match;
    const areSteps = sets.map(({ rules: words }) => Boolean(words));
    if (areSteps.some(Boolean)) LABELS.split = areSteps.every(Boolean) ? "Action type" : "Split or action type";
    const [first, ...others] = new Set(sets.map(({ split_name: name }) => name ?? null));
    if (first && !others.length) LABELS.split = first[0].toUpperCase() + first.slice(1);
    selects = {};
    byId("selects").replaceChildren(
      ...Object.keys(LABELS)
        .filter((name) => facets[name].length > 1)
        .map((name) => {
          selects[name] = el(
            "select",
            {
              onchange: () =>
                samples.go({ ...samples.wanted, [name]: selects[name].value ? [selects[name].value] : [] }),
            },
            el("option", { value: "" }),
            facets[name].map((value) => el("option", { value })),
          );
          return el("label", { class: `of-${name}` }, LABELS[name], selects[name]);
        }),
    );
    Object.assign(samples, { rows: [], wanted: null, query: "" });
  };

  /** Goes to the address of a filter; the page follows addresses only. */
  samples.go = (wanted, query = samples.query) => {
    location.hash = `#/samples${pairs.query(wanted, query)}`;
  };

  /** Shows the samples that fit, and opens one: that of the address, else the first. */
  samples.show = async (wanted, query, id) => {
    const mine = ++turn;
    const isSame = JSON.stringify([wanted, query]) === JSON.stringify([samples.wanted, samples.query]);
    if (!isSame) {
      const found = await pairs.select(wanted, query);
      if (mine !== turn) return;
      Object.assign(samples, { wanted, query, rows: found.rows, active: 0 });
      drawn.forEach((row) => row.remove());
      drawn = new Map();
      byId("rows").scrollTop = 0;
      counts(found);
    }
    const row = pairs.places.get(id);
    const place = samples.rows.indexOf(row);
    if (place >= 0) samples.active = place;
    document.body.dataset.open = id ? "sample" : "list";
    draw();
    inSight();
    if (row !== undefined && (id || !samples.isNarrow)) await open(row, place);
    else if (samples.rows.length && !samples.isNarrow) await open(samples.rows[samples.active], samples.active);
    byId("pane").hidden = !samples.rows.length && row === undefined;
  };

  function counts({ rows, counts: left, all: without }) {
    const { outcome } = pairs.match.facets;
    const chosen = samples.wanted.outcome ?? [];
    const chip = (name, slug, count) =>
      el(
        "button",
        {
          type: "button",
          class: `chip is-${slug ?? "all"}`,
          "aria-pressed": String(slug ? chosen.includes(slug) : !chosen.length),
          onclick: () => samples.go({ ...samples.wanted, outcome: slug ? [slug] : [] }),
        },
        slug ? el("i", { class: `swatch is-${slug}`, "aria-hidden": "true" }) : null,
        `${name} `,
        el("b", {}, whole(count)),
      );
    const focused = document.activeElement?.closest?.("#outcomes")
      ? [...byId("outcomes").children].indexOf(document.activeElement)
      : -1;
    byId("outcomes").replaceChildren(
      chip("all", null, without.outcome),
      ...outcome.map((name, place) => chip(name, pairs.slug(name), left.outcome[place])),
    );
    if (focused >= 0) byId("outcomes").children[focused]?.focus();
    for (const [name, select] of Object.entries(selects)) showChoice(name, select, left[name], without[name]);
    search.show(samples.query);
    const isAll = rows.length === pairs.count,
      all = plural(pairs.count, pairs.noun(...pairs.match.sets));
    byId("count").value = isAll ? all : `${whole(rows.length)} of ${all}`;
    byId("clear").hidden = isAll && !samples.query;
    byId("nothing").hidden = rows.length > 0;
    byId("rows").hidden = !rows.length;
    styled(byId("window"), { height: `${rows.length * ROW_PX}px` });
  }

  /** One select: how many samples each value would leave, and which one is wanted. */
  function showChoice(name, select, left, without) {
    select.options[0].textContent = `All (${whole(without)})`;
    pairs.match.facets[name].forEach((value, place) => {
      select.options[place + 1].textContent = `${pairs.label(value)} (${whole(left[place])})`;
    });
    select.value = samples.wanted[name]?.[0] ?? "";
    select.title = select.value ? select.selectedOptions[0].textContent : "";
  }

  /** Brings the rows in sight into the page, takes the others out. */
  function draw() {
    const host = byId("rows");
    if (!host.clientHeight) return;
    const first = Math.max(0, Math.floor(host.scrollTop / ROW_PX) - ROWS_AHEAD);
    const last = Math.min(samples.rows.length, Math.ceil((host.scrollTop + host.clientHeight) / ROW_PX) + ROWS_AHEAD);
    Report.drawRange(byId("window"), drawn, first, last, line);
    for (const [place, row] of drawn) row.setAttribute("aria-selected", String(place === samples.active));
    byId("rows").setAttribute("aria-activedescendant", `row-${samples.active}`);
  }

  const SIGNS = { hit: "✓", miss: "✗", unparsed: "?", refused: "⊘", failed: "!", missing: "∅" };

  function line(place) {
    const row = samples.rows[place];
    const meta = ["platform", "split", "kind"]
      .map((name) => pairs.value(name, row))
      .filter((value) => value !== null)
      .map(pairs.label);
    return styled(
      el(
        "div",
        {
          class: "pair",
          role: "option",
          id: `row-${place}`,
          "aria-posinset": place + 1,
          "aria-setsize": samples.rows.length,
          onclick: () => to(place, true),
        },
        el(
          "span",
          { class: "marks" },
          ["A", "B"].map((letter, side) => {
            const verdict = pairs.columns.verdicts[row][side];
            return el(
              "span",
              { class: `of-side is-${verdict}`, title: `${letter}: ${verdict}` },
              figures.mark(letter),
              SIGNS[verdict] ?? "·",
            );
          }),
        ),
        el("span", { class: "what" }, pairs.columns.text[row] ?? "(no text)"),
        el("span", { class: "quiet meta" }, `${meta.join(" · ")} · ${number(row)}`),
      ),
      { top: `${place * ROW_PX}px` },
    );
  }

  /** The number of a row with its id, and where there are several data sets that of its own. */
  const number = (row) => {
    const name = pairs.match.sets.length > 1 ? `${pairs.value("dataset", row)} ` : "";
    return `${name}#${pairs.sampleNumber(row)}`;
  };

  const address = (place) => `#/sample/${pairs.id(samples.rows[place])}${pairs.query(samples.wanted, samples.query)}`;

  function to(place, isNew) {
    if (place < 0 || place >= samples.rows.length) return;
    if (isNew && samples.isNarrow)
      location.hash = address(place); // one step back leads to the list
    else location.replace(address(place));
  }

  samples.step = (by) => to(samples.active + by, false);
  samples.enter = () => to(samples.active, true);
  samples.close = () => {
    location.hash = `#/samples${pairs.query(samples.wanted, samples.query)}`;
  };
  samples.listAddress = () => `#/samples${pairs.query(samples.wanted ?? {}, samples.query)}`;

  function inSight() {
    const host = byId("rows"),
      top = samples.active * ROW_PX;
    if (top < host.scrollTop) host.scrollTop = top;
    else if (top + ROW_PX > host.scrollTop + host.clientHeight) host.scrollTop = top + ROW_PX - host.clientHeight;
    draw();
  }

  async function open(row, place) {
    const mine = ++shown;
    const details = await pairs.details(row);
    if (mine !== shown) return;
    const wh = details.wh ?? pairs.picture(row)?.wh ?? [1600, 1000];
    head(row, place);
    asked(row);
    image(row, wh, details.step);
    byId("pane").classList.toggle("of-step", Boolean(details.step));
    if (details.screen)
      byId("legend").replaceChildren(
        el("span", { class: "quiet" }, `${details.screen}'s last screen; the reports have every step`),
      );
    byId("sides").replaceChildren(
      ...[
        details.options ? options(details) : null,
        details.step ? step(row, details.step) : null,
        ...["A", "B"].map((letter, side) => reply(letter, side, row, details, wh)),
      ].filter(Boolean),
    );
    byId("sides").scrollTop = 0;
    document.title = `${byId("sample-title").textContent} · ${byId("title").textContent}`;
  }

  /** Which sample it is, the way to those beside it, and to both reports. */
  function head(row, place) {
    const set = pairs.set(row);
    byId("sample-title").textContent = `${set.level} ${pairs.noun(set)} ${pairs.sampleNumber(row)}`;
    byId("position").textContent =
      place >= 0 ? `${whole(place + 1)} of ${whole(samples.rows.length)}` : "outside the filters";
    byId("previous").disabled = place <= 0;
    byId("next").disabled = place < 0 || place >= samples.rows.length - 1;
    byId("sample-links").replaceChildren(
      ...["a", "b"].flatMap((side, at) => {
        const run = pairs.summary.runs.find(({ label }) => label === pairs.match[side]);
        return run.report
          ? [
              el(
                "a",
                { href: `${run.report}#/sample/${pairs.columns.ids[row][at]}` },
                `in ${side.toUpperCase()}'s report`,
              ),
            ]
          : [];
      }),
    );
  }

  /** What both were asked, and what became of it. */
  function asked(row) {
    const meta = ["platform", "app", "split", "kind"]
      .map((name) => pairs.value(name, row))
      .filter((value) => value !== null)
      .map(pairs.label);
    const outcome = pairs.value("outcome", row);
    byId("asked").replaceChildren(
      el("p", { class: "instruction" }, pairs.columns.text[row] ?? "(no text)"),
      el(
        "p",
        { class: "line quiet" },
        el(
          "span",
          { class: "outcome" },
          el("i", { class: `swatch is-${pairs.slug(outcome)}`, "aria-hidden": "true" }),
          outcome,
        ),
        meta.join(" · "),
      ),
    );
  }

  /** The image with both clicks; not with those of a run that was asked about another image. */
  function image(row, wh, recorded) {
    const picture = pairs.picture(row),
      { text, box, target, declined, image_digests: digests } = pairs.columns;
    const replaced = ["A", "B"].filter((_, side) => Report.isReplaced(picture, digests[row][side]));
    stage.show({
      wh: replaced.length ? picture.wh : wh,
      box: replaced.length < 2 ? box[row] : null,
      target: target[row],
      declined: ["A", "B"]
        .filter((_, side) => declined[row][side])
        .map((mark) => `${mark} says that it is not there`)
        .join(", "),
      clicks: places(row, recorded).filter(({ mark }) => !replaced.includes(mark)),
      picture,
      alt: `Screenshot for: ${text[row] ?? ""}`,
      isAnswered: true,
      note: replaced.length
        ? `This image was replaced since ${replaced.join(" and ")} saw it: old marks are not drawn`
        : "",
      ...(recorded ? accepted(row, recorded) : null),
      ...(recorded && replaced.length ? { target: null, accepted: null, clicks: [] } : null),
    });
  }

  /** Both clicks; of a recorded step what a person did, too. */
  const places = (row, recorded) =>
    recorded?.points ??
    ["A", "B"]
      .map((mark, side) => ({ point: pairs.columns.points[row][side], mark, name: `${mark}'s click` }))
      .filter(({ point }) => point);

  const NO_WORDS = { scores: [], rules: {}, verdicts: {} };
  const wordsOf = (row) => pairs.set(row)?.rules ?? NO_WORDS;

  /** What the rule accepts that is open at first. */
  function accepted(row, { rules: all, points }) {
    const words = wordsOf(row);
    const judged = judgedBy(all);
    const first = rules.first(judged, words.scores);
    const { name, area } = judged.find((rule) => rule.name === first);
    return { target: area, accepted: rules.accepted(name, area, words, rules.isClick(points)) };
  }

  const judgedBy = (all) => all.map(([name, ofA, ofB, area]) => ({ name, verdicts: [ofA, ofB], area }));

  /** What was recorded, what both have answered, and what each rule makes of it. */
  function step(row, { recorded, answers, apart, doubts, rules: all, points }) {
    const words = wordsOf(row);
    return el(
      "section",
      { class: "side step", "aria-label": "Recorded step" },
      rules.doubt(doubts),
      el(
        "dl",
        { class: "pairs" },
        el("dt", {}, el("span", { class: "key dot of-r" }, "Recorded")),
        el("dd", {}, el("code", {}, recorded)),
        ["A", "B"].map((letter, side) => [
          el("dt", {}, figures.mark(letter), " Answer"),
          el(
            "dd",
            {},
            answers[side] === null ? "none could be read" : el("code", {}, answers[side]),
            apart[side] ? el("span", { class: "quiet" }, ` apart ${apart[side]}`) : null,
          ),
        ]),
      ),
      rules.list(judgedBy(all), words, {
        isClick: rules.isClick(points),
        heads: ["A", "B"].map((letter) => () => figures.mark(letter)),
      }),
      rules.meanings(words.verdicts),
    );
  }

  function options({ options: all, answer, chosen }) {
    return el(
      "ol",
      { class: "options" },
      Object.keys(all)
        .filter((letter) => all[letter] !== null)
        .map((letter) =>
          el(
            "li",
            { class: letter === answer ? "right" : null },
            el("b", { class: "letter" }, letter),
            el("span", {}, String(all[letter])),
            letter === answer ? el("span", { class: "tag good" }, "✓ right") : null,
            ["A", "B"].map((run, side) =>
              chosen[side] === letter
                ? el(
                    "span",
                    { class: `tag chose of-${run.toLowerCase()}`, title: pairs.match[run.toLowerCase()] },
                    `${pairs.brief(run)} chose`,
                  )
                : null,
            ),
          ),
        ),
    );
  }

  function reply(letter, side, row, details, wh) {
    const verdict = pairs.columns.verdicts[row][side],
      text = details.replies[side],
      error = details.errors[side];
    const isAnswer = !["failed", "refused", "missing"].includes(verdict);
    return el(
      "section",
      { class: "side", "aria-label": `Reply of ${letter}` },
      el(
        "h3",
        {},
        figures.mark(letter),
        el("span", { class: "run-name" }, pairs.match[letter.toLowerCase()]),
        badge(verdict, pairs.set(row)?.unit === "task"),
        el("span", { class: "quiet" }, how(side, row, details, wh)),
        ...remarks(side, details).map((text) => el("span", { class: "quiet" }, text)),
        details.right[side] ? el("span", { class: "tag" }, `${details.right[side]} answers right`) : null,
        details.finish[side] === "length" ? el("span", { class: "tag bad" }, "cut off") : null,
      ),
      error ? el("p", { class: "quiet" }, `${error.class ?? "error"}: ${error.message ?? ""}`) : null,
      isAnswer
        ? el(
            "pre",
            { tabIndex: 0 },
            text === null ? "no reply" : typeof text === "string" ? text : JSON.stringify(text),
          )
        : null,
    );
  }

  /** What else there is to know of one side: the judge's reading, and the size of the image where it differs. */
  function remarks(side, details) {
    const texts = [];
    if (details.judge[side]) texts.push(`the judge reads ${details.judge[side]}`);
    const [sentOfA, sentOfB] = details.sent.map((wh) => wh && wh.join("x"));
    if (sentOfA !== sentOfB) texts.push(`image sent: ${details.sent[side]?.join("x") ?? "size unknown"}`);
    return texts;
  }

  /** How a reply was read. */
  function how(side, row, details, wh) {
    if (details.options) return details.chosen[side] ? `chose ${details.chosen[side]}, right ${details.answer}` : "";
    if (details.expected !== null) return `read as ${details.answered[side] ?? "unparsed"}, right ${details.expected}`;
    const found = distance(pairs.columns.box[row], pairs.columns.points[row][side], wh);
    if (!found) return "";
    return Report.awayText(found);
  }

  return samples;
})();
