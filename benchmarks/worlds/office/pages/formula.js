/* Formulas of Sheets: their values, and the cells of a range. */

/** The value of a formula; `value(cell)` gives what another cell shows. Throws what to show instead. */
export function formula(text, value) {
  const tokens =
    text
      .slice(1)
      .toUpperCase()
      .replaceAll("$", "")
      .replaceAll(";", ",")
      .match(/[A-J]\d{1,2}|[A-Z]+|\d+\.?\d*|\.\d+|[^\s]/g) || [];
  let position = 0;
  const take = (token) => {
    if (tokens[position] !== token) throw new Error("#ERROR!");
    position += 1;
  };
  const number = (cell) => {
    const text = value(cell);
    if (String(text).startsWith("#")) throw new Error(text);
    return text === "" || isNaN(text) ? null : +text;
  };
  const ranges = {
    SUM: (all) => all.reduce((a, b) => a + b, 0),
    AVERAGE: (all) => (all.length ? ranges.SUM(all) / all.length : divide()),
    COUNT: (all) => all.length,
    MIN: (all) => (all.length ? Math.min(...all) : 0),
    MAX: (all) => (all.length ? Math.max(...all) : 0),
  };
  const divide = () => {
    throw new Error("#DIV/0!");
  };
  /** The numbers between the parentheses of a function. */
  function list() {
    const all = [];
    take("(");
    do {
      if (tokens[position] === ",") position += 1;
      if (/^[A-J]\d/.test(tokens[position]) && tokens[position + 1] === ":") {
        const [from, , to] = tokens.slice(position, position + 3);
        if (!/^[A-J]\d/.test(to || "")) throw new Error("#ERROR!");
        for (const cell of between(from, to)) {
          const inRange = number(cell);
          if (inRange !== null) all.push(inRange);
        }
        position += 3;
      } else all.push(sum());
    } while (tokens[position] === ",");
    take(")");
    return all;
  }
  function factor() {
    const token = tokens[position];
    position += 1;
    if (token === "-") return -factor();
    if (token === "+") return factor();
    if (token === "(") {
      const inside = sum();
      take(")");
      return inside;
    }
    if (/^[\d.]/.test(token || "")) return +token;
    if (/^[A-J]\d/.test(token || "")) return number(token) ?? 0;
    return call(token);
  }
  /** The value of a function. */
  function call(name) {
    if (name === "ROUND") {
      const [what, digits = 0] = list();
      return Math.round(what * 10 ** digits) / 10 ** digits;
    }
    if (ranges[name]) return ranges[name](list());
    throw new Error(/^[A-Z]/.test(name || "") ? "#NAME?" : "#ERROR!");
  }
  function product() {
    let result = factor();
    while (tokens[position] === "*" || tokens[position] === "/") {
      const sign = tokens[position];
      position += 1;
      const next = factor();
      if (sign === "*") result *= next;
      else if (next === 0) divide();
      else result /= next;
    }
    return result;
  }
  function sum() {
    let result = product();
    while (tokens[position] === "+" || tokens[position] === "-") {
      const sign = tokens[position];
      position += 1;
      const next = product();
      result += sign === "+" ? next : -next;
    }
    return result;
  }
  const result = sum();
  if (position < tokens.length) throw new Error("#ERROR!");
  return result;
}

/** All cells of a rectangle, row by row. */
export function between(one, other) {
  const columns = [one.charCodeAt(0), other.charCodeAt(0)].sort((a, b) => a - b),
    rows = [+one.slice(1), +other.slice(1)].sort((a, b) => a - b),
    all = [];
  for (let row = rows[0]; row <= rows[1]; row += 1)
    for (let column = columns[0]; column <= columns[1]; column += 1) all.push(String.fromCharCode(column) + row);
  return all;
}
