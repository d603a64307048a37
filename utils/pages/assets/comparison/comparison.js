"use strict";
/* Which view an address shows, and the keys that work everywhere. */

(() => {
  const { byId, el, whole, plural, stage, pairs, figures, samples } = Report;
  const QUICK = { a: "only-a-right", b: "only-b-right", w: "both-wrong-different", e: null };
  const STEPS = { j: 1, ArrowDown: 1, ArrowRight: 1, k: -1, ArrowUp: -1, ArrowLeft: -1 };
  let view = null,
    toSearch = false,
    turn = 0;

  function show(name) {
    view = name;
    for (const each of ["overview", "samples"]) {
      byId(`view-${each}`).hidden = each !== name;
      byId(`to-${each}`).removeAttribute("aria-current");
    }
    byId(`to-${name}`).setAttribute("aria-current", "page");
    document.body.dataset.view = name;
  }

  const title = () =>
    pairs.match ? `${pairs.match.b} − ${pairs.match.a}` : pairs.summary.runs.map(({ label }) => label).join(", ");

  /** Shows what the address names: #/overview, #/samples?…, #/sample/<data set>/<index>?… */
  async function route() {
    const mine = ++turn,
      [path, ...rest] = location.hash.slice(1).split("?");
    const parameters = new URLSearchParams(rest.join("?"));
    await choose(Number(parameters.get("pair") ?? 1) - 1);
    if (mine !== turn) return route(); // another address meanwhile, perhaps of two other runs
    const id = path.startsWith("/sample/") ? path.slice("/sample/".length) : null;
    if (pairs.match && (id !== null || path === "/samples")) return showSamples(id, parameters);
    document.title = title();
    delete document.body.dataset.open;
    return show("overview");
  }

  /** Shows the samples that an address asks for; `id`: of the one that is open, if it names one. */
  async function showSamples(id, parameters) {
    const entered = view !== "samples",
      types = toSearch;
    toSearch = false;
    show("samples");
    if (types) search();
    document.title = `${byId("to-samples").textContent} · ${title()}`;
    const wanted = {};
    for (const name of pairs.FILTERS) if (parameters.has(name)) wanted[name] = parameters.getAll(name);
    await samples.show(wanted, parameters.get("q") ?? "", id);
    if (types) {
      if (document.activeElement !== byId("search")) search();
    } // on a phone it was hidden until now
    else if (entered)
      (samples.isNarrow && id !== null ? byId("sample-title") : byId("rows")).focus({ preventScroll: true });
  }

  async function choose(number) {
    const { matches } = pairs.summary;
    const next = matches[number] ? number : 0;
    if (!matches.length || next === pairs.number) return;
    await pairs.choose(next);
    byId("title").textContent = title();
    byId("to-all").hidden = location.pathname.split("/").at(-3) !== "comparisons"; // one that a run has made
    byId("what").textContent = `Comparison · ${plural(pairs.count, pairs.noun(...pairs.match.sets))} in common`;
    byId("match").value = String(next);
    samples.reset();
    figures.draw(byId("view-overview"));
    byId("to-samples").href = byId("skip").href = samples.listAddress();
    byId("to-samples").textContent = pairs.noun(...pairs.match.sets) === "episode" ? "Episodes" : "Samples";
    byId("to-overview").href = `#/overview${pairs.query({})}`;
  }

  function search() {
    byId("search").focus();
    byId("search").select();
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    if (event.target.closest("input, select, textarea")) {
      if (event.key === "Escape") {
        event.target.blur();
        byId("rows").focus();
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
    else if (key === "o") location.hash = `#/overview${pairs.query({})}`;
    else if (!pairs.match) return false;
    else if (key === "s") location.hash = samples.listAddress();
    else if (key in QUICK) samples.go({ ...samples.wanted, outcome: QUICK[key] ? [QUICK[key]] : [] });
    else if (key === "/") {
      toSearch = view !== "samples" || document.body.dataset.open === "sample";
      if (toSearch) location.hash = samples.listAddress();
      else search();
    } else if (view !== "samples") return false;
    else return inSamples(event);
    return true;
  }

  function inSamples(event) {
    const { key } = event;
    if (stage.key(event)) return true;
    if (event.target.closest("pre, button, a") && key.startsWith("Arrow")) return false;
    if (key in STEPS) samples.step(STEPS[key]);
    else if (key === "Home") samples.step(-samples.active);
    else if (key === "End") samples.step(samples.rows.length - 1 - samples.active);
    else if (key === "Enter" && event.target.id === "rows") samples.enter();
    else if (key === "Escape") samples.close();
    else return false;
    return true;
  }

  async function start() {
    try {
      await pairs.open();
    } catch (error) {
      byId("loading").textContent = `The data of this comparison cannot be read: ${error.message}`;
      return;
    }
    const { matches } = pairs.summary;
    byId("title").textContent = title();
    byId("match").replaceChildren(...matches.map(({ a, b }, number) => el("option", { value: number }, `${b} − ${a}`)));
    byId("match").hidden = matches.length < 2;
    byId("match").addEventListener("change", () => {
      const number = Number(byId("match").value);
      location.hash = `#/overview${number ? `?pair=${number + 1}` : ""}`;
    });
    for (const id of ["to-samples", "skip"]) byId(id).hidden = !matches.length;
    byId("to-samples").addEventListener("click", (event) => {
      event.preventDefault();
      location.hash = samples.listAddress();
    });
    byId("to-help").addEventListener("click", () => byId("help").showModal());
    if (!matches.length) figures.draw(byId("view-overview"));
    stage.start();
    samples.start();
    addEventListener("keydown", onKey);
    addEventListener("hashchange", route);
    await route();
    document.documentElement.dataset.ready = whole(Math.round(performance.now()));
  }

  start();
})();
