// The page asks the program what to show, shows it, and sends back what the person says.

import { Acting } from "./acting.js";
import { Choosing } from "./choosing.js";
import { Stage } from "./stage.js";

const RETRY_MS = 1500;
const LEVELS = {
  GUIContentUnderstanding: "L1",
  GUIElementGrounding: "L2",
  GUITaskAutomation: "L3",
  GUITaskCollaboration: "L4",
};
const QUESTIONS = {
  done: ["The task is completed", "This ends the task.", null],
  answer: ["Answer the question of the task", "This ends the task.", "Your answer"],
  fail: ["The task cannot be done", "This ends the task.", "Why"],
  open_app: ["Open an application", "", "Its name"],
  skip: [
    "Skip this one?",
    "It counts as failed until the same command asks it again. In a task with several steps, the whole task fails.",
    null,
  ],
};
const ZOOM_KEYS = [
  ["+ − 0 1", "zoom in, zoom out, whole image, actual pixels"],
  ["Ctrl + wheel", "zoom at the mouse; on a phone, use two fingers"],
  ["F8", "pause"],
];
const LOOK_KEYS = [["drag", "move the image"], ...ZOOM_KEYS];
const KEY_LISTS = {
  letter: [["A to F", "choose"], ["Enter", "confirm"], ["Esc", "undo the choice"], ...LOOK_KEYS],
  point: [
    ["click", "choose a point"],
    ["arrow keys", "move the crosshair by 1 pixel of the image"],
    ["Shift + arrow", "by 10"],
    ["Ctrl or Alt + arrow", "by 50"],
    ["N", "the element is not there"],
    ["Enter", "confirm"],
    ["Esc", "undo the choice"],
    ["wheel", "zoom"],
    ...LOOK_KEYS,
  ],
  actions: [
    ["mouse", "click, double click, right click, hold, drag and wheel act on the screen"],
    ["letters", "are collected under “Text to type”"],
    ["Enter", "in “Text to type”: types the text and presses Enter; Shift + Enter begins a line"],
    ["Esc", "in “Text to type”: drops the text"],
    ["other keys", "are pressed at once, also in combinations such as Ctrl + A"],
    ["F2", "switches the keys between the screen and the crosshair; with the crosshair, Tab leaves the screenshot"],
    ["arrow keys", "move the crosshair by 1 pixel (Shift 10, Ctrl or Alt 50); Enter clicks"],
    ["Ctrl + wheel", "zoom at the mouse; on a phone, use two fingers"],
    ["F8", "pause"],
  ],
};
const HINTS = {
  letter: "Arrow keys scroll, letters choose, Enter confirms.",
  point: "Arrow keys move a crosshair, Enter confirms.",
  actions: "Keys act on the screen. F2 switches them to a crosshair; Tab then leaves the screenshot.",
};
const { byId, el } = Elements;

let question = null; // what is open
let place = null;
/** @type {Promise<unknown>} */
let clock = Promise.resolve(); // clock messages and answers arrive in their order
let isShown = false; // the image of the question is on the screen

const stage = new Stage({
  onTap: (pixel, event, wasHeld) => {
    if (!question) return;
    if (question.kind === "actions") acting.tap(pixel, event, wasHeld);
    else if (event.button === 0) choosing.tap(pixel);
  },
  onDrag: (from, to, event) => question?.kind === "actions" && acting.drag(from, to, event),
  pans: (event) => question?.kind !== "actions" || event.pointerType !== "mouse",
  onView: () => {
    byId("zoom").textContent = `${Math.round(stage.zoom * 100)} %`;
    byId("place-px").textContent = stage.point ? `x ${stage.point.x}, y ${stage.point.y}` : "";
  },
});
const choosing = new Choosing(stage, send);
const acting = new Acting(stage, send, ask);

// -- what the program says ------------------------------------------------------------------------

async function follow() {
  let known = 0;
  for (;;) {
    try {
      const response = await fetch(`state?known=${known}`);
      if (!response.ok) throw new Error(response.statusText);
      const state = await response.json();
      byId("lost").hidden = true;
      if (state.version !== known) await show(state);
      known = state.version;
      if (state.is_over) return;
    } catch {
      say("The program does not answer. If it has ended, start the same command again; it continues in a new page.");
      known = 0;
      await new Promise((done) => setTimeout(done, RETRY_MS));
    }
  }
}

function say(text) {
  byId("lost").textContent = text;
  byId("lost").hidden = false;
}

