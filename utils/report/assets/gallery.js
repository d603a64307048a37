"use strict";
/* The samples as cards. Only those in sight are in the page, however many there are. */

Report.gallery = (() => {
  const { el, styled, label, badge, whole, plural, store, VERDICTS } = Report;
  const LABELS = {
    dataset: "Data set", platform: "Platform", split: "Split", kind: "Type", app: "App", verdict: "Verdict", status: "Status",
    finish: "Finish", error: "Error", check: "Check",
  };
  const CARD_WIDTH_PX = 250, GAP_PX = 14, TEXT_HEIGHT_PX = 92, ROWS_AHEAD = 2;
  const gallery = { rows: [], active: 0, filter: {}, onOpen: () => {} };
  const $ = (id) => document.getElementById(id);
  let selects = {}, cards = new Map(), turn = 0;
  let layout = { columns: 1, width: CARD_WIDTH_PX, picture: 150, height: 250 };

  gallery.start = () => {
    for (const name of store.FIELDS) {
      const values = store.values(name);
      if (values.length < 2) continue; // nothing to choose
      const select = el("select", { id: `filter-${name}`, onchange: () => gallery.refilter({ [name]: select.value ? [select.value] : null }) },
        el("option", { value: "" }), values.map((value) => el("option", { value })));
      selects[name] = select;
      $("selects").append(el("label", {}, LABELS[name], select));
    }
    const order = el("select", { id: "order", onchange: () => gallery.refilter({ sort: order.value }) },
      el("option", { value: "" }, "As in the file"), el("option", { value: "distance" }, "Nearest misses first"), el("option", { value: "-distance" }, "Farthest misses first"));
    if (store.columns.point_frac?.some(Boolean)) $("selects").append(el("label", {}, "Order", order));
    gallery.orderSelect = order;
    let timer = 0;
    $("search").addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => gallery.refilter({ q: $("search").value.trim() }), 120);
    });
    $("clear").addEventListener("click", () => { gallery.apply({}); $("gallery").focus(); });
    $("filters").addEventListener("submit", (event) => event.preventDefault());
    $("gallery").addEventListener("scroll", draw, { passive: true });
    $("gallery").addEventListener("keydown", onKey);
    new ResizeObserver(() => { measure(); draw(); }).observe($("gallery"));
    if (matchMedia("(max-width: 700px)").matches) $("more-filters").open = false;
  };

  /** Shows the samples that fit; keeps what is not given. */
  gallery.refilter = (changes) => gallery.apply({ ...gallery.filter, ...changes });

  gallery.apply = async (filter) => {
    const mine = ++turn;
    if (filter.q && filter.q !== gallery.filter.q) $("count").value = "Searching…";
    const found = await store.select(filter);
    if (mine !== turn) return; // typed on meanwhile
    Object.assign(gallery, { filter, rows: found.rows, active: 0 });
    if ($("search").value.trim() !== (filter.q ?? "")) $("search").value = filter.q ?? "";
    gallery.orderSelect.value = filter.sort ?? "";
    showCounts(found);
    remember();
    for (const card of cards.values()) card.remove();
    cards = new Map();
    $("gallery").scrollTop = 0;
    measure();
    draw();
  };

  function showCounts({ rows, counts }) {
    for (const [name, select] of Object.entries(selects)) {
      const total = counts[name].reduce((sum, count) => sum + count, 0);
      select.options[0].textContent = `All (${whole(total)})`;
      store.values(name).forEach((value, number) => {
        const word = name === "verdict" ? VERDICTS[value]?.[1] ?? value : label(value);
        select.options[number + 1].textContent = `${word} (${whole(counts[name][number])})`;
      });
      select.value = gallery.filter[name]?.[0] ?? "";
    }
    const filtered = rows.length < store.count;
    $("count").value = filtered ? `${whole(rows.length)} of ${plural(store.count, "sample")}` : plural(store.count, "sample");
    $("clear").hidden = !filtered && !gallery.filter.q;
    $("nothing").hidden = rows.length > 0;
    $("gallery").hidden = rows.length === 0;
  }

  /** The filters stand in the address, so that a link shows the same samples. */
  gallery.address = () => store.listLink(gallery.filter);

  function remember() {
    if (location.hash.startsWith("#/samples")) history.replaceState(null, "", gallery.address());
  }

  /** Takes the filters from an address. */
  gallery.go = async (text) => {
    const filter = store.filterOf(text);
    if (!gallery.rows.length || store.listLink(filter) !== gallery.address()) await gallery.apply(filter);
  };

  function measure() {
    const host = $("gallery");
    const inner = host.clientWidth - 2 * GAP_PX;
    if (inner <= 0) return;
    const columns = Math.max(1, Math.floor((inner + GAP_PX) / (CARD_WIDTH_PX + GAP_PX)));
    const width = Math.floor((inner - (columns - 1) * GAP_PX) / columns);
    const picture = Math.round(width * 0.6);
    const before = layout;
    layout = { columns, width, picture, height: picture + TEXT_HEIGHT_PX + GAP_PX };
    const lines = Math.ceil(gallery.rows.length / columns);
    styled($("window"), { height: `${lines * layout.height + GAP_PX}px` });
    if (before.columns !== columns || before.width !== width) {
      for (const card of cards.values()) card.remove();
      cards = new Map();
    }
  }

  /** Brings the cards in sight into the page, takes the others out. */
  function draw() {
    const host = $("gallery");
    if (!host.clientHeight) return;
    const top = Math.max(0, Math.floor(host.scrollTop / layout.height) - ROWS_AHEAD);
    const bottom = Math.ceil((host.scrollTop + host.clientHeight) / layout.height) + ROWS_AHEAD;
    const first = top * layout.columns, last = Math.min(gallery.rows.length, bottom * layout.columns);
    for (const [place, card] of cards) {
      if (place < first || place >= last) { card.remove(); cards.delete(place); }
    }
    for (let place = first; place < last; place++) {
      if (!cards.has(place)) {
        cards.set(place, card(place));
        $("window").append(cards.get(place));
      }
    }
    mark();
  }

  function card(place) {
    const row = gallery.rows[place];
    const { index, text } = store.columns;
    const [line, column] = [Math.floor(place / layout.columns), place % layout.columns];
    const tags = [store.value("platform", row), store.value("split", row), store.value("kind", row)].filter((value) => value !== null);
    const status = store.value("status", row);
    const element = el("div", {
      class: "card", role: "option", id: `card-${place}`, "aria-posinset": place + 1, "aria-setsize": gallery.rows.length,
      "data-row": row, onclick: () => { gallery.active = place; gallery.onOpen(row); },
    },
    picture(row),
    el("div", { class: "words" },
      el("p", { class: "text" }, text[row] ?? "(no text)"),
      el("p", { class: "line" }, badge(status === "ok" || status === null ? store.value("verdict", row) : status),
        el("span", { class: "quiet" }, `${tags.map(label).join(" · ")} · ${index[row] ?? "–"}`))));
    return styled(element, {
      left: `${GAP_PX + column * (layout.width + GAP_PX)}px`, top: `${GAP_PX + line * layout.height}px`,
      width: `${layout.width}px`, height: `${layout.height - GAP_PX}px`, "--picture": `${layout.picture}px`,
    });
  }

  /** The image with target and click, inside the space of a card. */
  function picture(row) {
    const found = store.picture(row), box = store.columns.box_frac[row], point = store.columns.point_frac[row];
    const wh = found?.wh ?? [16, 10];
    const scale = Math.min(layout.width / wh[0], layout.picture / wh[1]);
    const frame = styled(el("div", { class: found?.view ? "frame" : "frame empty" }), {
      width: `${wh[0] * scale}px`, height: `${wh[1] * scale}px`,
    });
    if (found?.view) frame.append(el("img", { src: found.view, alt: "", loading: "lazy", decoding: "async", draggable: "false" }));
    if (box) {
      frame.append(styled(el("i", { class: "mini-box" }), {
        left: `${100 * box[0]}%`, top: `${100 * box[1]}%`, width: `${100 * (box[2] - box[0])}%`, height: `${100 * (box[3] - box[1])}%`,
      }));
    }
    if (point && point.every((value) => value >= 0 && value <= 1)) {
      frame.append(styled(el("i", { class: "mini-point" }), { left: `${100 * point[0]}%`, top: `${100 * point[1]}%` }));
    }
    return el("div", { class: "shot" }, frame);
  }

  function mark() {
    for (const [place, card] of cards) card.setAttribute("aria-selected", String(place === gallery.active));
    if (gallery.rows.length) $("gallery").setAttribute("aria-activedescendant", `card-${gallery.active}`);
  }

  /** Makes a place the active one and brings it into sight. */
  gallery.move = (place) => {
    const host = $("gallery");
    gallery.active = Math.max(0, Math.min(gallery.rows.length - 1, place));
    const top = Math.floor(gallery.active / layout.columns) * layout.height;
    if (top < host.scrollTop) host.scrollTop = top;
    else if (top + layout.height + GAP_PX > host.scrollTop + host.clientHeight) host.scrollTop = top + layout.height + GAP_PX - host.clientHeight;
    draw();
  };

  /** Back in sight, after a sample was open. */
  gallery.show = () => {
    measure();
    gallery.move(gallery.active);
  };

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor($("gallery").clientHeight / layout.height)) * layout.columns;
    const steps = {
      ArrowRight: 1, ArrowLeft: -1, ArrowDown: layout.columns, ArrowUp: -layout.columns,
      PageDown: page, PageUp: -page, Home: -store.count, End: store.count,
    };
    if (event.key in steps) gallery.move(gallery.active + steps[event.key]);
    else if (event.key === "Enter" && gallery.rows.length) gallery.onOpen(gallery.rows[gallery.active]);
    else return;
    event.preventDefault();
  }

  return gallery;
})();
