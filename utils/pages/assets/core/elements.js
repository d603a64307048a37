"use strict";
/* How pages make and find elements: those of a report, of a comparison, of a person as a model. The first two are
   opened from disk, where a browser loads no modules, so this is a classic script; modules see its one name, too. */

const Elements = (() => {
  const PROPERTIES = new Set(["hidden", "value", "tabIndex", "disabled", "open", "htmlFor"]);

  /**
   * The element with an id. Its kind is known from the page alone, so it may be used as any.
   * @type {(id: string) => any}
   */
  const byId = (id) => document.getElementById(id);

  /**
   * An element: attributes, `class`, listeners by `on…`; children are nodes or become text.
   * @param {string} tag
   * @param {Record<string, any> | null} [attributes]
   * @param {...any} children
   * @returns {any}
   */
  function el(tag, attributes, ...children) {
    const element = document.createElement(tag);
    fill(element, attributes, children);
    return element;
  }

  /**
   * The same of SVG.
   * @param {string} tag
   * @param {Record<string, any> | null} [attributes]
   * @param {...any} children
   */
  function svg(tag, attributes, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    fill(element, attributes, children);
    return element;
  }

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === undefined || value === null) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (PROPERTIES.has(name)) element[name] = value;
      else element.setAttribute(name, value);
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  }

  /** Style through the object model: a style attribute is what the pages' policy forbids. */
  function styled(element, style) {
    for (const [name, value] of Object.entries(style)) element.style.setProperty(name, value);
    return element;
  }

  return { byId, el, svg, styled };
})();
