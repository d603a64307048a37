"use strict";
/* The run's samples as columns, which rows a filter leaves, and one sample's details on demand. */

Report.store = (() => {
  const { load } = Report;
  const FILTERS = ["dataset", "platform", "split", "kind", "verdict", "status"];
  const store = { FILTERS, summary: null, count: 0, columns: {}, places: new Map(), addresses: [] };
  let haystacks = null;

  /** Loads everything that lists and filters need. */
  store.open = async () => {
    store.summary = await load("summary", 0);
    store.count = store.summary.samples;
    const chunks = await Promise.all(store.summary.rows.map((_, number) => load("rows", number)));
    for (const name of Object.keys(chunks[0] ?? {})) {
      store.columns[name] = [].concat(...chunks.map((chunk) => chunk[name]));
    }
    const { index, dataset } = store.columns;
    for (let row = 0; row < store.count; row++) {
      // An index may occur twice (one picture, several questions): the later ones get a tail.
      const base = `${encodeURIComponent(store.summary.facets.dataset[dataset[row]])}/${encodeURIComponent(index[row] ?? "none")}`;
      let address = base;
      for (let again = 2; store.places.has(address); again++) address = `${base}~${again}`;
      store.places.set(address, row);
      store.addresses.push(address);
    }
  };

  /** The value of a facet column of a row; null where it has none. */
  store.value = (name, row) => {
    const number = store.columns[name][row];
    return number === null ? null : store.summary.facets[name][number];
  };

  store.dataset = (row) => store.summary.datasets.find((data) => data.name === store.value("dataset", row));

  store.picture = (row) => {
    const number = store.columns.picture[row];
    return number === null ? null : store.summary.pictures[number];
  };

  function chunkOf(name, row) {
    const firsts = store.summary[name];
    let low = 0, high = firsts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (firsts[middle] <= row) low = middle; else high = middle - 1;
    }
    return [low, row - firsts[low]];
  }

  /** Everything that is known of one sample. */
  store.sample = async (row) => {
    const [file, place] = chunkOf("details", row);
    const [replyFile, replyPlace] = chunkOf("replies", row);
    const [details, replies] = await Promise.all([load("details", file), load("replies", replyFile)]);
    const detail = details.samples[place];
    const prompt = detail.prompt.map(([role, type, text]) => ({ role, type, value: details.texts[text] }));
    const reply = Object.fromEntries(Object.entries(replies).map(([name, list]) => [name, list[replyPlace]]));
    return { ...detail, ...reply, prompt };
  };

  store.distance = (row, wh) => Report.distance(store.columns.box_frac[row], store.columns.point_frac[row], wh);

  /** What the text search looks at; the replies come with the first search. */
  async function searchable() {
    if (haystacks) return haystacks;
    const chunks = await Promise.all(store.summary.replies.map((_, number) => load("replies", number)));
    const { text, index } = store.columns;
    haystacks = Array.from({ length: store.count }, (_, row) =>
      `${text[row] ?? ""}\n${store.value("app", row) ?? ""}\n#${index[row]}`);
    let row = 0;
    for (const chunk of chunks) {
      for (let place = 0; place < chunk.prediction.length; place++, row++) {
        const seen = [chunk.prediction[place], chunk.raw[place], chunk.reasoning[place]].filter(Boolean);
        haystacks[row] = `${haystacks[row]}\n${seen.join("\n")}`.toLowerCase();
      }
    }
    return haystacks;
  }

  /** Rows that fit, and for each filter how many rows each of its values would leave. */
  store.select = async (wanted, query, order) => {
    const texts = query ? await searchable() : null;
    const needle = query.toLowerCase();
    const codes = FILTERS.map((name) => {
      const value = wanted[name];
      return value === undefined || value === "" ? -1 : store.summary.facets[name].indexOf(value);
    });
    const active = FILTERS.map((name) => wanted[name] !== undefined && wanted[name] !== "");
    const columns = FILTERS.map((name) => store.columns[name] ?? []);
    const counts = FILTERS.map((name) => new Array(store.summary.facets[name].length).fill(0));
    const rows = [];
    for (let row = 0; row < store.count; row++) {
      if (texts && !texts[row].includes(needle)) continue;
      let failed = -1, failures = 0;
      for (let f = 0; f < FILTERS.length && failures < 2; f++) {
        if (active[f] && columns[f][row] !== codes[f]) { failed = f; failures++; }
      }
      if (failures === 0) {
        rows.push(row);
        for (let f = 0; f < FILTERS.length; f++) if (columns[f][row] !== null) counts[f][columns[f][row]]++;
      } else if (failures === 1 && columns[failed][row] !== null) {
        counts[failed][columns[failed][row]]++;
      }
    }
    if (order === "far" || order === "near") {
      const far = new Map(rows.map((row) => {
        const found = store.distance(row, store.picture(row)?.wh ?? [1, 1]);
        return [row, found && found.px > 0 ? found.px : null];
      }));
      const sign = order === "far" ? -1 : 1; // those without a distance come last, either way
      rows.sort((a, b) => {
        const [x, y] = [far.get(a), far.get(b)];
        if (x === null || y === null) return (x === null) - (y === null) || a - b;
        return sign * (x - y) || a - b;
      });
    }
    return { rows, counts: Object.fromEntries(FILTERS.map((name, f) => [name, counts[f]])) };
  };

  return store;
})();
