// L3 and L4: mouse and keyboard on the screenshot, as actions of the default prompt. Each is sent at once,
// text when it is complete; what ends a task is asked for again.

import { arrowOf } from "./choosing.js";

const SEVERAL_MS = 330; // between the clicks of a double click
const NEAR_PX = 8; // on the screen; a click further away is none of them
const WHEEL_MS = 280; // after which a turn of the wheel is over
const PIXELS_PER_NOTCH = 100;
const LINES_PER_NOTCH = 3;
const MOST_NOTCHES = 100;
const NOTCHES = 5; // of a scroll without a wheel
const GESTURES = {
  click: "a click",
  double_click: "a double click",
  triple_click: "a triple click",
  right_click: "a right click",
  middle_click: "a middle click",
  long_press: "a long press",
  move: "hovering",
  drag: "a drag: start, then end",
  "scroll down": "scrolling down",
  "scroll up": "scrolling up",
  "scroll left": "scrolling left",
  "scroll right": "scrolling right",
};
const MOUSE = ["click", "middle_click", "right_click"]; // by button
const CLICKS = ["click", "double_click", "triple_click"];
const KEYS = {
  Enter: "enter",
  Tab: "tab",
  Escape: "escape",
  Backspace: "backspace",
  Delete: "delete",
  Insert: "insert",
  " ": "space",
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
  Home: "home",
  End: "end",
  PageUp: "pageup",
  PageDown: "pagedown",
};
for (let number = 1; number <= 12; number++) KEYS[`F${number}`] = `f${number}`;
const { byId } = Elements;