async function show(state) {
  const before = place;
  place = state.place ?? null;
  showPlace();
  if (state.is_over) return showEnd(state.was_asking);
  if (!state.question) {
    showWaiting();
  } else if (state.question.number !== question?.number) {
    const isSameTask = before !== null && before.dataset === place?.dataset && before.index === place.index;
    await begin(state.question, isSameTask && state.question.steps.length > 0);
  }
}

function showPlace() {
  const name = place?.dataset ?? question?.dataset ?? "";
  const title = [LEVELS[name], name].filter(Boolean).join(" ") || "Questions";
  byId("place").textContent = place ? `${title}: ${place.index + 1} of ${place.count}` : title;
  byId("progress").hidden = !place;
  byId("progress").max = place?.count ?? 1;
  byId("progress").value = place?.index ?? 0;
}

function showWaiting() {
  close();
  byId("busy").textContent = "Waiting for the next screenshot …";
}

function showEnd(wasAsking) {
  close();
  stage.hide();
  for (const id of ["choice", "acting", "told", "step", "note", "remark", "view"]) byId(id).hidden = true;
  document.body.classList.add("over");
  byId("paused").close();
  byId("asking").close();
  byId("progress").hidden = true;
  byId("place").textContent = wasAsking ? "The run was stopped" : "The run is over";
  byId("text").textContent =
    "Thank you. All your answers are stored. If questions are left, the same command continues with them in a new page. You can close this page.";
}

/** The question is not open any more. */
function close() {
  question = null;
  isShown = false;
  acting.end();
  document.body.classList.add("busy");
  byId("skip").disabled = byId("pause").disabled = byId("confirm").disabled = true;
}

async function begin(next, isSameTask) {
  const isActing = next.kind === "actions";
  const isFirst = !isSameTask;
  showTexts(next);
  byId("choice").hidden = isActing;
  byId("acting").hidden = !isActing;
  if (isFirst) stage.setPoint(null);
  const last = next.pictures.length - 1;
  showPictures(next, last);
  const { width, height } = next.pictures[last];
  try {
    await stage.show(`image/${next.number}/${last}`, width, height, isSameTask);
  } catch {
    say("The image cannot be shown. Skip this question; the terminal names the image.");
  }
  question = next;
  isShown = true;
  showPlace();
  if (isActing) acting.begin(next, isFirst);
  else choosing.begin(next);
  document.body.classList.remove("busy");
  byId("skip").disabled = byId("pause").disabled = false;
  byId("busy").textContent = "Your turn: act on the screenshot, or use the controls below.";
  byId("hint").textContent = HINTS[next.kind];
  setClock(!document.hidden && !byId("paused").open);
  const isElsewhere = document.activeElement.matches("dialog *, textarea, input:not([type=radio])");
  const hasKeys = !matchMedia("(pointer: coarse)").matches;
  if (hasKeys && !isElsewhere) stage.view.focus({ preventScroll: true });
}

function showTexts(next) {
  byId("text").textContent = next.text;
  showText("remark", next.remark);
  showText("step", { actions: `Step ${next.steps.length + 1}`, point: "Where would you click for this?" }[next.kind]);
  const note = next.steps.at(-1)?.note ?? "";
  showText("note", note && `Note on your last action: ${note}`);
  byId("told").hidden = !next.system;
  byId("system").textContent = next.system;
  byId("steps").hidden = next.steps.length === 0;
  const items = next.steps.map(({ reply, note }) => {
    const actions = el("code", {}, reply.replaceAll("Action: ", ""));
    return el("li", {}, actions, note ? ` ${note}` : null);
  });
  byId("past").replaceChildren(...items);
}

function showText(id, text) {
  byId(id).hidden = !text;
  byId(id).textContent = text;
}

/** Of a prompt with several images, buttons for each; the last one is what the question is about. */
function showPictures(next, last) {
  const isActing = next.kind === "actions";
  byId("pictures").hidden = isActing || last === 0;
  const buttons = next.pictures.map(({ width, height }, index) => {
    const onclick = async () => {
      isShown = index === last;
      await stage.show(`image/${next.number}/${index}`, width, height, false);
    };
    return el("button", { type: "button", onclick }, index === last ? "The image" : `Image ${index + 1}`);
  });
  byId("pictures").replaceChildren(...buttons);
}

// -- what the person says -------------------------------------------------------------------------

function post(path, body) {
  return fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    keepalive: true,
  });
}

function setClock(isRunning) {
  const number = question?.number;
  if (number === undefined) return;
  clock = clock.then(() => post("clock", { number, is_running: isRunning })).catch(() => {});
}

