"use strict";
/* Which view an address shows, and the keys that work everywhere. */

(() => {
  const { byId, store, overview, gallery, stage, film, sample, whole, el } = Report;
  const VIEWS = ["overview", "samples", "sample"]; // their ids begin with "view-": no address may make the page jump
  let view = null,
    turn = 0;

  function show(name) {
    if (view === "samples" && name !== view) gallery.leave();
    if (view === "sample" && name !== view) film.stop();
    view = name;
    for (const each of VIEWS) byId(`view-${each}`).hidden = each !== name;
    document.body.dataset.view = name;
    byId("to-overview").toggleAttribute("aria-current", name === "overview");
    byId("to-samples").toggleAttribute("aria-current", name !== "overview");
    for (const id of ["to-overview", "to-samples"])
      if (byId(id).hasAttribute("aria-current")) byId(id).setAttribute("aria-current", "page");
  }

  const lost = el("p", { class: "notice", role: "status", hidden: true });

  async function route() {
    const mine = ++turn,
      [name, rest] = split(location.hash.replace(/^#\/?/, ""));
    lost.hidden = true;
    if (name === "samples") {
      const back = view === "sample";
      show("samples");
      await gallery.go(rest);
      if (mine !== turn) return; // another address meanwhile
      gallery.show();
      gallery.focus();
      if (!back) document.title = `${byId("to-samples").textContent} · ${title()}`;
      return;
    }
    if (name.startsWith("sample/")) {
      const row = store.places.get(name.slice("sample/".length));
      await gallery.go(rest);
      if (mine !== turn) return;
      if (row !== undefined) return open(row, new URLSearchParams(rest).get("step"));
      const address = readable(name.slice("sample/".length));
      lost.textContent = `This report has no ${store.noun} ${address}; this is its overview.`;
      lost.hidden = false;
    }
    show("overview");
    document.title = title();
  }

  const readable = (address) => {
    try {
      return decodeURIComponent(address);
    } catch {
      return address;
    }
  };

  const split = (hash) => {
    const at = hash.indexOf("?");
    return at < 0 ? [hash, ""] : [hash.slice(0, at), hash.slice(at + 1)];
  };

  const title = () => `${store.summary.model ?? "Report"} · ${store.summary.run}`;

  async function open(row, wanted) {
    const entered = view !== "sample";
    const place = gallery.rows.indexOf(row);
    if (place >= 0) gallery.active = place;
    byId("previous").disabled = place <= 0;
    byId("next").disabled = place < 0 || place >= gallery.rows.length - 1;
    show("sample");
    scrollTo(0, 0);
    await sample.show(
      row,
      place >= 0 ? `${whole(place + 1)} of ${whole(gallery.rows.length)}` : "outside the filters",
      wanted,
      (now) => {
        history.replaceState(
          null,
          "",
          store.sampleLink(row, now > 1 ? { ...gallery.filter, step: now } : gallery.filter),
        ); // a link to this step
      },
    );
    document.title = `${byId("sample-title").textContent} · ${title()}`;
    if (entered) byId("sample-title").focus({ preventScroll: true });
  }

  const address = (row) => store.sampleLink(row, gallery.filter);
  gallery.onOpen = (row) => {
    location.hash = address(row);
  };

  function step(by) {
    const place = gallery.rows.indexOf(sample.row) + by;
    if (place < 0 || place >= gallery.rows.length || sample.row === null) return;
    location.replace(address(gallery.rows[place])); // one step back leads to the samples again
  }

  function close() {
    location.hash = gallery.address();
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const field = event.target.closest("input, select, textarea");
    if (field) {
      if (event.key === "Escape") {
        field.blur();
        gallery.focus();
        event.preventDefault();
      }
      return;
    }
    if (act(event)) event.preventDefault();
  }

  /** Whether a key did something. */
  function act(event) {
    const { key } = event;
    if (key === "h" || key === "?") byId("help").showModal();
    else if (key === "/") search();
    else if (key === "o") location.hash = "#/overview";
    else if (key === "s") location.hash = gallery.address();
    else if (view === "sample") return inSample(event);
    else if (view === "samples") return inSamples(event);
    else return false;
    return true;
  }

  function search() {
    location.hash = view === "samples" ? location.hash : gallery.address();
    setTimeout(() => {
      byId("search").focus();
      byId("search").select();
    });
  }

  function inSamples(event) {
    const { key } = event;
    if (key === "v") gallery.apply({ ...gallery.filter, view: gallery.filter.view ? null : "table" });
    else if (key === "j") gallery.move(gallery.active + 1);
    else if (key === "k") gallery.move(gallery.active - 1);
    else if (key === "Enter" && event.target === document.body) gallery.onOpen(gallery.rows[gallery.active]);
    else return false;
    return true;
  }

  function inSample(event) {
    const { key } = event;
    if (stage.key(event) || film.key(event)) return true;
    if (key === "Escape") close();
    else if (key === "j" || key === "ArrowRight") step(1);
    else if (key === "k" || key === "ArrowLeft") step(-1);
    else return false;
    return true;
  }

  /** The list of all runs; null where this report is not in its place below a work-dir: it was sent around. */
  function allRuns({ run, folder }) {
    const [above, own] = decodeURIComponent(location.pathname).split("/").slice(-4, -2);
    if (above === folder && own === run) return "../../../index.html";
    return own === folder ? "../../index.html" : null; // the model's link to its newest report
  }

  /** Where a report has nothing but episodes, the page calls them so. */
  function rename() {
    if (store.noun !== "episode") return;
    const renamed = (text) =>
      text
        .replace(/\ba sample/, "an episode")
        .replace("sample", "episode")
        .replace("Sample", "Episode");
    for (const each of document.querySelectorAll("#skip, #to-samples, #close, #nothing, #help td")) {
      if (!each.childElementCount) each.textContent = renamed(each.textContent);
    }
    for (const name of ["aria-label", "title"]) {
      for (const each of document.querySelectorAll(`[${name}*=ample]`))
        each.setAttribute(name, renamed(each.getAttribute(name)));
    }
  }

  async function start() {
    try {
      await store.open();
    } catch (error) {
      byId("loading").textContent = `The data of this report cannot be read: ${error.message}`;
      return;
    }
    rename();
    byId("model").textContent = store.summary.model ?? "No samples";
    byId("run").textContent = store.summary.run;
    const all = allRuns(store.summary);
    if (all) Object.assign(byId("to-all"), { href: all, hidden: false });
    overview.draw(byId("view-overview"));
    byId("view-overview").prepend(lost);
    gallery.start();
    stage.start();
    byId("close").addEventListener("click", close);
    byId("previous").addEventListener("click", () => step(-1));
    byId("next").addEventListener("click", () => step(1));
    byId("play").addEventListener("click", film.play);
    byId("to-help").addEventListener("click", () => byId("help").showModal());
    byId("to-samples").addEventListener("click", (event) => {
      event.preventDefault();
      location.hash = gallery.address();
    });
    addEventListener("keydown", onKey);
    addEventListener("hashchange", route);
    await route();
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
  }

  start();
})();
