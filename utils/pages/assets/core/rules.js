"use strict";
/* What rules say of the answers to a recorded step: verdicts, what a rule asks for, and where it takes a click for right. */

Report.rules = (() => {
  const { el, stage } = Report;
  const rules = {};

  /**
   * The rules of a step. The one that is open shows what it asks for, and on the image what it accepts.
   *
   * @param {{name: string, verdicts: (string | null)[], area: object | null}[]} judged
   * @param {{scores: string[], rules: {[name: string]: {sentences: string, clicks: string, has_boxes: boolean}},
   *   verdicts: {[word: string]: string}}} words `scores`: the rule of the score, of each of the runs
   * @param {{isClick: boolean, heads?: any[]}} step `heads`: what stands before the verdict of each run
   */
  rules.list = (judged, words, { isClick, heads = [] }) => {
    const names = judged.map(({ name }) => name);
    const first = rules.first(judged, words.scores);
    let drawn = first;
    const draw = (name) => {
      if (name === drawn) return;
      drawn = name;
      const { area } = judged[names.indexOf(name)];
      stage.accept(area, rules.accepted(name, area, words, isClick));
    };
    const host = el(
      "div",
      { class: "rules" },
      judged.map(({ name, verdicts }) =>
        el(
          "details",
          {
            name: "rules",
            open: name === first,
            ontoggle: ({ currentTarget }) => {
              if (currentTarget.open) draw(name);
              else if (!host.querySelector("details[open]")) draw(first);
            },
          },
          el(
            "summary",
            {},
            el("span", { class: "rule" }, `${name} `, tagOfScore(name, words.scores)),
            el(
              "span",
              { class: "verdicts" },
              verdicts.map((verdict, side) => [heads[side]?.() ?? null, tag(verdict)]),
            ),
          ),
          el("p", { class: "quiet" }, words.rules[name]?.sentences ?? ""),
        ),
      ),
    );
    return host;
  };

  /**
   * The name of the rule that is open at first: of two runs the first whose verdicts differ, beginning with those of
   * their scores; else that of the (first) score.
   */
  rules.first = (judged, scores) => {
    const inOrder = [
      ...scores.map((score) => judged.find(({ name }) => name === score)).filter((rule) => rule !== undefined),
      ...judged,
    ];
    return (inOrder.find(({ verdicts }) => new Set(verdicts).size > 1) ?? inOrder[0]).name;
  };

  /** Which runs have their score by a rule. */
  function tagOfScore(name, scores) {
    const letters = ["A", "B"].filter((_, side) => scores[side] === name).join(" and ");
    if (!letters) return null;
    return el("span", { class: "tag" }, scores.length > 1 ? `score of ${letters}` : "score");
  }

  const OLDER_WORDS = { right: "hit", wrong: "miss" }; // in files of earlier scorings

  function tag(verdict) {
    const word = OLDER_WORDS[verdict] ?? verdict;
    return el(
      "span",
      { class: word === "hit" ? "tag good" : word === "not counted" || !word ? "quiet" : "tag bad" },
      word ?? "not judged",
    );
  }

  /** Whether a click was recorded, or a long press: something with a place. */
  rules.isClick = (points) => points.some(({ mark, to }) => mark === "R" && !to);

  /** What the legend says of the area of a rule, which is null where there is none. */
  rules.accepted = (name, area, words, isClick) => {
    const { clicks = "", has_boxes: hasBoxes = true } = words.rules[name] ?? {};
    const isWithoutBox = isClick && clicks && !area?.boxes;
    const where = hasBoxes ? "this row has no box" : "this rule has no box";
    return { rule: name, note: isWithoutBox ? `${where}: a click is right ${clicks}` : "" };
  };

  /** What the words for verdicts mean. */
  rules.meanings = (verdicts) =>
    el(
      "details",
      { class: "meanings" },
      el("summary", {}, "Meaning of the verdicts"),
      el(
        "dl",
        { class: "pairs" },
        Object.entries(verdicts).map(([word, meaning]) => [
          el("dt", {}, OLDER_WORDS[word] ?? word),
          el("dd", {}, meaning),
        ]),
      ),
    );

  /** That an annotation is doubtful, with the reasons; null where it is not. */
  rules.doubt = (doubts) =>
    doubts?.length
      ? el("p", { class: "doubtful" }, el("b", {}, "Doubtful annotation: "), `${doubts.join("; ")}.`)
      : null;

  return rules;
})();
