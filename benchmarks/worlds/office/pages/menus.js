"use strict";
/*
 * Lists that open where they were asked for.
 *
 * data-t          data-k         what
 * menu.item       value          an entry of an open choice or menu
 */

/** A list that opens where it was asked for; `entries`: [value, label, sign]. */
function menu(anchor, entries, chosen, pick) {
  document.querySelector(".menu")?.remove();
  const place = anchor.getBoundingClientRect();
  const box = h(
    "div",
    { class: "menu", role: "menu" },
    entries.map(([value, label, sign]) =>
      button(
        "menu.item",
        sign,
        label,
        () => {
          close();
          pick(value);
        },
        { k: value, class: value === chosen ? "on" : "" },
      ),
    ),
  );
  const close = () => {
    box.remove();
    removeEventListener("pointerdown", away, true);
    removeEventListener("keydown", keys, true);
  };
  const away = (event) => {
    if (!box.contains(event.target)) {
      close();
      if (anchor.contains(event.target)) anchor.dataset.closed = "1";
    }
  };
  const keys = (event) => {
    const all = [...box.children],
      at = all.indexOf(document.activeElement);
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown") all[(at + 1) % all.length].focus();
    else if (event.key === "ArrowUp") all[(at + all.length - 1) % all.length].focus();
    else if (event.key !== "Enter" || at < 0) return;
    event.stopPropagation();
    if (event.key !== "Enter") event.preventDefault();
    if (event.key === "Escape") anchor.focus();
  };
  document.body.append(box);
  const below = innerHeight - place.bottom - 8,
    above = place.top - 8;
  const up = box.offsetHeight > below && above > below;
  box.style.minWidth = `${place.width}px`;
  box.style.maxHeight = `${up ? above : below}px`;
  box.style.left = `${Math.max(4, Math.min(place.left, innerWidth - box.offsetWidth - 4))}px`;
  box.style.top = `${up ? place.top - Math.min(box.offsetHeight, above) - 2 : place.bottom + 2}px`;
  addEventListener("pointerdown", away, true);
  addEventListener("keydown", keys, true);
  return close;
}

/** A button that opens a menu, unless the click has just closed it. */
function opener(element, open) {
  element.addEventListener("click", (event) => {
    event.stopPropagation();
    if (element.dataset.closed) delete element.dataset.closed;
    else open();
  });
  return element;
}

/** A drop-down list of our own: a native one is drawn outside of the page, on no screenshot. */
function choice(t, entries, value, changed, more = {}) {
  let options = entries;
  const element = h("button", { type: "button", class: "choice", t, role: "combobox", ...more });
  const show = () =>
    put(element, h("span", {}, options.find(([each]) => each === element.value)?.[1] ?? ""), icon("down"));
  const set = (chosen) => {
    element.value = chosen;
    show();
  };
  Object.defineProperty(element, "value", {
    writable: true,
    value: options.some(([each]) => each === value) ? value : options[0]?.[0],
  });
  element.set = set;
  element.options = (given) => {
    options = given;
    show();
  };
  element.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") {
      event.preventDefault();
      element.click();
    }
  });
  show();
  return opener(element, () =>
    menu(element, options, element.value, (chosen) => {
      set(chosen);
      changed?.(chosen);
    }),
  );
}
