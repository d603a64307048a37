"use strict";
/* The run's samples as columns, which rows a filter leaves, and one sample's details on demand. */

Report.store = (() => {
  const { load, joined, fileOf, searchText } = Report;
  const FIELDS = [
    "dataset",
    "platform",
    "split",
    "kind",
    "app",
    "verdict",
    "status",
    "finish",
    "ended",
    "error",
    "check",
  ];
  const store = { FIELDS, summary: null, count: 0, columns: {}, places: new Map(), addresses: [] };
  let haystacks = null;

  /** Whether a data set's questions have several answers each. */
  store.hasRepeats = ({ samples, questions, unit }) => unit !== "task" && samples > questions;

  /** Loads everything that lists and filters need. */
  store.open = async () => {
    store.summary = await load("summary", 0);
    store.count = store.summary.samples;
    const { datasets } = store.summary;
    store.noun = "sample";
    if (datasets.length && datasets.every(({ unit }) => unit === "task")) store.noun = "episode";
    else if (datasets.some(store.hasRepeats)) store.noun = "answer";
    const chunks = await Promise.all(store.summary.rows.map((_, number) => load("rows", number)));
    store.columns = joined(chunks);
    const { index, dataset } = store.columns;
    for (let row = 0; row < store.count; row++) {
      // An index may occur twice (one picture, several questions): the later ones get a tail.
      const names = [store.summary.facets.dataset[dataset[row]], index[row] ?? "none"];
      const base = names.map(encodeURIComponent).join("/");
      let address = base;
      for (let again = 2; store.places.has(address); again++) address = `${base}~${again}`;
      store.places.set(address, row);
      store.addresses.push(address);
    }
  };

  /** The address of the samples that fit: `{platform: "os_web", verdict: ["miss", "unparsed"]}`.
      Any of a field's values fits; `q` searches, `view` is "table" or nothing, `sort` a field or `-field`. */
  store.listLink = (filter) => withFilter("#/samples", filter);

  /** The address of one sample among those that fit. */
  store.sampleLink = (row, filter) => withFilter(`#/sample/${store.addresses[row]}`, filter);

  function withFilter(path, filter) {
    const entries = Object.entries(filter)
      .flatMap(([name, value]) => [value].flat().map((each) => [name, each]))
      .filter(([, value]) => value !== null && value !== undefined && value !== "");
    return entries.length ? `${path}?${new URLSearchParams(entries)}` : path;
  }

  /** What an address asks for: a list of values for each field; what is not known is left out. */
  store.filterOf = (text) => {
    const given = new URLSearchParams(text),
      filter = {};
    for (const name of FIELDS) if (given.has(name)) filter[name] = given.getAll(name);
    const levels = given.getAll("level");
    if (levels.length) {
      filter.dataset = [
        ...(filter.dataset ?? []),
        ...store.summary.datasets.filter((data) => levels.includes(data.level)).map((data) => data.name),
      ];
    }
    for (const name of ["q", "sort"]) if (given.get(name)) filter[name] = given.get(name);
    if (given.get("view") === "table") filter.view = "table";
    return filter;
  };

  store.values = (name) => store.summary.facets[name] ?? [];

  /** The value of a facet column of a row, a list where it may have several; null where it has none. */
  store.value = (name, row) => {
    const found = store.columns[name]?.[row] ?? null;
    if (Array.isArray(found)) return found.map((number) => store.summary.facets[name][number]);
    return found === null ? null : store.summary.facets[name][found];
  };

  /** How a data set is called where there is little room: by its level, if no other one has it. */
  store.brief = ({ name, level }) =>
    level && store.summary.datasets.filter((data) => data.level === level).length === 1 ? level : name;

  /** The number of a row in its data set, with its own id. */
  store.number = (row) => Report.numberAndId(store.columns.index[row], store.columns.id?.[row]);

  store.dataset = (row) => store.summary.datasets.find((data) => data.name === store.value("dataset", row));

  store.picture = (row) => {
    const number = store.columns.picture[row];
    return number === null ? null : store.summary.pictures[number];
  };

  /** Whether a row's image is another one now than the model was asked about; older logs do not say. */
  store.isReplaced = (row) => Report.isReplaced(store.picture(row), store.columns.image_digest?.[row]);

  /** Everything that is known of one sample. */
  store.sample = async (row) => {
    const [file, index] = fileOf(store.summary.details, row);
    const [[replies, replyIndex], details] = await Promise.all([store.reply(row), load("details", file)]);
    const detail = details.samples[index];
    const prompt = detail.prompt.map(([role, type, text]) => ({ role, type, value: details.texts[text] }));
    const reply = Object.fromEntries(Object.entries(replies).map(([name, list]) => [name, list[replyIndex]]));
    return { ...detail, ...reply, prompt };
  };

  store.distance = (row, wh) => Report.distance(store.columns.box_frac[row], store.columns.point_frac[row], wh);

  /** The replies of a row's file, as columns, and its index there. */
  store.reply = async (row) => {
    const [file, index] = fileOf(store.summary.replies, row);
    return [await load("replies", file), index];
  };

  /** All replies, as columns. */
  const allReplies = async () =>
    joined(await Promise.all(store.summary.replies.map((_, number) => load("replies", number))));

  /** What the text search looks at; the replies come with the first search. */
  async function searchable() {
    if (haystacks) return haystacks;
    const { prediction = [], raw, reasoning, key } = await allReplies();
    const { text } = store.columns;
    haystacks = prediction.map((reply, row) =>
      searchText([
        text[row],
        store.value("app", row),
        `#${store.number(row)}`,
        key?.[row],
        reply,
        raw[row],
        reasoning[row],
      ]),
    );
    return haystacks;
  }

  /** Rows that fit, and for each field how many rows each of its values would leave. */
  store.select = async (filter) => {
    const texts = filter.q ? await searchable() : null;
    const needle = (filter.q ?? "").toLowerCase();
    const fields = FIELDS.filter((name) => store.columns[name]).map((name) => ({
      column: store.columns[name],
      counts: new Array(store.values(name).length).fill(0),
      name,
      wanted: filter[name] ? new Set(filter[name].map((value) => store.values(name).indexOf(value))) : null,
    }));
    const fits = (found, wanted) => (Array.isArray(found) ? found.some((each) => wanted.has(each)) : wanted.has(found));
    const count = ({ column, counts }, row) => {
      for (const number of [column[row] ?? []].flat()) counts[number]++;
    };
    const rows = [];
    for (let row = 0; row < store.count; row++) {
      if (texts && !texts[row].includes(needle)) continue;
      const failed = fields.filter(({ column, wanted }) => wanted && !fits(column[row], wanted));
      if (failed.length === 0) {
        rows.push(row);
        for (const field of fields) count(field, row);
      } else if (failed.length === 1) count(failed[0], row);
    }
    if (filter.sort) await sort(rows, filter.sort);
    return { rows, counts: Object.fromEntries(fields.map(({ name, counts }) => [name, counts])) };
  };

  /** What a row is sorted by; null and undefined come last, in either direction. */
  const SORTS = {
    image: (row) => store.columns.picture[row],
    text: (row) => store.columns.text[row],
    verdict: (row) => ["hit", "miss", "unparsed", "no answer"].indexOf(store.value("verdict", row)),
    answer: (row) =>
      store.columns.chosen?.[row] ?? store.columns.step?.[row]?.answer ?? store.distance(row, wh(row))?.px,
    distance: (row) => store.distance(row, wh(row))?.px || null, // a hit is no near miss
  };
  const wh = (row) => (store.isReplaced(row) ? null : (store.picture(row)?.wh ?? [1, 1]));

  async function sort(rows, field) {
    const [name, sign] = field.startsWith("-") ? [field.slice(1), -1] : [field, 1];
    let keyOf = SORTS[name];
    if (name === "reply") {
      const { prediction } = await allReplies();
      keyOf = (row) => prediction[row];
    }
    if (!keyOf) return;
    const keys = new Map(rows.map((row) => [row, keyOf(row) ?? null]));
    const compare = (x, y) =>
      typeof x === typeof y ? (typeof x === "string" ? ORDER.compare(x, y) : x - y) : typeof x === "string" ? -1 : 1;
    rows.sort((a, b) => {
      const [x, y] = [keys.get(a), keys.get(b)];
      if (x === null || y === null) return Number(x === null) - Number(y === null) || a - b;
      return sign * compare(x, y) || a - b;
    });
  }
  const ORDER = new Intl.Collator("en", { numeric: true });

  return store;
})();
