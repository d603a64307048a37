"use strict";
/* The samples that two runs share, as columns; which of them a filter leaves; addresses of filters. */

Report.pairs = (() => {
  const { load, joined, fileOf, searchText } = Report;
  const FILTERS = ["outcome", "dataset", "platform", "split", "kind", "tier"];
  const pairs = { FILTERS, summary: null, match: null, number: -1, count: 0, columns: {}, places: new Map() };
  let haystacks = null;

  pairs.open = async () => {
    pairs.summary = await load("summary", 0);
  };

  /** Loads the samples of two runs; those of others are let go. */
  pairs.choose = async (number) => {
    if (number === pairs.number) return;
    const match = pairs.summary.matches[number];
    const chunks = await Promise.all(match.rows.map((_, file) => load(`rows${number}`, file)));
    const columns = joined(chunks);
    haystacks = null;
    Object.assign(pairs, { match, number, columns, count: match.count });
    pairs.places = new Map((columns.ids ?? []).map((_, row) => [pairs.id(row), row]));
  };

  pairs.id = (row) => pairs.columns.ids[row][1];

  /** The value of a facet column; null where a sample has none. */
  pairs.value = (name, row) => {
    const number = pairs.columns[name][row];
    return number === null ? null : pairs.match.facets[name][number];
  };

  pairs.label = (name) => pairs.match.labels[name] ?? Report.label(name);

  /** The name of run A or B as it has room on a badge; of a long one both ends, which tell two alike apart. */
  pairs.brief = (letter) => {
    const name = [...pairs.match[letter.toLowerCase()]];
    return (name.length > 24 ? [...name.slice(0, 11), "…", ...name.slice(-12)] : name).join("");
  };

  pairs.set = (row) => pairs.match.sets.find((set) => set.dataset === pairs.value("dataset", row));

  /** What people call a sample of these data sets. */
  pairs.noun = (...sets) => (sets.every(({ unit }) => unit === "task") ? "episode" : "sample");

  pairs.picture = (row) => pairs.summary.pictures[pairs.columns.picture[row]] ?? null;

  /** Options, replies and errors of a sample. */
  pairs.details = async (row) => {
    const [file, index] = fileOf(pairs.match.details, row);
    return (await load(`details${pairs.number}`, file))[index];
  };

  /** The number of a row in its data set, with its own id. */
  pairs.sampleNumber = (row) => Report.numberAndId(pairs.columns.index[row], pairs.columns.id?.[row]);

  async function searchable() {
    if (haystacks) return haystacks;
    const { number, match, columns } = pairs;
    const all = (await Promise.all(match.details.map((_, file) => load(`details${number}`, file)))).flat();
    haystacks = all.map(({ replies }, row) =>
      searchText([columns.text[row], pairs.value("app", row), `#${pairs.sampleNumber(row)}`, ...replies]),
    );
    return haystacks;
  }

  /** An outcome as it stands in an address: "only A right" is "only-a-right". */
  pairs.slug = (outcome) => outcome.toLowerCase().replace(/[^a-z]+/g, "-");

  /** The filters that a row does not pass, by number; at most two. */
  function failedFilters(row, columns, allowed) {
    const failed = [];
    for (let f = 0; f < FILTERS.length && failed.length < 2; f++)
      if (allowed[f] && !allowed[f].has(columns[f][row])) failed.push(f);
    return failed;
  }

  /** Rows that fit, and for each filter how many rows each of its values would leave, and no choice. */
  pairs.select = async (wanted, query) => {
    const texts = query ? await searchable() : null,
      needle = query.toLowerCase();
    const { facets } = pairs.match;
    const allowed = FILTERS.map((name) =>
      wanted[name]?.length
        ? new Set(
            facets[name].flatMap((value, number) =>
              wanted[name].includes(name === "outcome" ? pairs.slug(value) : value) ? [number] : [],
            ),
          )
        : null,
    );
    const columns = FILTERS.map((name) => pairs.columns[name] ?? []);
    const counts = FILTERS.map((name) => new Array(facets[name].length).fill(0));
    const rows = [],
      all = FILTERS.map(() => 0);
    for (let row = 0; row < pairs.count; row++) {
      if (texts && !texts[row].includes(needle)) continue;
      const failed = failedFilters(row, columns, allowed);
      if (!failed.length) rows.push(row);
      const counted = failed.length === 0 ? FILTERS.keys() : failed.length === 1 ? failed : [];
      for (const f of counted) {
        all[f]++; // some rows have no value
        if (columns[f][row] !== null) counts[f][columns[f][row]]++;
      }
    }
    return {
      rows,
      counts: Object.fromEntries(FILTERS.map((name, f) => [name, counts[f]])),
      all: Object.fromEntries(FILTERS.map((name, f) => [name, all[f]])),
    };
  };

  /** What stands behind the "?" of an address: two runs, filters, search. */
  pairs.query = (wanted, query = "") => {
    const entries = FILTERS.flatMap((name) => (wanted[name] ?? []).map((value) => [name, value]));
    if (query) entries.push(["q", query]);
    if (pairs.number > 0) entries.unshift(["pair", String(pairs.number + 1)]);
    return entries.length ? `?${new URLSearchParams(entries)}` : "";
  };

  /** The address of the samples with these values; null leaves a field free. */
  pairs.listLink = (fields) =>
    `#/samples${pairs.query(
      Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value === null ? [] : [].concat(value)])),
    )}`;

  return pairs;
})();