/** Sends an answer; resolves to whether it was taken. */
async function send(answer, path = "answer") {
  const open = question;
  if (!open || !isShown) return false;
  close();
  await clock;
  try {
    const response = await post(path, { number: open.number, ...answer });
    if (response.ok || response.status === 409) return true;
    say(`The program did not take that: ${await response.text()}`);
  } catch {
    say("The program does not answer; nothing was sent.");
  }
  question = open;
  isShown = true;
  document.body.classList.remove("busy");
  byId("skip").disabled = byId("pause").disabled = byId("confirm").disabled = false;
  if (open.kind === "actions") acting.begin(open, false);
  return false;
}

/** Asks for a text, or for a yes; null: no. */
function ask(kind) {
  const [title, text, label] = QUESTIONS[kind];
  const dialog = byId("asking");
  byId("asking-title").textContent = title;
  byId("asking-text").textContent = text;
  byId("asking-field").hidden = label === null;
  byId("asking-label").textContent = label ?? "";
  byId("asking-value").value = "";
  byId("asking-value").required = label !== null;
  byId("asking-value").disabled = label === null;
  byId("asking-yes").textContent = label === null ? "Yes" : "Send";
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener(
      "close",
      () => done(dialog.returnValue === "yes" ? byId("asking-value").value.trim() : null),
      { once: true },
    );
  });
}

byId("skip").addEventListener("click", async () => {
  if ((await ask("skip")) !== null) send({}, "skip");
  stage.view.focus({ preventScroll: true });
});

// -- pausing --------------------------------------------------------------------------------------

function pause(text) {
  if (!question || byId("paused").open) return;
  setClock(false);
  byId("paused-text").textContent = text;
  byId("paused").showModal();
}

byId("pause").addEventListener("click", () => pause("The time stands still."));
byId("paused").addEventListener("close", () => {
  if (!document.hidden) setClock(true);
  stage.view.focus({ preventScroll: true }); // so that Enter confirms, and does not pause again
});
byId("resume").addEventListener("click", () => byId("paused").close());
document.addEventListener("visibilitychange", () => {
  if (document.hidden) pause("You looked at something else; the time stood still.");
  else if (!byId("paused").open) setClock(true); // what came meanwhile is seen now
});
window.addEventListener("pagehide", () => setClock(false));
window.addEventListener("pageshow", (event) => event.persisted && location.reload());

// -- keys -----------------------------------------------------------------------------------------

const ZOOMS = {
  "+": () => stage.zoomIn(),
  "=": () => stage.zoomIn(),
  "-": () => stage.zoomOut(),
  0: () => stage.fit(),
  1: () => stage.setZoom(1),
};

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
  if (takeKey(event)) event.preventDefault();
});

/** Whether a key meant something. */
function takeKey(event) {
  if (event.key === "F8") {
    pause("The time stands still.");
    return true;
  }
  const isInField = event.target.matches("textarea, select, input:not([type=radio])");
  if (isInField && event.key !== "F2") return false;
  const isActing = question ? question.kind === "actions" : !byId("acting").hidden;
  if (isActing) return acting.key(event);
  const zoom = !event.ctrlKey && !event.metaKey && !event.altKey && ZOOMS[event.key];
  if (!zoom) return Boolean(question) && choosing.key(event);
  zoom();
  return true;
}

stage.view.addEventListener(
  "wheel",
  (event) => {
    const isZoom = event.ctrlKey || event.metaKey || question?.kind === "point";
    if (!isZoom) return;
    event.preventDefault();
    const at = { x: event.clientX, y: event.clientY };
    if (event.deltaY !== 0) stage.setZoom(stage.zoom * Math.exp(-event.deltaY / 500), at);
  },
  { passive: false },
);
const noFields = /** @type {NodeListOf<HTMLButtonElement>} */ (
  document.querySelectorAll("#zooming button, #choice button[type=button]")
);
for (const button of noFields)
  button.addEventListener("click", ({ detail }) => detail > 0 && stage.view.focus({ preventScroll: true }));
byId("smaller").addEventListener("click", () => stage.zoomOut());
byId("larger").addEventListener("click", () => stage.zoomIn());
byId("fit").addEventListener("click", () => stage.fit());
byId("actual").addEventListener("click", () => stage.setZoom(1));

byId("help").addEventListener("click", () => {
  const rows = KEY_LISTS[question?.kind ?? "point"].flatMap(([keys, text]) => [el("dt", {}, keys), el("dd", {}, text)]);
  byId("key-list").replaceChildren(...rows);
  byId("helping").showModal();
});

follow();
