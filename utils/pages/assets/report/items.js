"use strict";
/* One sample of the list, as a card or as a row of the table, and the head of the table. */

Report.items = (() => {
  const { el, styled, label, badge, whole, marked, excerpt, store } = Report;
  const items = {};
  const COLUMNS = { image: "Image", text: "Question", answer: "Answer", verdict: "Verdict", reply: "Reply" };
  const OWN_WORDS = { L2: { text: "Instruction" }, L3: { image: "Screen", text: "Task", reply: "Actions" } };

  /** Which of several answers to its question a row is; nothing where there is one. */
  items.repeat = (row) => {
    const number = store.columns.repeat?.[row] ?? null;
    return number === null ? "" : `, ${store.value("ended", row) ? "repeat" : "answer"} ${number}`;
  };

  items.isAnswered = (row) => ["ok", null].includes(store.value("status", row));

  /** Sign and word of what became of a row. */
  items.outcome = (row) =>
    badge(
      items.isAnswered(row) ? store.value("verdict", row) : store.value("status", row),
      Boolean(store.value("ended", row)),
    );

  /** What a row's answer comes to: the letters, chosen and right, or how far off the click was. */
  items.answer = (row) => {
    const right = store.columns.answer[row],
      step = store.columns.step?.[row];
    if (step) return action(row, step);
    if (right !== null) return items.letters(items.isAnswered(row) ? store.columns.chosen[row] : null, right);
    if (items.isFree(row)) return el("span", {}, items.isAnswered(row) ? items.answered(row) : "");
    return click(row);
  };

  /** How far off the click of a row was. */
  function click(row) {
    if (store.isReplaced(row)) return el("span", { class: "quiet" }, "image replaced since");
    if (store.columns.declined[row]) return el("span", {}, "says it is not there");
    const found = store.distance(row, store.picture(row)?.wh);
    if (!found) return null;
    return el(
      "span",
      {},
      found.px === 0 ? "inside" : `${found.px < 10 ? found.px.toFixed(1) : whole(Math.round(found.px))} px off`,
    );
  }

  /** The action that was read at a recorded step, and whether what it is compared with is doubtful. */
  const action = (row, { answer, doubts }) => [
    items.isAnswered(row)
      ? el("code", { class: "action", title: answer }, answer === null ? "none could be read" : answer)
      : null,
    doubts.length
      ? el("span", { class: "tag odd", title: `Doubtful annotation: ${doubts.join("; ")}` }, "doubtful")
      : null,
  ];

  /** The number of a row with its id, and where there are several data sets that of its own. */
  const number = (row) => {
    const { datasets } = store.summary;
    const name = datasets.length > 1 ? `${store.brief(store.dataset(row))} ` : "";
    return `${name}#${store.number(row)}${items.repeat(row)}`;
  };

  /** Whether a row asks for a text of the model's own. */
  items.isFree = (row) => (store.columns.expected?.[row] ?? store.columns.answered?.[row] ?? null) !== null;

  items.answered = (row) => store.columns.answered[row] ?? "unparsed";

  items.letters = (chosen, right) => el("span", { class: "letters" }, `chose ${chosen ?? "none"}, right ${right}`);

  const tags = (row) =>
    ["platform", "app", "split", "kind"].map((name) => store.value(name, row)).filter((value) => value !== null);

  items.card = (row, { width, picture, letters }, needle) =>
    el(
      "div",
      { class: "card", role: "option" },
      shot(row, width, picture),
      el(
        "div",
        { class: "words" },
        el(
          "p",
          { class: "line" },
          items.outcome(row),
          items.answer(row),
          el("span", { class: "quiet number", title: number(row) }, number(row)),
        ),
        el("p", { class: "text" }, marked(excerpt(store.columns.text[row] ?? "(no text)", needle, 140), needle)),
        reply(row, needle, letters),
        el("p", { class: "quiet tags" }, tags(row).map(label).join(" · ")),
      ),
    );

  items.row = (row, { picture, letters }, needle, link) =>
    el(
      "div",
      { class: "row", role: "row" },
      cell("image", shot(row, (16 / 9) * picture, picture)),
      cell(
        "text",
        el(
          "p",
          { class: "text" },
          el(
            "a",
            { href: link, tabIndex: -1 },
            marked(excerpt(store.columns.text[row] ?? "(no text)", needle, 260), needle),
          ),
        ),
        el("p", { class: "quiet tags" }, [number(row), ...tags(row).map(label)].join(" · ")),
      ),
      cell("answer", items.answer(row)),
      cell("verdict", items.outcome(row)),
      cell("reply", reply(row, needle, letters)),
    );

  const cell = (name, ...children) => el("div", { role: "gridcell", class: `of-${name}` }, children);

  /** The head of the table; a click sorts up, then down, then as in the file. */
  items.head = (sort, onSort) => {
    const levels = store.summary.datasets.map((data) => (data.level === "L4" ? "L3" : data.level));
    const words = { ...COLUMNS, ...(levels.every((level) => level === levels[0]) ? OWN_WORDS[levels[0]] : null) };
    return Object.entries(words).map(([name, word]) => {
      const [up, down] = [sort === name, sort === `-${name}`];
      return el(
        "div",
        { role: "columnheader", class: `of-${name}`, "aria-sort": up ? "ascending" : down ? "descending" : "none" },
        el(
          "button",
          { type: "button", onclick: () => onSort(up ? `-${name}` : down ? "" : name) },
          word,
          el("span", { "aria-hidden": "true", class: up || down ? "arrow" : "arrow off" }, down ? "▼" : "▲"),
        ),
      );
    });
  };

  /** The reply, or why there is none; it comes with a file of its own. */
  function reply(row, needle, most) {
    const host = el("p", { class: "reply" });
    if (!items.isAnswered(row)) {
      host.append(store.value("error", row) ?? "no reply");
      host.classList.add("quiet");
      return host;
    }
    store.reply(row).then(([replies, place]) => {
      const said = [replies.prediction, replies.raw, replies.reasoning]
        .map((texts) => texts[place])
        .filter(Boolean)
        .map(String);
      const text = said.find((each) => needle && each.toLowerCase().includes(needle.toLowerCase())) ?? said[0] ?? "";
      host.append(...marked(excerpt(text, needle, most), needle));
    });
    return host;
  }

  /** The image with target and click, inside a space. */
  function shot(row, width, height) {
    const found = store.picture(row);
    const wh = found?.wh ?? [16, 10];
    const scale = Math.min(width / wh[0], height / wh[1]);
    const frame = styled(el("div", { class: found?.view ? "frame" : "frame empty" }), {
      width: `${wh[0] * scale}px`,
      height: `${wh[1] * scale}px`,
    });
    if (found?.view) frame.append(el("img", { src: found.view, alt: "", decoding: "async", draggable: "false" }));
    if (!store.isReplaced(row)) mark(frame, row);
    return styled(el("div", { class: "shot" }, frame), { height: `${height}px` });
  }

  /** Draws target and click into a frame of the image. */
  function mark(frame, row) {
    const box = store.columns.box_frac[row],
      target = store.columns.target[row],
      point = store.columns.point_frac[row];
    if (target) frame.append(Report.outline(target));
    else if (box) {
      frame.append(
        styled(el("i", { class: "mini-box" }), {
          left: `${100 * box[0]}%`,
          top: `${100 * box[1]}%`,
          width: `${100 * (box[2] - box[0])}%`,
          height: `${100 * (box[3] - box[1])}%`,
        }),
      );
    }
    if (point && point.every((value) => value >= 0 && value <= 1)) {
      frame.append(styled(el("i", { class: "mini-point" }), { left: `${100 * point[0]}%`, top: `${100 * point[1]}%` }));
    }
  }

  return items;
})();
