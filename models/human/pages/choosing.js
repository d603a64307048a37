// L1 and the grounding tables: choose, then confirm.

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const { byId, el } = Elements;

/** How far an arrow key moves the crosshair; null: it is none. */
export function arrowOf(event) {
  const arrow = ARROWS[event.key];
  if (!arrow || event.metaKey) return null;
  const pixels = event.ctrlKey || event.altKey ? 50 : event.shiftKey ? 10 : 1;
  return arrow.map((way) => way * pixels);
}

export class Choosing {
  constructor(stage, send) {
    this.stage = stage;
    this.send = send;
    this.form = byId("choice");
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.confirm();
    });
    byId("absent").addEventListener("click", () => this.choose({ point: null }));
    byId("clear").addEventListener("click", () => this.choose(null));
  }

  /** Begins a question. */
  begin(question) {
    this.question = question;
    const isLetter = question.kind === "letter";
    byId("absent").hidden = isLetter;
    byId("options").hidden = !isLetter;
    byId("options").replaceChildren(byId("options").querySelector("legend"));
    for (const [letter, text] of isLetter ? question.options : []) {
      const onchange = () => this.choose({ letter });
      const input = el("input", { type: "radio", name: "option", value: letter, onchange });
      byId("options").append(el("label", { class: "option" }, input, el("kbd", {}, letter), el("span", {}, text)));
    }
    this.choose(null);
  }

  choose(choice) {
    this.choice = choice;
    this.stage.setPoint(choice?.point ?? null);
    for (const input of this.form.querySelectorAll("input")) input.checked = input.value === choice?.letter;
    byId("confirm").disabled = byId("clear").disabled = choice === null;
    byId("absent").setAttribute("aria-pressed", String(choice?.point === null));
    byId("chosen").textContent = this.#text();
  }

  #text() {
    const choice = this.choice;
    if (this.question?.kind === "letter") return choice ? `Chosen: ${choice.letter}` : "Choose an option.";
    if (!choice) {
      const hint = this.question?.may_be_absent ? " It may also not be there." : "";
      return `Click on the image, then confirm.${hint}`;
    }
    return choice.point ? `Chosen: x ${choice.point.x}, y ${choice.point.y}` : "Chosen: it is not there";
  }

  confirm() {
    if (!this.choice) return;
    const { letter, point } = this.choice;
    this.send(letter ? { letter } : { point: point && [point.x, point.y] });
  }

  tap(pixel) {
    if (this.question.kind === "point") this.choose({ point: pixel });
  }

  /** Takes a key pressed anywhere but in a field; returns whether it meant something. */
  key(event) {
    const isOnControl = event.target.closest("button, summary, a");
    if (event.key === "Enter" && !isOnControl) this.confirm();
    else if (event.key === "Escape") this.choose(null);
    else if (this.question.kind === "point") return this.#pointKey(event);
    else return this.#letterKey(event);
    return true;
  }

  #letterKey(event) {
    const letter = event.key.toUpperCase();
    const isOption = this.question.options.some(([known]) => known === letter);
    if (!isOption || event.ctrlKey || event.altKey || event.metaKey) return false;
    this.choose({ letter });
    return true;
  }

  #pointKey(event) {
    const arrow = arrowOf(event);
    if (arrow) {
      this.stage.movePoint(...arrow);
      this.choose({ point: this.stage.point });
    } else if (event.key.toLowerCase() === "n" && !event.ctrlKey && !event.metaKey && !event.altKey) {
      this.choose({ point: null });
    } else {
      return false;
    }
    return true;
  }
}
