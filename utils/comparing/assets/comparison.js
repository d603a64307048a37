"use strict";
/* Which view an address shows, and the keys that work everywhere. */

(() => {
  const { el, whole, plural, stage, pairs, figures, samples } = Report;
  const $ = (id) => document.getElementById(id);
  const QUICK = { a: "only-a-right", b: "only-b-right", w: "both-wrong-different", e: null };
  let view = null,
    toSearch = false,
    turn = 0;

  function show(name) {
    view = name;
    for (const each of ["overview", "samples"]) {
      $(`view-${each}`).hidden = each !== name;
      $(`to-${each}`).removeAttribute("aria-current");
    }
    $(`to-${name}`).setAttribute("aria-current", "page");
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
    const isSample = path.startsWith("/sample/");
    if (!pairs.match || !(isSample || path === "/samples")) {
      document.title = title();
      delete document.body.dataset.open;
      return show("overview");
    }
    const entered = view !== "samples",
      types = toSearch;
    toSearch = false;
    show("samples");
    if (types) search();
    document.title = `${$("to-samples").textContent} · ${title()}`;
    const wanted = {};
    for (const name of pairs.FILTERS) if (parameters.has(name)) wanted[name] = parameters.getAll(name);
    await samples.show(wanted, parameters.get("q") ?? "", isSample ? path.slice("/sample/".length) : null);
    if (types) {
      if (document.activeElement !== $("search")) search();
    } // on a phone it was hidden until now
    else if (entered) (samples.isNarrow && isSample ? $("sample-title") : $("rows")).focus({ preventScroll: true });
  }

  async function choose(number) {
    const { matches } = pairs.summary;
    const next = matches[number] ? number : 0;
    if (!matches.length || next === pairs.number) return;
    await pairs.choose(next);
    $("title").textContent = title();
    $("to-all").hidden = location.pathname.split("/").at(-3) !== "comparisons"; // one that a run has made
    $("what").textContent = `Comparison · ${plural(pairs.count, pairs.noun(...pairs.match.sets))} in common`;
    $("match").value = String(next);
    samples.reset();
    figures.draw($("view-overview"));
    $("to-samples").href = $("skip").href = samples.listAddress();
    $("to-samples").textContent = pairs.noun(...pairs.match.sets) === "episode" ? "Episodes" : "Samples";
    $("to-overview").href = `#/overview${pairs.query({})}`;
  }

  function search() {
    $("search").focus();
    $("search").select();
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
    if (event.target.closest("input, select, textarea")) {
      if (event.key === "Escape") {
        event.target.blur();
        $("rows").focus();
        event.preventDefault();
      }
      return;
    }
    if (act(event)) event.preventDefault();
  }

  /** Whether a key did something. */
  function act(event) {
    const { key } = event;
    if (key === "h" || key === "?") $("help").showModal();
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
    if (key === "j" || key === "ArrowDown" || key === "ArrowRight") samples.step(1);
    else if (key === "k" || key === "ArrowUp" || key === "ArrowLeft") samples.step(-1);
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
      $("loading").textContent = `The data of this comparison cannot be read: ${error.message}`;
      return;
    }
    const { matches } = pairs.summary;
    $("title").textContent = title();
    $("match").replaceChildren(...matches.map(({ a, b }, number) => el("option", { value: number }, `${b} − ${a}`)));
    $("match").hidden = matches.length < 2;
    $("match").addEventListener("change", () => {
      const number = Number($("match").value);
      location.hash = `#/overview${number ? `?pair=${number + 1}` : ""}`;
    });
    for (const id of ["to-samples", "skip"]) $(id).hidden = !matches.length;
    $("to-samples").addEventListener("click", (event) => {
      event.preventDefault();
      location.hash = samples.listAddress();
    });
    $("to-help").addEventListener("click", () => $("help").showModal());
    if (!matches.length) figures.draw($("view-overview"));
    stage.start();
    samples.start();
    addEventListener("keydown", onKey);
    addEventListener("hashchange", route);
    await route();
    document.documentElement.dataset.ready = whole(Math.round(performance.now()));
  }

  start();
})();
