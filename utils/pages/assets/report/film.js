"use strict";
/* An episode (L3, L4) as a film strip: one screenshot a step with what was done there, then the end. */

Report.film = (() => {
  const { byId, el, marked, plural, stage } = Report;
  const PACE_MS = 1000;
  let frames = [],
    at = 0,
    timer = 0,
    needle = "";
  /** @type {(step: number) => void} */
  let moved = () => {};
  const film = {};

  film.isOne = (facts) => Boolean(facts.trajectory?.length);

  /** Shows an episode from a step on, 1 being the first; `onMove` is told the step shown now. */
  film.show = (facts, step, search, onMove) => {
    film.stop();
    needle = search;
    moved = onMove;
    const steps = facts.trajectory;
    frames = steps.map((each, place) => ({ ...each, name: `Step ${place + 1}` }));
    frames.push({
      image_path: facts.last_image,
      image_size: steps.at(-1).image_size,
      name: `End: ${facts.ended}`,
      checks: facts.checks ?? [],
    });
    byId("film").replaceChildren(
      ...frames.map((frame, place) =>
        el(
          "li",
          {},
          el(
            "button",
            {
              type: "button",
              title: frame.name,
              onclick: () => {
                film.stop();
                go(place);
              },
            },
            el("img", { src: source(frame), alt: "", loading: "lazy", decoding: "async", draggable: "false" }),
            el("span", {}, place < steps.length ? String(place + 1) : `end ${facts.hit ? "✓" : "✗"}`),
            el("span", { class: "sr" }, `${frame.name} of ${steps.length}`),
          ),
        ),
      ),
    );
    byId("play").hidden = byId("film").hidden = false;
    go(Math.min(Math.max(1, Number(step) || 1), frames.length) - 1);
  };

  /** No episode is shown. */
  film.hide = () => {
    film.stop();
    frames = [];
    byId("play").hidden = byId("film").hidden = true;
    byId("film").replaceChildren();
  };

  const source = (frame) => `pictures/${frame.image_path}`;

  function go(place) {
    at = place;
    const frame = frames[at];
    stage.show({
      wh: frame.image_size,
      box: null,
      clicks: points(frame),
      isAnswered: true,
      picture: { view: frame.image_path ? source(frame) : null },
      alt: `Screenshot, ${frame.name}`,
    });
    byId("reply").replaceChildren(said(frame));
    byId("reply").scrollTop = 0;
    for (const [each, item] of [...byId("film").children].entries()) {
      item.firstChild.toggleAttribute("aria-current", each === at);
      if (each === at) {
        item.firstChild.setAttribute("aria-current", "step");
        // without moving the page
        byId("film").scrollLeft = item.offsetLeft - (byId("film").clientWidth - item.offsetWidth) / 2;
      }
    }
    moved(at + 1);
  }

  /** Where the actions of a step point; numbered if it is more than one place. */
  function points(frame) {
    const all = (frame.actions ?? []).flatMap((action, place) =>
      [action.point, action.to_point]
        .filter(Boolean)
        .map((point, part) => ({ point, name: part ? "to" : frame.said[place] })),
    );
    return all.map((each, place) => (all.length > 1 ? { ...each, mark: String(place + 1) } : each));
  }

  function said(frame) {
    const text = (value) => el("pre", {}, marked(String(value), needle));
    if (frame.checks) return el("div", { class: "block" }, el("h3", {}, frame.name), film.checks(frame.checks));
    return el(
      "div",
      { class: "block" },
      el("h3", {}, `${frame.name} of ${frames.length - 1}`, frame.app ? el("span", { class: "tag" }, frame.app) : null),
      el(
        "ul",
        { class: "actions" },
        (frame.said.length ? frame.said : ["no action"]).map((action) => el("li", {}, el("code", {}, action))),
      ),
      frame.note ? el("p", { class: "note" }, frame.note) : null,
      frame.settled === false ? el("p", { class: "quiet" }, "The screen did not settle in time.") : null,
      text(frame.reply),
    );
  }

  /** What was expected of the world in the end, and what else it came to. */
  film.checks = (checks) =>
    el(
      "ul",
      { class: "final-checks" },
      checks.map(([ok, text]) =>
        el("li", { class: ok ? "good" : "bad" }, el("span", { class: "sign" }, ok ? "✓" : "✗"), ` ${text}`),
      ),
    );

  film.summary = (facts) => {
    const actions = facts.trajectory.reduce((count, step) => count + step.actions.length, 0);
    return `${plural(facts.trajectory.length, "step")}, ${plural(actions, "action")}, ended: ${facts.ended}`;
  };

  film.stop = () => {
    clearInterval(timer);
    timer = 0;
    byId("play").textContent = "Play";
  };

  /** Plays from here, or from the beginning if this is the end; stops what plays. */
  film.play = () => {
    if (timer) return film.stop();
    if (at === frames.length - 1) go(0);
    byId("play").textContent = "Stop";
    timer = setInterval(() => {
      go(at + 1);
      if (at === frames.length - 1) film.stop();
    }, PACE_MS);
  };

  /** Whether a key meant the film. */
  film.key = ({ key }) => {
    if (!frames.length) return false;
    const target = { ",": at - 1, ".": at + 1, Home: 0, End: frames.length - 1 }[key];
    if (key === "p") film.play();
    else if (target === undefined) return false;
    else {
      film.stop();
      if (target >= 0 && target < frames.length && target !== at) go(target);
    }
    return true;
  };

  return film;
})();
