"use strict";
(() => {
  const body = /** @type {HTMLTableSectionElement} */ (document.querySelector("#runs tbody")),
    find = /** @type {HTMLInputElement} */ (document.getElementById("find")),
    rows = [...body.rows];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  find.addEventListener("input", () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    rows.forEach((row, place) => {
      row.hidden = !words.every((word) => texts[place].includes(word));
      left += row.hidden ? 0 : 1;
    });
    document.getElementById("nothing").hidden = left > 0;
  });
  document.querySelector(".find").addEventListener("submit", (event) => event.preventDefault());

  /** The places of cells in a row, one that spans several counted as often. */
  const cellAt = (row, column) => {
    let at = 0;
    for (const cell of row.cells) {
      at += cell.colSpan;
      if (at > column) return cell;
    }
    return null;
  };
  const valueOf = (row, column) => {
    const cell = cellAt(row, column),
      text = cell?.dataset.value ?? cell?.dataset.score ?? cell?.textContent ?? "";
    if (column < 2) return text.toLowerCase();
    return /^[\d.]/.test(text) && !cell.classList.contains("none") ? Number.parseFloat(text) : -Infinity;
  };
  const [first, second] = /** @type {NodeListOf<HTMLTableRowElement>} */ (document.querySelectorAll("#runs thead tr"));
  const single = [...first.cells].filter((cell) => cell.rowSpan === 2);
  const heads = [...single.slice(0, 2), ...second.cells, ...single.slice(2, 4)];
  heads.forEach((head, column) =>
    head.querySelector("button")?.addEventListener("click", () => {
      const isDown = head.getAttribute("aria-sort") !== "descending";
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      const values = new Map(rows.map((row) => [row, valueOf(row, column)]));
      rows.sort((a, b) => {
        const [x, y] = [values.get(a), values.get(b)];
        return (x < y ? -1 : x > y ? 1 : 0) * (isDown ? -1 : 1);
      });
      rows.forEach((row, place) => {
        texts[place] = row.textContent.toLowerCase();
      });
      body.append(...rows);
    }),
  );
  document.documentElement.dataset.ready = "yes";
})();
