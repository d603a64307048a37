"use strict";
/* Numbers as text, parts of pages, and data files: what the other scripts of the page share.
   Everything that comes from data becomes text nodes or attributes, never markup. */

const Report = (() => {
  const { byId, el, svg, styled } = Elements;
  const here = /** @type {HTMLScriptElement} */ (document.currentScript).src; // data/ lies beside this script, wherever the page does
  const wanted = new Map(); // "rows/0" → {promise, resolve}

  function slot(name, number) {
    const key = `${name}/${number}`;
    if (!wanted.has(key)) {
      const entry = { started: false };
      entry.promise = new Promise((resolve, reject) => Object.assign(entry, { resolve, reject }));
      wanted.set(key, entry);
    }
    return wanted.get(key);
  }

  /** Called by each data file. */
  function take(name, number, value) {
    slot(name, number).resolve(value);
  }

  /** The value of data/<name>_<number>.js. A page from disk may not fetch, but add a script. */
  function load(name, number) {
    const entry = slot(name, number);
    if (!entry.started) {
      entry.started = true;
      const script = document.createElement("script");
      script.src = new URL(`data/${name}_${number}.js`, here).href;
      script.onerror = () => entry.reject(new Error(`data/${name}_${number}.js is missing`));
      script.onload = () => script.remove();
      document.head.append(script);
    }
    return entry.promise;
  }

  /** The outline of a target that is more than one box: boxes, polygons and ellipses in fractions of the image. */
  function outline({ boxes = [], polygons = [], ellipses = [] }) {
    const places = [
      ...boxes.map(([x1, y1, x2, y2]) => [
        [x1, y1],
        [x2, y1],
        [x2, y2],
        [x1, y2],
      ]),
      ...polygons,
    ];
    const round = ellipses.map(
      ([x, y, w, h]) => `M${x - w} ${y}A${w} ${h} 0 1 0 ${x + w} ${y}A${w} ${h} 0 1 0 ${x - w} ${y}Z`,
    );
    const path = [
      ...places.map((corners) => `M${corners.map((corner) => corner.join(" ")).join("L")}Z`),
      ...round,
    ].join("");
    return svg(
      "svg",
      { class: "outline", viewBox: "0 0 1 1", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("path", { class: "halo", d: path, "vector-effect": "non-scaling-stroke" }),
      svg("path", { d: path, "vector-effect": "non-scaling-stroke" }),
    );
  }

  const HEAD = { length: 0.05, angle: 0.5 }; // of an arrow: a share of the image's shorter side, radians

  /** The arrow of a swipe; begin and end are fractions of the image. */
  function arrow([x1, y1], [x2, y2], wh, mark) {
    const [from, to] = [
      [x1 * wh[0], y1 * wh[1]],
      [x2 * wh[0], y2 * wh[1]],
    ];
    const way = Math.atan2(to[1] - from[1], to[0] - from[0]);
    const side = (turn) => {
      const length = HEAD.length * Math.min(...wh);
      return [to[0] - length * Math.cos(way + turn), to[1] - length * Math.sin(way + turn)].join(" ");
    };
    const path = `M${from.join(" ")}L${to.join(" ")}M${side(HEAD.angle)}L${to.join(" ")}L${side(-HEAD.angle)}`;
    const unbent = { d: path, "vector-effect": "non-scaling-stroke" };
    return svg(
      "svg",
      {
        class: `swipe of-${mark.toLowerCase()}`,
        viewBox: `0 0 ${wh[0]} ${wh[1]}`,
        preserveAspectRatio: "none",
        "aria-hidden": "true",
      },
      svg("path", { class: "halo", ...unbent }),
      svg("path", unbent),
    );
  }

  /** Whether a target is nothing at all: the element is not on the screen. */
  const isAbsent = (target) => Boolean(target) && !target.boxes && !target.polygons && !target.ellipses;

  const NAMES = {
    os_windows: "Windows",
    os_mac: "macOS",
    os_linux: "Linux",
    os_ios: "iOS",
    os_android: "Android",
    os_web: "Web",
  };
  /** A platform, or any other name of the data, as people read it. */
  const label = (name) => NAMES[name] ?? (/^\w+$/.test(name) ? name.replaceAll("_", " ") : String(name));

  /** The same at the head of a row. */
  const heading = (name) => NAMES[name] ?? label(name).replace(/^[a-z]/, (first) => first.toUpperCase());

  const VERDICTS = {
    hit: ["✓", "hit"],
    miss: ["✗", "miss"],
    unparsed: ["?", "unparsed"],
    "no answer": ["–", "no answer"],
    refused: ["⊘", "refused"],
    failed: ["!", "failed"],
    missing: ["∅", "missing"],
  };
  const OF_EPISODES = { hit: "succeeded", miss: "without success" };
  const told = (verdict, isEpisode) =>
    (isEpisode && OF_EPISODES[verdict]) || (VERDICTS[verdict]?.[1] ?? String(verdict));
  /** Sign, word and colour of a verdict: never told apart by colour alone. */
  function badge(verdict, isEpisode = false) {
    const sign = VERDICTS[verdict]?.[0] ?? "·",
      word = told(verdict, isEpisode);
    return el(
      "span",
      { class: `badge is-${String(verdict).replaceAll(" ", "-")}` },
      el("span", { "aria-hidden": "true", class: "sign" }, sign),
      ` ${word}`,
    );
  }

  /** From a click to the nearest point of a target, in pixels of the file (0 inside), and the target's size. */
  function distance(box, point, wh) {
    if (!box || !point || !wh) return null;
    const [x, y] = [point[0] * wh[0], point[1] * wh[1]];
    const [x1, y1, x2, y2] = [box[0] * wh[0], box[1] * wh[1], box[2] * wh[0], box[3] * wh[1]];
    const near = [Math.min(Math.max(x, x1), x2), Math.min(Math.max(y, y1), y2)];
    const px = Math.hypot(x - near[0], y - near[1]);
    const size = Math.hypot(x2 - x1, y2 - y1); // the diagonal, as the error anatomy has it
    return { px, near, sizes: size > 0 ? px / size : null, target: [x2 - x1, y2 - y1] };
  }

  /** Whether a picture's content is not that with this digest, as far as both are known. */
  const isReplaced = (picture, digest) => Boolean(digest && picture?.digest && digest !== picture.digest);

  /** Pixels with as many digits as tell something. */
  const pixels = (px) => px.toFixed(px < 10 ? 1 : 0);

  /** Where a click lies, in words. */
  const awayText = ({ px }) => (px === 0 ? "inside the target" : `${pixels(px)} px from the target`);

  /** Chunks of columns as one: `{text: [...], index: [...]}`. */
  function joined(chunks) {
    const names = Object.keys(chunks[0] ?? {});
    return Object.fromEntries(names.map((name) => [name, chunks.flatMap((chunk) => chunk[name])]));
  }

  /** Which data file has a row, and the row's index in it; `firsts`: the first row of each file. */
  function fileOf(firsts, row) {
    let low = 0;
    let high = firsts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (firsts[middle] <= row) low = middle;
      else high = middle - 1;
    }
    return [low, row - firsts[low]];
  }

  /** The number of a sample, and the id that its data file gives it, if that is another: "16 (id dish-17)". */
  const numberAndId = (number, id) => {
    const text = String(number ?? "–");
    return id === null || id === undefined || String(id) === text ? text : `${text} (id ${id})`;
  };

  /** What a text search looks at, of a sample's texts. */
  const searchText = (texts) =>
    texts
      .filter((text) => text !== null && text !== undefined && text !== "")
      .join("\n")
      .toLowerCase();

  /** Keeps the items from `first` to `end` of a list in the page, and no others. `drawn`: elements by index. */
  function drawRange(host, drawn, first, end, make) {
    for (const [index, element] of drawn) {
      if (index < first || index >= end) {
        element.remove();
        drawn.delete(index);
      }
    }
    for (let index = first; index < end; index++) {
      if (drawn.has(index)) continue;
      drawn.set(index, make(index));
      host.append(drawn.get(index));
    }
  }

  const integer = new Intl.NumberFormat("en-US");
  const whole = (number) => integer.format(number);
  const percent = (value, digits = 1) => (value === null || value === undefined ? "–" : value.toFixed(digits));
  const plural = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

  /** A number of an audit: whole ones whole, others with as many digits as tell something. */
  function short(value) {
    if (typeof value !== "number") return String(value);
    if (Number.isInteger(value)) return whole(value);
    const size = Math.abs(value);
    return size >= 100 ? value.toFixed(0) : size >= 1 ? value.toFixed(2) : String(Number(value.toPrecision(3)));
  }

  /** A share in per cent with one digit, halves up, as everywhere. */
  const shareText = (part, all) => (Math.floor((2000 * part + all) / (2 * all)) / 10).toFixed(1);

  /** Where a search finds a text; -1 where lower case has other places than the text itself. */
  function foundAt(text, needle, from = 0) {
    const low = text.toLowerCase();
    return needle && low.length === text.length ? low.indexOf(needle.toLowerCase(), from) : -1;
  }

  /** A text as nodes, with what the search found marked. */
  function marked(text, needle) {
    const parts = [];
    let end = 0;
    for (let at = foundAt(text, needle); at >= 0; at = foundAt(text, needle, end)) {
      parts.push(text.slice(end, at), el("mark", {}, text.slice(at, at + needle.length)));
      end = at + needle.length;
    }
    return [...parts, text.slice(end)].filter((part) => part !== "");
  }

  /** Begin and end of a long text, where replies say most, or the place that the search found. */
  function excerpt(text, needle, most) {
    const flat = text.replace(/\s+/g, " ").trim();
    if (flat.length <= most) return flat;
    const at = foundAt(flat, needle),
      begun = Math.floor(0.4 * most),
      ended = Math.floor(most) - begun - 3;
    if (at < 0) return `${flat.slice(0, begun).replace(/ \S*$/, "")} … ${flat.slice(-ended).replace(/^\S* /, "")}`;
    const size = Math.max(Math.floor(most) - 4, needle.length),
      begin = Math.max(0, Math.min(at - Math.floor(size / 3), flat.length - size));
    return `${begin ? "… " : ""}${flat.slice(begin, begin + size)}${begin + size < flat.length ? " …" : ""}`;
  }

  /** What may be wider than the page: it scrolls by itself, by keys too. */
  const wide = (name, ...children) =>
    el("div", { class: "wide", role: "region", tabIndex: 0, "aria-label": name }, children);

  /** A field whose text is searched for a moment after the last letter. */
  function searching(field, go) {
    let timer = 0; // what has been typed is not searched for yet
    const forget = () => {
      clearTimeout(timer);
      timer = 0;
    };
    field.addEventListener("input", () => {
      forget();
      timer = setTimeout(() => {
        timer = 0;
        go(field.value.trim());
      }, 120);
    });
    const show = (query) => {
      if (!timer && field.value.trim() !== query) field.value = query;
    };
    return { forget, show };
  }

  const isCell = (value) => Boolean(value) && typeof value === "object" && "value" in value && "samples" in value;

  return {
    byId,
    el,
    svg,
    styled,
    take,
    load,
    outline,
    arrow,
    isAbsent,
    label,
    heading,
    badge,
    whole,
    percent,
    plural,
    short,
    shareText,
    distance,
    isReplaced,
    awayText,
    joined,
    fileOf,
    numberAndId,
    searchText,
    drawRange,
    marked,
    excerpt,
    wide,
    searching,
    isCell,
    VERDICTS,
    told,
  };
})();
