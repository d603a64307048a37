"use strict";
/* One picture with its target and clicks: fits, zooms at the pointer, pans. Positions are fractions of
   the picture file; the canvas has the picture's own shape, so they are fractions of it, too. */

Report.stage = (() => {
  const { byId, el, svg, styled, distance, outline, arrow, isAbsent } = Report;
  const MOST = 16,
    STEP = 1.25,
    MARGIN_PX = 8;

  /**
   * @typedef {{wh: number[], box: number[] | null, target?: any, declined?: string, clicks: any[],
   *   crop?: number[], picture: {view?: string, others?: string[]} | null, alt: string, isAnswered: boolean,
   *   note?: string, accepted?: {rule: string, note: string} | null}} ShownImage
   */

  let shown = null; // {screen, wh, box, clicks, isSharp: not a smaller view image}
  let view = { scale: 1, x: 0, y: 0, fitted: true }; // CSS pixels per pixel of the file, place of the canvas
  const fingers = new Map();
  const stage = {};

  stage.start = () => {
    const host = byId("stage");
    const middle = () => [host.clientWidth / 2, host.clientHeight / 2];
    byId("zoom-in").addEventListener("click", () => zoomTo(view.scale * STEP, ...middle()));
    byId("zoom-out").addEventListener("click", () => zoomTo(view.scale / STEP, ...middle()));
    byId("zoom-fit").addEventListener("click", fit);
    byId("zoom-100").addEventListener("click", () => zoomOnTarget(1));
    byId("zoom-200").addEventListener("click", () => zoomOnTarget(2));
    byId("zoom-target").addEventListener("click", () => zoomOnTarget(null));
    host.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        zoomTo(
          view.scale * Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)),
          ...inside(event.clientX, event.clientY),
        );
      },
      { passive: false },
    );
    host.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      host.setPointerCapture(event.pointerId);
      host.classList.add("held");
    });
    host.addEventListener("pointermove", onMove);
    for (const name of ["pointerup", "pointercancel"]) {
      host.addEventListener(name, (event) => {
        fingers.delete(event.pointerId);
        if (!fingers.size) host.classList.remove("held");
      });
    }
    new ResizeObserver(() => (view.fitted ? fit() : place())).observe(host);
  };

  /** A place of the window, from the corner that the canvas is placed from: inside the border. */
  function inside(x, y) {
    const host = byId("stage"),
      area = host.getBoundingClientRect();
    return [x - area.left - host.clientLeft, y - area.top - host.clientTop];
  }

  function onMove(event) {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const now = [event.clientX, event.clientY];
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    fingers.set(event.pointerId, now);
    if (other) {
      // two fingers: their distance zooms
      const apart = (finger) => Math.max(1, Math.hypot(finger[0] - other[0], finger[1] - other[1]));
      zoomTo((view.scale * apart(now)) / apart(before), ...inside((now[0] + other[0]) / 2, (now[1] + other[1]) / 2));
    } else if (event.pointerType !== "touch" || !view.fitted) {
      // a swipe over the whole image is the page's
      view.x += now[0] - before[0];
      view.y += now[1] - before[1];
      view.fitted = false;
      place();
    }
  }

  /**
   * Shows a picture with its target, if any, and a `note` below it. `wh`: pixels of the file; `box` and the
   * clicks' `point` are fractions of it. A click has a `name`, and where there are several a `mark`; a swipe
   * goes from its `point` `to` another.
   * `target`: boxes and polygons, where it is not one box; `declined`: who said that there is none;
   * `crop`: the part that a model has looked at again; `accepted`: `target` is what a rule accepts, which has
   * something to `note`.
   *
   * @param {ShownImage} screen
   */
  stage.show = (screen) => {
    const { wh, box, clicks, picture } = screen;
    const source = picture?.view;
    const isSharp = !source?.endsWith("_1600.webp") || Math.max(...wh) <= 1600;
    shown = { screen, wh, box: box ?? bounds(screen), clicks, isSharp };
    byId("canvas").replaceChildren(source ? image(screen) : absent(picture), ...marks(screen));
    styled(byId("stage"), { "--shape": (wh[0] / wh[1]).toFixed(4) });
    byId("canvas").className = source ? "canvas" : "canvas empty";
    byId("zoom-target").hidden = !shown.box;
    byId("legend").replaceChildren(...legend(screen));
    fit();
  };

  /** Draws what another rule accepts, and leaves the image where it is. */
  stage.accept = (target, accepted) => {
    if (!shown?.screen.accepted) return; // nor on an image that was replaced
    const screen = { ...shown.screen, target, accepted };
    Object.assign(shown, { screen, box: bounds(screen) });
    const [picture] = byId("canvas").children;
    byId("canvas").replaceChildren(picture, ...marks(screen));
    byId("zoom-target").hidden = !shown.box;
    byId("legend").replaceChildren(...legend(screen));
  };

  /**
   * Left, upper, right and lower end of what a rule accepts; null where that is no place.
   * @param {ShownImage} screen
   */
  function bounds({ target, accepted }) {
    if (!target || !accepted) return null;
    const { boxes = [], ellipses = [] } = target;
    const all = [...boxes, ...ellipses.map(([x, y, w, h]) => [x - w, y - h, x + w, y + h])];
    return [0, 1, 2, 3].map((side) => (side < 2 ? Math.min : Math.max)(...all.map((corners) => corners[side])));
  }

  /** The image; where it does not load one of its copies, or in the end why there is none. */
  function image({ picture, alt }) {
    const copies = [...(picture.others ?? [])];
    const element = el("img", {
      src: picture.view,
      alt,
      draggable: "false",
      onerror: () => {
        if (copies.length) {
          element.src = copies.shift();
          return;
        }
        element.replaceWith(absent(picture));
        byId("canvas").className = "canvas empty";
      },
    });
    return element;
  }

  const absent = (picture) => el("p", { class: "absent" }, whyAbsent(picture));

  /**
   * What is drawn over the image.
   * @param {ShownImage} screen
   */
  function marks({ wh, box, target, clicks, crop, accepted }) {
    const layers = [];
    if (accepted && target) layers.push(outline(target));
    if (crop) layers.push(styled(el("i", { class: "crop", title: "second look" }), fractions(crop)));
    if (box) {
      for (const { point, to, mark } of clicks) if (!to) layers.push(leash(box, point, wh, mark));
      layers.push(target ? outline(target) : styled(el("i", { class: "target", title: "target" }), fractions(box)));
    }
    for (const { point, to, name, mark } of clicks) {
      if (to) layers.push(arrow(point, to, wh, mark));
      layers.push(
        styled(
          el(
            "i",
            { class: `point ${of(mark)} ${atBorder(point)}`, title: name, "data-mark": mark },
            mark ? el("b", {}, mark) : null,
          ),
          { left: `${100 * point[0]}%`, top: `${100 * point[1]}%` },
        ),
      );
    }
    return layers;
  }

  /**
   * What the marks mean, and what there is none of.
   * @param {ShownImage} screen
   */
  function legend(screen) {
    const { box, target, declined, clicks, crop, isAnswered, note, accepted } = screen;
    const quiet = (text) => el("span", { class: "quiet" }, text);
    const isWithoutClick = box && !clicks.length && !declined;
    const framed = nameOfTarget(screen);
    return [
      framed ? el("span", { class: "key box" }, framed) : null,
      crop ? el("span", { class: "key box dashed" }, "second look") : null,
      ...clicks.map(keyOf),
      accepted?.note ? quiet(accepted.note) : null,
      isAbsent(target) ? quiet("there is no such element") : null,
      declined ? quiet(declined) : null,
      isWithoutClick ? quiet(whyNoClick(isAnswered)) : null,
      note ? quiet(note) : null,
    ].filter(Boolean);
  }

  /**
   * What is framed in the image; nothing where nothing is.
   * @param {ShownImage} screen
   */
  const nameOfTarget = ({ box, target, accepted }) =>
    accepted ? target && `accepted by ${accepted.rule}` : box && "target";

  const whyNoClick = (isAnswered) => (isAnswered ? "no click could be read" : "no reply");

  /** What a mark on the image is. */
  const keyOf = ({ point, to, name, mark }) =>
    el(
      "span",
      { class: `key ${to ? "way" : "dot"} ${of(mark)}` },
      name,
      isInside(point) ? null : ", outside the image",
    );

  /** Why there is no image to show, in words. */
  function whyAbsent(picture) {
    if (!picture) return "There is no image";
    if (!picture.view) return "This image was missing or unreadable when the page was built";
    const folder = decodeURI(picture.view.split("/").slice(0, -2).join("/"));
    return folder
      ? `This image was in ${folder} when the page was built, but it is gone now`
      : "This image was there when the page was built, but it is gone now";
  }

  const isInside = (point) => point.every((value) => value >= 0 && value <= 1);
  /** At which borders a point lies, so that its letter stands on the side of the image. */
  const atBorder = ([x, y]) =>
    [x < 0.1 ? "at-left" : "", x > 0.9 ? "at-right" : "", y < 0.06 ? "at-top" : "", y > 0.94 ? "at-bottom" : ""]
      .filter(Boolean)
      .join(" ");
  const of = (mark) => (mark ? `of-${mark.toLowerCase()}` : "");

  const fractions = (box) => ({
    left: `${100 * box[0]}%`,
    top: `${100 * box[1]}%`,
    width: `${100 * (box[2] - box[0])}%`,
    height: `${100 * (box[3] - box[1])}%`,
  });

  /** A dashed line from a click to the nearest point of the target. */
  function leash(box, point, wh, mark) {
    const found = distance(box, point, wh);
    const path = found.px > 0 ? `M${point[0] * wh[0]} ${point[1] * wh[1]}L${found.near[0]} ${found.near[1]}` : "";
    return svg(
      "svg",
      {
        class: `leash ${of(mark)}`,
        viewBox: `0 0 ${wh[0]} ${wh[1]}`,
        preserveAspectRatio: "none",
        "aria-hidden": "true",
      },
      svg("path", { class: "halo", d: path, "vector-effect": "non-scaling-stroke" }),
      svg("path", { d: path, "vector-effect": "non-scaling-stroke" }),
    );
  }

  function place() {
    if (!shown) return;
    styled(byId("canvas"), {
      left: `${view.x}px`,
      top: `${view.y}px`,
      width: `${shown.wh[0] * view.scale}px`,
      height: `${shown.wh[1] * view.scale}px`,
    });
    byId("stage").classList.toggle("fitted", view.fitted);
    byId("canvas").classList.toggle("magnified", view.scale >= 3 && shown.isSharp);
    byId("zoom").value = `${Math.round(100 * view.scale)} %`;
  }

  function centred(scale) {
    const host = byId("stage");
    return { scale, x: (host.clientWidth - shown.wh[0] * scale) / 2, y: (host.clientHeight - shown.wh[1] * scale) / 2 };
  }

  function fitScale() {
    const host = byId("stage");
    const room = [host.clientWidth - 2 * MARGIN_PX, host.clientHeight - 2 * MARGIN_PX];
    return Math.max(0.01, Math.min(room[0] / shown.wh[0], room[1] / shown.wh[1], MOST));
  }

  function fit() {
    if (!shown || !byId("stage").clientWidth) return;
    view = { ...centred(fitScale()), fitted: true };
    place();
  }

  function zoomTo(scale, x, y) {
    if (!shown) return;
    const next = Math.max(Math.min(fitScale(), 1) / 2, Math.min(MOST, scale));
    const factor = next / view.scale;
    view = { scale: next, x: x - (x - view.x) * factor, y: y - (y - view.y) * factor, fitted: false };
    place();
  }

  /** The middle of some places of the picture, in its pixels, and the scale at which they just fit. */
  function around(spots) {
    const { wh } = shown,
      host = byId("stage");
    const xs = spots.map((spot) => spot[0] * wh[0]),
      ys = spots.map((spot) => spot[1] * wh[1]);
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const scale = Math.min(host.clientWidth / Math.max(1, right - left), host.clientHeight / Math.max(1, bottom - top));
    return { x: (left + right) / 2, y: (top + bottom) / 2, scale };
  }

  /** A scale with target and click in the middle, or the target alone where both do not fit (a click
      may lie far outside the picture); null chooses one that shows them well. */
  function zoomOnTarget(scale) {
    if (!shown) return;
    const { box, clicks } = shown,
      host = byId("stage");
    const target = box
        ? [
            [box[0], box[1]],
            [box[2], box[3]],
          ]
        : [],
      spots = [...target, ...clicks.map((click) => click.point)];
    const both = around(spots.length ? spots : [[0.5, 0.5]]);
    const middle = box && both.scale < (scale ?? fitScale() / 2) ? around(target) : both;
    const next = scale ?? Math.max(Math.min(4, 0.6 * middle.scale), Math.min(fitScale(), 0.85 * middle.scale));
    view = {
      scale: next,
      x: host.clientWidth / 2 - next * middle.x,
      y: host.clientHeight / 2 - next * middle.y,
      fitted: false,
    };
    place();
  }

  /** Whether a key meant the picture. */
  stage.key = (event) => {
    const middle = [byId("stage").clientWidth / 2, byId("stage").clientHeight / 2];
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (event.shiftKey && event.key in moves) {
      view = { ...view, x: view.x + moves[event.key][0], y: view.y + moves[event.key][1], fitted: false };
      place();
    } else if (event.key === "+" || event.key === "=") zoomTo(view.scale * STEP, ...middle);
    else if (event.key === "-") zoomTo(view.scale / STEP, ...middle);
    else if (event.key === "0") fit();
    else if (event.key === "1") zoomOnTarget(1);
    else if (event.key === "2") zoomOnTarget(2);
    else if (event.key === "t") zoomOnTarget(null);
    else return false;
    return true;
  };

  return stage;
})();
