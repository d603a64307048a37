"use strict";
/* One sample: its picture, what was asked, what came back, and how that became a verdict. */

Report.sample = (() => {
  const { byId, el, awayText, badge, excerpt, label, whole, short, marked } = Report;
  const { store, items, gallery, stage, film, steps, overview } = Report;
  const SHOWN = new Set([
    "prompt",
    "prediction",
    "raw",
    "reasoning",
    "options",
    "turns",
    "error",
    "file_wh",
    "sent_wh",
    "seen_wh",
    "finish_reason",
    "usage",
    "latency_s",
    "attempts",
    "asked_at",
    "fingerprint",
    "key",
    "repeat",
    "trajectory",
    "checks",
    "last_image",
    "ended",
    "cost",
    "apps",
    "step",
    "details",
  ]);
  const sample = { row: null };
  let turn = 0;

  /** Shows a row; `position` says where it stands among the filtered ones. Of an episode it shows a
      `step`, and tells `onStep` of every other one that is chosen. */
  sample.show = async (row, position, step, onStep) => {
    const mine = ++turn;
    sample.row = row;
    const kind = store.value("ended", row) ? "episode" : "sample";
    const { level, name } = store.dataset(row);
    byId("sample-title").textContent = `${level ?? name} ${kind} ${store.number(row)}${items.repeat(row)}`;
    byId("position").textContent = position;
    const facts = await store.sample(row);
    if (mine !== turn) return;
    facts.ended = store.value("ended", row);
    if (film.isOne(facts))
      film.show({ ...facts, hit: store.value("verdict", row) === "hit" }, step, gallery.filter?.q ?? "", onStep);
    else {
      film.hide();
      if (steps.isOne(facts)) steps.show(row, gallery.filter ?? {});
      image(row, facts);
      byId("reply").replaceChildren(reply(row, facts));
    }
    byId("facts").replaceChildren(...panel(row, facts).filter(Boolean));
    for (const id of ["facts", "reply"]) byId(id).scrollTop = 0;
  };

  /** The image with target and click; without them where it is another one than the model was asked about. */
  function image(row, facts) {
    const picture = store.picture(row);
    const shown = {
      picture,
      target: store.columns.target[row],
      declined: store.columns.declined[row] ? "the reply says that it is not there" : "",
      alt: `Screenshot for: ${store.columns.text[row] ?? ""}`,
      isAnswered: items.isAnswered(row),
    };
    if (store.isReplaced(row))
      stage.show({
        ...shown,
        wh: picture.wh,
        box: null,
        clicks: [],
        note: "This image was replaced since the model saw it: target and click are not drawn",
      });
    else
      stage.show({
        ...shown,
        wh: facts.file_wh ?? picture?.wh ?? [1600, 1000],
        box: store.columns.box_frac[row],
        clicks: steps.isOne(facts) ? facts.step.points : looks(store.columns.point_frac[row], facts.zoom),
        crop: facts.zoom?.crop_frac,
        accepted: steps.isOne(facts) ? steps.accepted(row, facts.step) : null,
      });
  }

  /** The click, and before it the one that a second look was taken around. */
  function looks(point, zoom) {
    if (!point) return [];
    const first = zoom?.first_point_frac;
    if (!first) return [{ point, name: "click" }];
    return [
      { point: first, name: "first look", mark: "1" },
      { point, name: "click", mark: "2" },
    ];
  }

  function panel(row, facts) {
    const picture = store.picture(row),
      isEpisode = film.isOne(facts);
    return [
      asked(row),
      facts.error && items.isAnswered(row) ? problem(facts.error) : null,
      answer(row, facts),
      isEpisode
        ? el("div", { class: "block" }, el("h3", {}, film.summary(facts)), film.checks(facts.checks ?? []))
        : null,
      facts.turns ? rotations(facts.turns) : null,
      store.columns.box_frac[row] ? geometry(row, facts.file_wh ?? picture?.wh) : null,
      isEpisode ? null : prompt(facts.prompt),
      listing(row, facts, picture),
    ];
  }

  const asked = (row) =>
    el(
      "div",
      { class: "asked" },
      el(
        "p",
        { class: "line" },
        items.outcome(row),
        items.answer(row),
        el(
          "span",
          { class: "quiet" },
          ["platform", "app", "split", "kind"]
            .map((name) => store.value(name, row))
            .filter((value) => value !== null)
            .map(label)
            .join(" · "),
        ),
      ),
      el("p", { class: "instruction" }, found(store.columns.text[row] ?? "(no text)")),
    );

  const problem = (error) =>
    el("div", { class: "block error" }, el("h3", {}, `Error: ${error.class ?? ""}`), pre(error.message ?? ""));

  const found = (text) => marked(String(text), gallery.filter?.q ?? "");
  const pre = (text) => el("pre", {}, found(text));

  /** What a second model has read from the reply. */
  function judgement({ status, choice, problem }) {
    if (status !== "read") return `The judge: ${status}${problem ? ` (${problem})` : ""}.`;
    return choice === null ? "The judge reads no choice in the reply." : `The judge reads ${choice}.`;
  }

  /** What was answered and what is right, of a sample that asks for no click. */
  function answer(row, facts) {
    if (facts.options) return options(row, facts);
    if (items.isFree(row)) return freeAnswer(row);
    return steps.isOne(facts) ? steps.card(row, facts.step) : null;
  }

  /** A text of the model's own, beside the one that was expected. */
  function freeAnswer(row) {
    const expected = store.columns.expected[row];
    return el(
      "div",
      { class: "block" },
      el("h3", {}, "Answer"),
      items.isAnswered(row) ? el("p", {}, `read as: ${items.answered(row)}`) : null,
      expected === null ? null : el("p", {}, `right: ${expected}`),
    );
  }

  function options(row, { options: all, judge }) {
    const [answer, chosen] = [store.columns.answer[row], store.columns.chosen[row]];
    const letters = Object.keys(all).filter((letter) => all[letter] !== null);
    const outside = chosen !== null && chosen !== undefined && !letters.includes(chosen);
    return el(
      "div",
      { class: "block choices" },
      el("h3", {}, "Options"),
      el(
        "ol",
        { class: "options" },
        letters.map((letter) => {
          const right = letter === answer,
            taken = letter === chosen;
          return el(
            "li",
            { class: [right ? "right" : "", taken ? "taken" : ""].join(" ").trim() || null },
            el("b", { class: "letter" }, letter),
            el("span", {}, found(all[letter])),
            right ? el("span", { class: "tag good" }, "✓ right") : null,
            taken ? el("span", { class: right ? "tag good" : "tag bad" }, "● chosen") : null,
          );
        }),
      ),
      items.isAnswered(row) && (chosen === null || chosen === undefined)
        ? el("p", { class: "quiet" }, "No option could be read from the reply.")
        : null,
      outside ? el("p", { class: "quiet" }, `The reply chose ${chosen}, which is not one of the options.`) : null,
      judge ? el("p", {}, judgement(judge)) : null,
    );
  }

  /** The same question with its options in every other order, as circular evaluation asks it. */
  function rotations(turns) {
    const hits = turns.filter((turn) => turn.verdict === "hit").length;
    return el(
      "div",
      { class: "block rotations" },
      el("h3", {}, `Rotations of the options: right in ${hits} of ${turns.length}`),
      el(
        "ol",
        {},
        turns.map(({ options: all, answer, chosen, status, verdict, prediction }) =>
          el(
            "li",
            {},
            el(
              "p",
              { class: "line" },
              badge(status === "ok" ? verdict : status),
              items.letters(chosen, answer),
              el("span", { class: "chosen-text" }, found(all[chosen] ?? "")),
              el("span", { class: "quiet" }, status === "ok" ? found(excerpt(String(prediction ?? ""), "", 70)) : null),
            ),
          ),
        ),
      ),
    );
  }

  function geometry(row, wh) {
    const point = store.columns.point_frac[row],
      box = store.columns.box_frac[row],
      found = store.distance(row, wh);
    const at = (values) => {
      const frac = values.map((value) => value.toFixed(4)).join(", ");
      const px = wh && values.map((value, place) => Math.round(value * wh[place % 2]));
      const corners =
        px &&
        [px.slice(0, 2), px.slice(2)]
          .filter((corner) => corner.length)
          .map((corner) => corner.join(", "))
          .join(" to ");
      return px ? [`${corners} px `, el("span", { class: "quiet" }, frac)] : frac;
    };
    return el(
      "div",
      { class: "block" },
      el("h3", {}, "Click and target"),
      el(
        "dl",
        { class: "pairs" },
        pair("Distance", found ? awayText(found) + sizesText(found) : "no click"),
        found ? pair("Target size", `${found.target.map((side) => Math.round(side)).join(" × ")} px`) : null,
        pair("Click", point ? at(point) : "none"),
        pair("Target", at(box)),
      ),
    );
  }

  /** How many target sizes a click lies off, behind its distance in pixels. */
  const sizesText = ({ px, sizes }) =>
    px === 0 || sizes === null ? "" : `, ${sizes.toFixed(sizes < 10 ? 2 : 1)} target sizes`;

  const pair = (name, value) =>
    value === null || value === undefined ? null : [el("dt", {}, name), el("dd", {}, value)];

  function reply(row, facts) {
    if (!items.isAnswered(row)) return noReply(facts);
    const cut = facts.finish_reason === "length";
    const title = facts.raw === null || facts.raw === undefined ? "Reply" : "Reply after the postprocess function";
    return el(
      "div",
      { class: "block" },
      el("h3", {}, title, cut ? el("span", { class: "tag bad" }, "cut off at the token limit") : null),
      facts.prediction === null || facts.prediction === undefined
        ? el("p", { class: "quiet" }, "There is no reply.")
        : pre(String(facts.prediction)),
      facts.zoom ? [el("h3", {}, "Reply to the first look"), pre(facts.zoom.first_reply)] : null,
      facts.raw !== null && facts.raw !== undefined
        ? el("details", {}, el("summary", {}, "Raw, before the postprocess function"), pre(String(facts.raw)))
        : null,
      facts.reasoning
        ? el("details", { open: true }, el("summary", {}, "Reasoning"), pre(String(facts.reasoning)))
        : null,
    );
  }

  /** A failed request: the text that stands for a reply in the spreadsheets is not the model's. */
  function noReply(facts) {
    return el(
      "div",
      { class: "block error" },
      el("h3", {}, "Reply", el("span", { class: "tag bad" }, "no reply")),
      facts.error
        ? [el("p", { class: "line" }, `Error: ${facts.error.class ?? ""}`), pre(facts.error.message ?? "")]
        : el("p", { class: "quiet" }, "There was no answer."),
      facts.raw !== null && facts.raw !== undefined
        ? el("details", {}, el("summary", {}, "What came back"), pre(String(facts.raw)))
        : null,
    );
  }

  function prompt(messages) {
    return el(
      "div",
      { class: "block" },
      el("h3", {}, "Prompt as sent"),
      messages.length
        ? el(
            "ol",
            { class: "messages" },
            messages.map(({ role, type, value }) =>
              el(
                "li",
                {},
                el("span", { class: "role" }, String(role)),
                type === "image"
                  ? el("span", { class: "tag" }, "image")
                  : el("pre", { tabindex: "0", role: "group", "aria-label": `Text of ${role}` }, found(value)),
              ),
            ),
          )
        : el("p", { class: "quiet" }, "Not known."),
    );
  }

  function listing(row, facts, picture) {
    const wh = (size) => (size ? `${size[0]} × ${size[1]} px` : null);
    const own = steps.isOne(facts) ? {} : Object(facts.details); // what a benchmark of the user's has added
    const others = Object.entries(facts).filter(([name, value]) => !SHOWN.has(name) && value !== null);
    return el(
      "div",
      { class: "block" },
      el("h3", {}, "Facts"),
      el(
        "dl",
        { class: "pairs" },
        pair("Data set", store.value("dataset", row)),
        pair("Status", store.value("status", row)),
        Object.entries(own).map(([name, value]) => pair(capital(label(name)), overview.flat(value))),
        pair(
          "Latency",
          facts.latency_s === undefined || facts.latency_s === null ? null : `${short(facts.latency_s)} s`,
        ),
        pair("Attempts", facts.attempts),
        pair("Finish reason", facts.finish_reason),
        tokens(facts.usage).map(([name, count]) => pair(name, whole(count))),
        pair("Queried at", facts.asked_at),
        pair("Image file", wh(facts.file_wh)),
        pair("Image sent", wh(facts.sent_wh)),
        pair("Image seen", wh(facts.seen_wh)),
        pair("Image", picture?.name),
        others.map(([name, value]) => pair(capital(label(name)), overview.flat(value))),
        pair("Key", facts.key),
        pair("Fingerprint", facts.fingerprint),
      ),
    );
  }

  const tokens = (usage) =>
    Object.entries(usage ?? {})
      .filter(([, count]) => typeof count === "number")
      .map(([name, count]) => [capital(label(name)), count]);

  const capital = (text) => text.replace(/^./, (first) => first.toUpperCase());

  return sample;
})();
