"use strict";
/* The list of samples, as cards or as a table. Only those in sight are in the page, however many there are. */

Report.gallery = (() => {
  const { byId, styled, store, items, filters } = Report;
  const CARD_WIDTH_PX = 250,
    CARD_TEXT_PX = 154,
    GAP_PX = 14,
    ROW_PX = 84,
    ROW_ON_PHONE_PX = 108,
    LINES_AHEAD = 2;
  const LETTER_PX = 6.95,
    FULL = 0.9; // of a reply; how much of its lines words fill
  const gallery = { rows: [], active: 0, filter: null, onOpen: /** @type {(row: number) => void} */ (() => {}) };
  const phone = matchMedia("(max-width: 700px)"); // there the page scrolls, not the list in it
  let shown = new Map(),
    turn = 0,
    left = { top: 0, active: 0 };
  let layout = { columns: 1, width: CARD_WIDTH_PX, picture: 150, height: 250, gap: GAP_PX, letters: 100 };

  gallery.start = () => {
    filters.start();
    filters.onChange = (changes) => gallery.apply({ ...gallery.filter, ...changes });
    filters.onClear = () => {
      gallery.apply({ view: gallery.filter.view });
      gallery.focus();
    };
    byId("gallery").addEventListener("scroll", draw, { passive: true });
    addEventListener("scroll", draw, { passive: true });
    byId("list").addEventListener("keydown", onKey);
    new ResizeObserver(() => {
      if (measure()) gallery.move(gallery.active);
      else draw();
    }).observe(byId("gallery"));
  };

  gallery.focus = () => byId("list").focus({ preventScroll: true });

  const isTable = () => gallery.filter.view === "table";

  /** Shows the samples that fit, first those at the top; a new view of the same ones keeps its place. */
  gallery.apply = async (filter) => {
    const mine = ++turn;
    const needle = gallery.filter?.q;
    const isSame =
      gallery.filter && store.listLink({ ...filter, view: null }) === store.listLink({ ...gallery.filter, view: null });
    if (filter.q && filter.q !== needle) byId("count").value = "Searching…";
    const found = await store.select(filter);
    if (mine !== turn) return; // typed on meanwhile
    Object.assign(gallery, { filter, rows: found.rows, active: isSame ? gallery.active : 0 });
    filters.show(filter, found);
    remember();
    byId("gallery").hidden = !found.rows.length;
    setKind();
    forget();
    measure();
    if (isSame) gallery.move(gallery.active);
    else toTop();
    draw();
  };

  /** Makes the list one of cards, or a table with a head. */
  function setKind() {
    const { filter, rows } = gallery;
    byId("head").hidden = !isTable();
    byId("head").replaceChildren(
      ...(isTable() ? items.head(filter.sort ?? "", (sort) => filters.onChange({ sort })) : []),
    );
    byId("list").setAttribute("role", isTable() ? "grid" : "listbox");
    byId("window").setAttribute("role", isTable() ? "rowgroup" : "presentation");
    if (isTable()) byId("list").setAttribute("aria-rowcount", rows.length + 1);
    else byId("list").removeAttribute("aria-rowcount");
    byId("gallery").classList.toggle("as-table", isTable());
  }

  function forget() {
    for (const element of shown.values()) element.remove();
    shown = new Map();
  }

  function toTop() {
    byId("gallery").scrollTop = 0;
    if (phone.matches && scrollY > byId("filters").offsetTop) scrollTo(0, byId("filters").offsetTop);
  }

  /** The filters stand in the address, so that a link shows the same samples. */
  gallery.address = () => store.listLink(gallery.filter ?? {});

  function remember() {
    if (location.hash.startsWith("#/samples")) history.replaceState(null, "", gallery.address());
  }

  /** Takes the filters from an address. */
  gallery.go = async (text) => {
    const filter = store.filterOf(text);
    if (!gallery.filter || store.listLink(filter) !== gallery.address()) await gallery.apply(filter);
  };

  const lettersIn = (width, lines) => Math.floor(width / LETTER_PX) * lines * FULL;

  /** Whether the places of the samples have changed. */
  function measure() {
    styled(byId("gallery"), { "--bar": `${byId("gallery").offsetWidth - byId("gallery").clientWidth}px` });
    const inner = byId("window").clientWidth;
    if (inner <= 0 || !gallery.filter) return false;
    const before = JSON.stringify(layout);
    if (isTable()) {
      const height = phone.matches ? ROW_ON_PHONE_PX : ROW_PX;
      const [space, lines] = phone.matches ? [inner - 134, 2] : [(inner - 400) / 2, 3];
      layout = {
        columns: 1,
        width: inner,
        picture: phone.matches ? 66 : height - 20,
        height,
        gap: 0,
        letters: lettersIn(space, lines),
      };
    } else {
      const columns = Math.max(1, Math.floor((inner + GAP_PX) / (CARD_WIDTH_PX + GAP_PX)));
      const width = Math.floor((inner - (columns - 1) * GAP_PX) / columns);
      const picture = Math.round(width * 0.6);
      layout = {
        columns,
        width,
        picture,
        height: picture + CARD_TEXT_PX + GAP_PX,
        gap: GAP_PX,
        letters: lettersIn(width - 24, 3),
      };
    }
    styled(byId("window"), { height: `${Math.ceil(gallery.rows.length / layout.columns) * layout.height}px` });
    const isNew = JSON.stringify(layout) !== before;
    if (isNew) forget();
    return isNew;
  }

  /** From where to where the list is in sight, in pixels of the list. */
  function sight() {
    const list = byId("window").getBoundingClientRect(),
      host = byId("gallery").getBoundingClientRect();
    const top = phone.matches
      ? Math.max(host.top, byId("filters").getBoundingClientRect().bottom, 0)
      : host.top + byId("head").offsetHeight;
    return { top: top - list.top, bottom: Math.min(host.bottom, innerHeight) - list.top };
  }

  /** Brings the samples in sight into the page, takes the others out. */
  function draw() {
    if (!byId("gallery").clientHeight || !gallery.filter) return;
    const { top, bottom } = sight();
    const first = Math.max(0, Math.floor(top / layout.height) - LINES_AHEAD) * layout.columns;
    const end = Math.min(gallery.rows.length, (Math.ceil(bottom / layout.height) + LINES_AHEAD) * layout.columns);
    Report.drawRange(byId("window"), shown, first, end, item);
    mark();
  }

  function item(place) {
    const row = gallery.rows[place],
      link = store.sampleLink(row, gallery.filter),
      needle = gallery.filter.q ?? "";
    const element = isTable() ? items.row(row, layout, needle, link) : items.card(row, layout, needle);
    element.id = `item-${place}`;
    element.dataset.place = place;
    if (isTable()) element.setAttribute("aria-rowindex", place + 2);
    else
      for (const [name, value] of [
        ["posinset", place + 1],
        ["setsize", gallery.rows.length],
      ])
        element.setAttribute(`aria-${name}`, value);
    element.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) {
        if (!event.target.closest("a")) open(link);
        return;
      }
      event.preventDefault();
      gallery.active = place;
      gallery.onOpen(row);
    });
    const [line, column] = [Math.floor(place / layout.columns), place % layout.columns];
    return styled(element, {
      left: `${column * (layout.width + layout.gap)}px`,
      top: `${line * layout.height}px`,
      width: `${layout.width}px`,
      height: `${layout.height - layout.gap}px`,
    });
  }

  function mark() {
    for (const [place, element] of shown) element.setAttribute("aria-selected", String(place === gallery.active));
    if (shown.has(gallery.active)) byId("list").setAttribute("aria-activedescendant", `item-${gallery.active}`);
    else byId("list").removeAttribute("aria-activedescendant");
  }

  /** Makes a place the active one and brings it into sight. */
  gallery.move = (place) => {
    gallery.active = Math.max(0, Math.min(gallery.rows.length - 1, place));
    const from = Math.floor(gallery.active / layout.columns) * layout.height;
    const { top, bottom } = sight();
    const scroller = phone.matches ? document.scrollingElement : byId("gallery");
    if (from < top) scroller.scrollTop -= top - from;
    else if (from + layout.height > bottom) scroller.scrollTop += from + layout.height - bottom;
    draw();
  };

  /** Another view takes the page. */
  gallery.leave = () => {
    left = { top: scrollY, active: gallery.active };
  };

  /** Back in sight, where it was unless another sample is the active one now. */
  gallery.show = () => {
    if (phone.matches) scrollTo(0, left.top);
    if (measure() || gallery.active !== left.active) gallery.move(gallery.active);
    else draw();
  };

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("button")) return;
    const { top, bottom } = sight();
    const page = Math.max(1, Math.floor((bottom - top) / layout.height)) * layout.columns;
    const steps = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowDown: layout.columns,
      ArrowUp: -layout.columns,
      PageDown: page,
      PageUp: -page,
      Home: -store.count,
      End: store.count,
    };
    if (event.key in steps) gallery.move(gallery.active + steps[event.key]);
    else if (event.key === "Enter" && gallery.rows.length) gallery.onOpen(gallery.rows[gallery.active]);
    else return;
    event.preventDefault();
  }

  return gallery;
})();