const isCharacter = (key) => [...key].length === 1;
/** Whether a key writes something, rather than being pressed for what it does. */
const writes = (event) =>
  (isCharacter(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey) || event.getModifierState("AltGraph");

const heldKeys = (event) =>
  [
    ["ctrl", event.ctrlKey],
    ["alt", event.altKey],
    ["shift", event.shiftKey],
    ["meta", event.metaKey],
  ]
    .filter(([, isHeld]) => isHeld)
    .map(([name]) => name);

export class Acting {
  constructor(stage, send, ask) {
    this.stage = stage;
    this.send = send;
    this.ask = ask;
    this.clicks = this.wheel = null;
    this.typing = byId("typing");
    this.gesture = byId("gesture");
    for (const [value, text] of Object.entries(GESTURES)) this.gesture.add(new Option(text, value));
    for (const name of Object.values(KEYS)) byId("key-names").append(new Option(name, name));
    this.#listen();
  }

  get keysGoToScreen() {
    return document.querySelector("[name=keys-go]:checked").getAttribute("value") === "screen";
  }

  /** Begins a step of a task; `isNew`: its first one here. */
  begin(question, isNew) {
    this.question = question;
    if (isNew) {
      this.typing.value = "";
      this.#resetGesture();
    }
    if (isNew || this.keysGoToScreen) this.stage.setPoint(null); // it would cover what came of the click
    byId("applications").replaceChildren(...question.applications.map((name) => new Option(name, name)));
  }

  /** Nothing can be done until the next step begins. */
  end() {
    this.question = null;
    clearTimeout(this.clicks?.timer);
    clearTimeout(this.wheel?.timer);
    this.clicks = this.wheel = null;
  }

  #listen() {
    this.gesture.addEventListener("change", () => this.stage.setStart(null));
    byId("type-enter").addEventListener("click", () => this.#type("\n"));
    byId("type-only").addEventListener("click", () => this.#type(""));
    this.typing.addEventListener("keydown", (event) => this.#typingKey(event));
    byId("pressing").addEventListener("submit", (event) => {
      event.preventDefault();
      const keys = byId("keys").value.trim().toLowerCase();
      if (keys) this.#act([{ kind: "press", keys }]);
      byId("keys").value = "";
    });
    for (const button of document.querySelectorAll("[data-action]"))
      button.addEventListener("click", () => this.#plain(button.getAttribute("data-action")));
    for (const button of document.querySelectorAll("[data-ask]"))
      button.addEventListener("click", () => this.#askFor(button.getAttribute("data-ask")));
    this.stage.sheet.addEventListener("wheel", (event) => this.#turn(event), { passive: false });
  }

  /** Sends actions, behind what stands in the text field. */
  #act(actions, text = this.typing.value) {
    const all = text ? [{ kind: "type", text }, ...actions] : actions;
    if (!this.question || all.length === 0) return;
    this.end();
    this.#resetGesture();
    this.send({ actions: all }).then((isTaken) => {
      if (isTaken) this.typing.value = "";
    });
  }

  #resetGesture() {
    this.gesture.value = "click";
    this.stage.setStart(null);
  }

  #plain(kind) {
    this.#act([kind === "wait" ? { kind, seconds: 1 } : { kind }]);
    this.stage.view.focus({ preventScroll: true });
  }

  #type(ending) {
    this.#act([], this.typing.value + ending);
    this.stage.view.focus({ preventScroll: true });
  }

  async #askFor(kind) {
    const text = await this.ask(kind);
    if (text === null) return;
    const action = kind === "done" ? { kind } : kind === "open_app" ? { kind, name: text } : { kind, text };
    this.#act([action]);
    this.stage.view.focus({ preventScroll: true });
  }

  // -- the mouse ----------------------------------------------------------------------------------

  tap(pixel, event, wasHeld) {
    if (!this.question) return;
    this.stage.setPoint(pixel);
    const modifiers = heldKeys(event);
    if (event.button > 0) {
      if (MOUSE[event.button]) this.#act([{ kind: MOUSE[event.button], ...pixel, modifiers }]);
    } else if (this.gesture.value !== "click") {
      this.perform(pixel, modifiers);
    } else if (wasHeld) {
      this.#act([{ kind: "long_press", ...pixel, modifiers }]);
    } else {
      this.#click(pixel, modifiers);
    }
  }

  /** Counts the clicks that follow each other. */
  #click(pixel, modifiers) {
    const clicks = this.clicks ?? { pixel, modifiers, count: 0 };
    const act = () => this.#act([{ kind: CLICKS[clicks.count - 1], ...clicks.pixel, modifiers: clicks.modifiers }]);
    const awayPx = Math.hypot(pixel.x - clicks.pixel.x, pixel.y - clicks.pixel.y) * this.stage.zoom;
    clearTimeout(clicks.timer);
    if (awayPx < NEAR_PX) clicks.count += 1;
    this.clicks = clicks;
    if (clicks.count === CLICKS.length || awayPx >= NEAR_PX) act();
    else clicks.timer = setTimeout(act, SEVERAL_MS);
  }

  drag(from, to, event) {
    if (!this.question || event.button !== 0) return;
    this.#act([{ kind: "drag", x1: from.x, y1: from.y, x2: to.x, y2: to.y, modifiers: heldKeys(event) }]);
  }

  /** Does at a pixel what is chosen; of a drag, the first pixel is its start. */
  perform(pixel, modifiers = []) {
    const [kind, direction] = this.gesture.value.split(" ");
    if (direction) {
      this.#act([{ kind, ...pixel, direction, amount: NOTCHES }]);
    } else if (kind !== "drag") {
      this.#act([{ kind, ...pixel, modifiers }]);
    } else if (this.stage.startPoint === null) {
      this.stage.setStart(pixel);
    } else {
      const from = this.stage.startPoint;
      this.#act([{ kind, x1: from.x, y1: from.y, x2: pixel.x, y2: pixel.y, modifiers }]);
    }
  }

  #turn(event) {
    if (!this.question || event.ctrlKey || event.metaKey) return; // that zooms
    event.preventDefault();
    const pixel = this.stage.pixelAt(event.clientX, event.clientY);
    if (!pixel) return;
    const wheel = this.wheel ?? { pixel, across: 0, down: 0 };
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINES_PER_NOTCH : PIXELS_PER_NOTCH;
    wheel.across += (event.shiftKey ? event.deltaX || event.deltaY : event.deltaX) / unit;
    wheel.down += (event.shiftKey ? 0 : event.deltaY) / unit;
    clearTimeout(wheel.timer);
    wheel.timer = setTimeout(() => this.#scroll(wheel), WHEEL_MS);
    this.wheel = wheel;
  }

  #scroll({ pixel, across, down }) {
    const isAcross = Math.abs(across) > Math.abs(down);
    const notches = isAcross ? across : down;
    const direction = isAcross ? (across > 0 ? "right" : "left") : down > 0 ? "down" : "up";
    const amount = Math.min(Math.max(Math.round(Math.abs(notches)), 1), MOST_NOTCHES);
    this.#act([{ kind: "scroll", ...pixel, direction, amount }]);
  }

  // -- the keyboard -------------------------------------------------------------------------------

  /** Takes a key pressed on the screenshot; returns whether it meant something. */
  key(event) {
    if (event.key === "F2") {
      const other = this.keysGoToScreen ? "cross" : "screen";
      /** @type {HTMLInputElement} */ (document.querySelector(`[name=keys-go][value=${other}]`)).checked = true;
      return true;
    }
    if (event.target !== this.stage.view) return false;
    return this.keysGoToScreen ? this.#screenKey(event) : this.#crossKey(event);
  }

  #screenKey(event) {
    const isBlankAlone = event.key === " " && !this.typing.value;
    if (writes(event) && !isBlankAlone) {
      this.typing.focus({ preventScroll: true }); // where the character then lands
      return false;
    }
    const held = heldKeys(event);
    const name = KEYS[event.key] ?? (isCharacter(event.key) ? event.key.toLowerCase() : null);
    if (!name) return false;
    if (this.question && !event.repeat) this.#act([{ kind: "press", keys: [...held, name].join("+") }]);
    return true;
  }

  #crossKey(event) {
    const arrow = arrowOf(event);
    if (arrow) this.stage.movePoint(...arrow);
    else if (event.key === "Enter" && this.stage.point && this.question && !event.repeat)
      this.perform(this.stage.point);
    else if (event.key === "Escape") this.#resetGesture();
    else return false;
    return true;
  }

  #typingKey(event) {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.#type("\n");
    } else if (event.key === "Escape") {
      event.preventDefault();
      this.typing.value = "";
      this.stage.view.focus({ preventScroll: true });
    }
  }
}
