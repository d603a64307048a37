"use strict";
/* What the list is narrowed to: the fields to choose from, the search, the order, cards or table. */

Report.filters = (() => {
  const { byId, el, styled, label, whole, plural, shareText, store, told } = Report;
  const NAMES = {
    dataset: "Level",
    platform: "Platform",
    split: "Split",
    kind: "Type",
    app: "App",
    verdict: "Verdict",
    status: "Status",
    finish: "Finish",
    ended: "Ended",
    error: "Error",
    check: "Check",
  };
  const ORDERS = {
    "": "As in the file",
    image: "By image",
    distance: "Nearest misses first",
    "-distance": "Farthest misses first",
    text: "Question, A to Z",
    "-text": "Question, Z to A",
    answer: "Answer, ascending",
    "-answer": "Answer, descending",
    verdict: "Verdict, hits first",
    "-verdict": "Verdict, hits last",
    reply: "Reply, A to Z",
    "-reply": "Reply, Z to A",
  };
  const MOST_CHARS = 40;
  const filters = {
    /** @type {(changes: {[field: string]: any}) => void} */
    onChange: () => {},
    onClear: () => {},
  };
  const selects = {};
  let search = null;

  filters.start = () => {
    nameFields(store.summary.datasets);
    for (const name of store.FIELDS) {
      if (isChoice(name)) selects[name] = choice(name, store.values(name));
    }
    const order = byId("order");
    order.append(
      ...Object.entries(ORDERS)
        .filter(([value]) => !value.endsWith("distance") || hasDistances())
        .map(([value, word]) => el("option", { value }, word)),
    );
    order.addEventListener("change", () => filters.onChange({ sort: order.value }));
    search = Report.searching(byId("search"), (q) => filters.onChange({ q }));
    byId("clear").addEventListener("click", () => {
      search.forget();
      filters.onClear();
    });
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    for (const view of ["cards", "table"]) {
      byId(`as-${view}`).addEventListener("click", () => filters.onChange({ view: view === "table" ? view : null }));
    }
    if (matchMedia("(max-width: 700px)").matches) byId("more-filters").open = false;
  };

  /** Names the fields after what they hold for these data sets. */
  function nameFields(datasets) {
    if (!datasets.every(({ level }) => /^L\d$/.test(level))) NAMES.dataset = "Data set";
    if (datasets.every(({ level }) => ["L3", "L4"].includes(level))) NAMES.split = "Category";
    else if (datasets.every(({ rules }) => rules)) NAMES.split = "Action type";
    else if (datasets.some(({ rules }) => rules)) NAMES.split = "Split or action type";
    const [first, ...others] = new Set(datasets.map(({ split_name: name }) => name ?? null));
    if (first && !others.length) NAMES.split = first[0].toUpperCase() + first.slice(1);
  }

  /** Whether some click is so far from a target. */
  const hasDistances = () => {
    const { box_frac: boxes, point_frac: points } = store.columns;
    return Boolean(points?.some((point, row) => point && boxes[row]));
  };

  /** Whether some samples have a value of a field that others do not have. */
  const isChoice = (name) =>
    store.values(name).length > 1 ||
    (store.values(name).length === 1 && store.columns[name].some((found) => found === null || found.length === 0));

  /** A select as wide as its longest text will ever be, so that counts move nothing. */
  function choice(name, values) {
    const select = el(
      "select",
      { id: `filter-${name}`, onchange: () => filters.onChange({ [name]: select.value ? [select.value] : null }) },
      el("option", { value: "" }, "All"),
      el("option", { value: "", disabled: true, hidden: true, class: "several" }),
      values.map((value) => el("option", { value })),
    );
    const longest = Math.max(8, ...values.map((value) => `${word(name, value)} (${whole(store.count)})`.length));
    byId("selects").append(
      el("label", {}, NAMES[name], styled(select, { width: `calc(${Math.min(longest, MOST_CHARS)} * .9ch + 1.7rem)` })),
    );
    return select;
  }

  function word(name, value) {
    if (name === "verdict") return told(value, store.noun === "episode");
    if (name === "dataset") {
      const data = store.summary.datasets.find((each) => each.name === value);
      return data ? store.brief(data) : value;
    }
    return label(value);
  }

  /** Says what is chosen, what each other value would leave, and how many samples are left. */
  filters.show = (filter, { rows, counts }) => {
    for (const name of store.FIELDS) {
      // a link may ask for what had nothing to choose
      if (filter[name] && !selects[name]) selects[name] = choice(name, store.values(name));
    }
    for (const [name, select] of Object.entries(selects)) showChoice(name, select, filter[name] ?? [], counts[name]);
    showList(filter);
    const chosen = store.FIELDS.filter((name) => filter[name]).length;
    const isFree = !chosen && !filter.q && !filter.sort;
    byId("chosen").textContent = chosen ? `, ${chosen} chosen` : "";
    byId("clear").classList.toggle("off", isFree);
    byId("clear").disabled = isFree;
    byId("count").value = total(rows, filter);
    byId("nothing").hidden = rows.length > 0;
  };

  /** What is searched for, the order, cards or table. */
  function showList(filter) {
    search.show(filter.q ?? "");
    byId("order").value = filter.sort in ORDERS ? filter.sort : "";
    for (const view of ["cards", "table"])
      byId(`as-${view}`).setAttribute("aria-pressed", String((filter.view ?? "cards") === view));
  }

  /** One select: how many samples each value would leave, and which values are wanted. */
  function showChoice(name, select, wanted, counts) {
    const [all, several, ...options] = select.options;
    options.forEach((option, number) => {
      option.textContent = `${word(name, option.value)} (${whole(counts[number])})`;
    });
    several.textContent = wanted.map((value) => word(name, value)).join(" or ");
    const known = wanted.length === 1 && options.find((option) => option.value === wanted[0]);
    const chosen = known || (wanted.length ? several : all);
    chosen.selected = true;
    select.title = wanted.length ? chosen.textContent : "";
    select.classList.toggle("chosen", wanted.length > 0);
  }

  function total(rows, filter) {
    const of = plural(store.count, store.noun);
    const text = rows.length < store.count ? `${whole(rows.length)} of ${of}` : of;
    if (filter.verdict || filter.status || !rows.length || isOfSeveralDataSets(rows)) return text;
    const hit = store.values("verdict").indexOf("hit");
    const hits = rows.reduce((sum, row) => sum + (store.columns.verdict[row] === hit), 0);
    const successes = store.noun === "episode" ? `${whole(hits)} succeeded` : plural(hits, "hit");
    return `${text} · ${successes}, ${shareText(hits, rows.length)} %`;
  }

  /** Hits of several data sets make no sum that means anything. */
  function isOfSeveralDataSets(rows) {
    const { dataset } = store.columns;
    return rows.some((row) => dataset[row] !== dataset[rows[0]]);
  }

  return filters;
})();
