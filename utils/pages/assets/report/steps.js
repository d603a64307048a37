"use strict";
/* A recorded step among those of its episode, what was recorded there, and what each rule says. */

Report.steps = (() => {
  const { byId, el, styled, arrow, outline, rules, store } = Report;
  const steps = {};

  steps.isOne = (facts) => Boolean(facts.step);

  /** The samples of a row's episode in order; each of them is a step. */
  const siblings = (row) => {
    const { episode, dataset } = store.columns;
    const rows = [];
    for (let other = 0; other < store.count; other++)
      if (episode[other] === episode[row] && dataset[other] === dataset[row]) rows.push(other);
    return rows;
  };

  /** Shows the steps of a row's episode below its image, each with its screenshot and verdict. */
  steps.show = (row, filter) => {
    const rows = siblings(row);
    byId("film").replaceChildren(...rows.map((other, place) => frame(other, place, rows.length, row, filter)));
    byId("film").hidden = false;
    const current = byId("film").querySelector("[aria-current]");
    if (current) {
      const item = current.parentElement;
      byId("film").scrollLeft = item.offsetLeft - (byId("film").clientWidth - item.offsetWidth) / 2;
    }
  };

  const SIGNS = { hit: "✓", miss: "✗", unparsed: "?" };

  function frame(row, place, count, shown, filter) {
    const verdict = store.value("verdict", row);
    const name = `Step ${place + 1} of ${count}: ${verdict}`;
    return el(
      "li",
      {},
      el(
        "button",
        {
          type: "button",
          title: name,
          "aria-current": row === shown ? "step" : null,
          onclick: () => location.replace(store.sampleLink(row, filter)),
        },
        screen(row),
        el("span", {}, `${place + 1} ${SIGNS[verdict] ?? "–"}`),
        el("span", { class: "sr" }, name),
      ),
    );
  }

  /** A small screenshot with both actions; they come with a file of their own. */
  function screen(row) {
    const picture = store.picture(row);
    if (!picture?.view) return null;
    const host = el(
      "i",
      { class: "shot-of-step" },
      el("img", { src: picture.view, alt: "", loading: "lazy", decoding: "async", draggable: "false" }),
    );
    if (!store.isReplaced(row))
      store.sample(row).then(({ step, file_wh: wh }) => {
        draw(host, row, step.points, wh ?? picture.wh);
        const { parentElement: button } = host;
        button.title += `\nrecorded: ${step.recorded}\nanswer: ${step.answer ?? "none could be read"}`;
      });
    return host;
  }

  function draw(host, row, points, wh) {
    const target = store.columns.target[row];
    if (target) host.append(outline(target));
    for (const { point, to, mark } of points) {
      const place = { left: `${100 * point[0]}%`, top: `${100 * point[1]}%` };
      host.append(
        to ? arrow(point, to, wh, mark) : styled(el("i", { class: `mini-point of-${mark.toLowerCase()}` }), place),
      );
    }
  }

  /** What was recorded, what was answered, and what each rule makes of it. */
  steps.card = (row, { recorded, answer, apart, doubts, rules: all, points }) => {
    const words = wordsOf(row);
    return el(
      "div",
      { class: "block" },
      el("h3", {}, "Recorded step"),
      rules.doubt(doubts),
      el(
        "dl",
        { class: "pairs" },
        el("dt", {}, el("span", { class: "key dot of-r" }, "Recorded")),
        el("dd", {}, el("code", {}, recorded)),
        el("dt", {}, el("span", { class: "key dot of-a" }, "Answer")),
        el("dd", {}, answer === null ? "none could be read" : el("code", {}, answer)),
        apart ? [el("dt", {}, "Apart"), el("dd", {}, apart)] : null,
      ),
      el("h3", {}, "By every rule"),
      rules.list(
        all.map(([name, verdict, area = null]) => ({ name, verdicts: [verdict], area })),
        words,
        { isClick: rules.isClick(points) },
      ),
      rules.meanings(words.verdicts),
    );
  };

  /** What the rule of the score accepts, as the image shows it at first. */
  steps.accepted = (row, { rules: [[name, , area = null]], points }) =>
    rules.accepted(name, area, wordsOf(row), rules.isClick(points));

  const wordsOf = (row) => {
    const { score, ...words } = store.dataset(row).rules ?? { score: "", rules: {}, verdicts: {} };
    return { ...words, scores: [score] };
  };

  return steps;
})();
