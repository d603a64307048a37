"use strict";
/* Scores, tables, charts, audits, provenance: everything that analysis and manifest say. */

Report.overview = (() => {
  const { el, svg, styled, label, heading, whole, percent, plural, short, isCell, wide, store, VERDICTS } = Report;
  const SECTIONS = new Set(["table", "averages", "groups"]);
  const GROUP_FILTERS = { platform: "platform", split: "split", kind: "kind", type: "kind" };
  const GROUP_TITLES = { platform: "Platform", split: "Split", kind: "Type of element" };

  const interval = (cell) => (cell.low === undefined ? "" : cell.low === null
    ? "too few images for an interval" : `95 % interval ${percent(cell.low)} to ${percent(cell.high)}`);
  const basis = (cell) => [
    cell.samples === undefined ? null : plural(cell.samples, "sample"),
    cell.pictures === undefined ? null : plural(cell.pictures, "image"),
  ].filter(Boolean).join(" on ");

  function draw(host) {
    const { summary } = store;
    host.replaceChildren(notices(summary), ...summary.datasets.map(dataSet), provenance(summary.manifest));
  }

  function notices(summary) {
    const missing = summary.pictures.filter((picture) => !picture.view).length;
    const lines = [];
    for (const data of summary.datasets) {
      if (data.partial) lines.push(`${data.level} ${data.name}: a partial run; its scores cover only some of the samples`);
      for (const section of Object.values(data.analysis)) {
        for (const warning of section?.warnings ?? []) lines.push(`${data.level}: ${warning}`);
      }
    }
    if (missing) {
      lines.push(missing === summary.pictures.length
        ? "The images were not found or not readable when this report was built: targets and clicks are drawn on empty frames"
        : `${plural(missing, "image")} of ${whole(summary.pictures.length)} not found or not readable when this report was built`);
    }
    if (!summary.samples) lines.push("No sample has been scored yet");
    if (!lines.length) return document.createDocumentFragment();
    return el("section", { class: "warnings", "aria-label": "Warnings" },
      el("h2", {}, plural(lines.length, "thing to know", "things to know")),
      el("ul", {}, lines.map((line) => el("li", {}, line))));
  }

  function dataSet(data) {
    const { table, averages, groups } = data.analysis;
    const audits = Object.entries(data.analysis).filter(([name, section]) =>
      !SECTIONS.has(name) && section && typeof section === "object");
    return el("section", { class: "data-set", "aria-labelledby": `head-${data.level}` },
      el("h2", { id: `head-${data.level}` }, el("span", { class: "level" }, data.level), " ", spaced(data.name),
        data.partial ? el("span", { class: "tag" }, "partial") : null),
      el("div", { class: "headline" }, figures(data, averages), outcome(data)),
      table ? scoreTable(table) : null,
      groups ? el("div", { class: "charts" }, Object.entries(groups).map(([name, cells]) => chart(data, name, cells))) : null,
      audits.length ? el("div", { class: "audits" }, audits.map(([name, section]) => audit(name, section))) : null);
  }

  const spaced = (name) => name.replace(/([a-z])([A-Z])/g, "$1 $2").replace(/^GUI(?=[A-Z])/, "GUI ");

  /** The averaged figures, the first one large; plain accuracy where there is no analysis. */
  function figures(data, averages) {
    const cells = Object.entries(averages ?? {}).filter(([, cell]) => isCell(cell));
    if (!cells.length && data.samples) {
      const hits = data.counts.hits ?? 0;
      cells.push(["accuracy", { value: 100 * hits / data.samples, samples: data.samples, pictures: data.pictures }]);
    }
    return el("div", { class: "figures" }, cells.map(([name, cell], position) =>
      el("div", { class: position ? "figure" : "figure first" },
        el("p", { class: "name" }, heading(name)),
        el("p", { class: "value" }, percent(cell.value), cell.value === null ? null : el("small", {}, " %")),
        track(cell),
        el("p", { class: "quiet" }, interval(cell)),
        position ? null : el("p", { class: "quiet" }, basis(cell)))));
  }

  /** A bar with whiskers on 0 to 100; the figures beside it say the same in text. */
  function track(cell) {
    const parts = [svg("rect", { class: "ground", x: 0, y: 3, width: 100, height: 6, rx: 0 })];
    if (cell.value !== null) parts.push(svg("rect", { class: "fill", x: 0, y: 3, width: cell.value, height: 6 }));
    if (cell.low !== null && cell.low !== undefined) {
      parts.push(svg("path", {
        class: "whisker", d: `M${cell.low} 6H${cell.high}M${cell.low} 2V10M${cell.high} 2V10`, "vector-effect": "non-scaling-stroke",
      }));
    }
    return svg("svg", { class: "track", viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" }, parts);
  }

  /** What became of the samples, as one bar and as links to them. */
  function outcome(data) {
    const order = Object.keys(VERDICTS).filter((name) => data.counts[name]);
    return el("div", { class: "outcome" },
      el("p", { class: "name" }, `${plural(data.samples, "sample")} on ${plural(data.pictures, "image")}`),
      el("div", { class: "stack", "aria-hidden": "true" }, order.map((name) =>
        styled(el("span", { class: `is-${name.replaceAll(" ", "-")}` }), { "flex-grow": data.counts[name] }))),
      el("ul", {}, order.map((name) => {
        const [sign, word] = VERDICTS[name];
        const filter = name === "refused" || name === "failed" ? "status" : "verdict";
        const count = data.counts[name];
        return el("li", {},
          el("a", { href: store.listLink({ dataset: data.name, [filter]: name }), class: `is-${name.replaceAll(" ", "-")}` },
            el("span", { class: "sign", "aria-hidden": "true" }, sign), ` ${whole(count)} ${word}`,
            el("span", { class: "quiet" }, ` ${percent(100 * count / data.samples)} %`)));
      })));
  }

  function scoreTable(table) {
    const title = `${table.title}: accuracy in %, with 95 % intervals by image`;
    return el("div", { class: "block-of-scores" }, el("h3", {}, title),
      wide(title, el("table", { class: "scores", "aria-label": title },
        el("thead", {}, el("tr", {}, el("td"), table.columns.map((name) => el("th", { scope: "col" }, label(name))))),
        el("tbody", {}, table.rows.map((row) => el("tr", {},
          el("th", { scope: "row" }, heading(row.name)), row.cells.map(scoreCell)))))));
  }

  function scoreCell(cell) {
    if (!cell || cell.value === null) return el("td", { class: "none" }, "–");
    const low = cell.low !== null && cell.low !== undefined;
    return styled(el("td", { title: basis(cell) },
      el("b", {}, percent(cell.value, 2)),
      el("span", { class: "quiet" }, low ? `${percent(cell.low)} to ${percent(cell.high)}` : `n = ${whole(cell.samples ?? 0)}`)),
    { "--share": `${cell.value}%` });
  }

  function chart(data, group, cells) {
    const filter = GROUP_FILTERS[group];
    const known = filter ? store.summary.facets[filter] : [];
    return el("div", { class: "chart" }, el("table", {},
      el("caption", {}, GROUP_TITLES[group] ?? heading(group)),
      el("tbody", {}, Object.entries(cells).filter(([, cell]) => isCell(cell)).map(([name, cell]) => el("tr", { title: `${interval(cell)}, ${basis(cell)}` },
        el("th", { scope: "row" }, known.includes(name)
          ? el("a", { href: store.listLink({ dataset: data.name, [filter]: name }) }, heading(name)) : heading(name)),
        el("td", { class: "bar" }, track(cell)),
        el("td", { class: "number" }, percent(cell.value),
          el("span", { class: "sr" }, ` %, ${interval(cell)}, ${basis(cell)}`)))))));
  }

  function audit(name, section) {
    const rows = Array.isArray(section.rows) ? section.rows : [];
    const warnings = section.warnings ?? [];
    const others = Object.entries(section).filter(([key, value]) =>
      !["title", "rows", "notes", "warnings"].includes(key) && !(Array.isArray(value) && !value.length));
    const tables = [...partition(rows)].map(([caption, part]) => auditTable(caption, part));
    const broad = tables.length > 1 || tables.some((table) => table.tHead.rows[0].cells.length > 6);
    return el("section", { class: `audit${warnings.length ? " warns" : ""}${broad ? " broad" : ""}` },
      el("h3", {}, section.title ?? label(name)),
      warnings.map((line) => el("p", { class: "warning" }, line)),
      tables.length > 1 ? el("div", { class: "parts" }, tables) : wide(section.title ?? label(name), tables),
      (section.notes ?? []).map((line) => el("p", { class: "quiet" }, line)),
      others.length ? el("details", {}, el("summary", {}, "More figures"), tree(Object.fromEntries(others))) : null);
  }

  /** Rows of an audit that name a group and a unit, by both. */
  function partition(rows) {
    const parts = new Map();
    for (const row of rows) {
      const caption = [row.group, row.unit].filter(Boolean).join(", ");
      if (!parts.has(caption)) parts.set(caption, []);
      parts.get(caption).push(row);
    }
    return parts;
  }

  /** Columns of an audit's table: interval with its value, pictures with their samples, no empty ones. */
  function auditColumns(rows) {
    const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const has = (key) => keys.includes(key);
    const isEmpty = (key) => rows.every((row) => row[key] === null || row[key] === undefined || row[key] === "");
    const hidden = new Set(["name", "group", "unit", "high", ...(has("value") ? ["low"] : []), ...(has("samples") ? ["pictures"] : [])]);
    return keys.filter((key) => !hidden.has(key) && (key === "value" || !isEmpty(key))).map((key) => {
      if (key === "value") return [rows.some((row) => row.unit) ? "value" : "%", cellText];
      if (key === "low" && has("high")) return ["95 % interval", range];
      if (key === "samples" && has("pictures")) return ["samples (images)", (row) => `${short(row.samples ?? 0)} (${short(row.pictures ?? 0)})`];
      return [label(key), (row) => auditValue(row[key]), rows.some((row) => typeof row[key] === "string")];
    });
  }

  function auditTable(caption, rows) {
    const columns = auditColumns(rows);
    const align = (isText) => (isText ? "words-in" : null);
    return el("table", { class: "plain" },
      caption ? el("caption", {}, caption) : null,
      el("thead", {}, el("tr", {}, el("td"), columns.map(([name, , isText]) => el("th", { scope: "col", class: align(isText) }, name)))),
      el("tbody", {}, rows.map((row) => el("tr", { class: row.samples === 0 ? "nothing" : null },
        el("th", { scope: "row" }, label(row.name ?? "")),
        columns.map(([, text, isText]) => el("td", { class: align(isText) }, text(row)))))));
  }

  const range = (cell) => (cell.low === null || cell.low === undefined ? null
    : el("span", { class: "quiet" }, `${percent(cell.low)} to ${percent(cell.high)}`));
  const cellText = (cell) => (cell.value === null || cell.value === undefined ? "–"
    : [el("b", {}, percent(cell.value)), range(cell) && " ", range(cell)]);

  function auditValue(value) {
    if (value === null || value === undefined) return "–";
    if (value === true || value === false) return value ? "yes" : "no";
    if (isCell(value)) return cellText(value);
    if (Array.isArray(value) && value.every((each) => typeof each !== "object")) return value.map(short).join(", ");
    return typeof value === "object" ? tree(value) : short(value);
  }

  /** Any JSON value as nested lists. */
  function tree(value, depth = 0) {
    if (value === null || typeof value !== "object") return el("code", {}, value === null ? "none" : String(value));
    if (isCell(value)) return el("span", {}, auditValue(value));
    const entries = Object.entries(value);
    if (!entries.length) return el("code", {}, "empty");
    if (Array.isArray(value) && value.every((each) => each === null || typeof each !== "object")) {
      return el("code", {}, value.join(", "));
    }
    const list = el("dl", { class: "tree" }, entries.map(([key, each]) => el("div", {}, el("dt", {}, key), el("dd", {}, tree(each, depth + 1)))));
    return depth && entries.length > 12 ? el("details", {}, el("summary", {}, plural(entries.length, "entry", "entries")), list) : list;
  }

  function provenance(manifest) {
    if (!manifest) return document.createDocumentFragment();
    return el("details", { class: "provenance", id: "provenance" },
      el("summary", {}, el("h2", {}, "Provenance"), el("span", { class: "quiet" }, " what was run, with what, on what")),
      tree(manifest));
  }

  return { draw, tree };
})();
