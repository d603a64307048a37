/* Shared by all applications: the day, the look, requests to the server, numbers as texts. */

export const TODAY = "2026-03-09";
export const CLOCK = "09:00";
export const LOOK = document.documentElement.dataset.look;
export const PHONE = LOOK === "phone";

/* ---- the server ---- */

let queue = Promise.resolve();

/**
 * Returns the answer of the server; throws its reason, a text for the user, where it refuses. Requests are sent one
 * after the other, so that they are stored in their order.
 *
 * @param {string} app
 * @param {string} verb
 * @param {object} [values]
 * @returns {Promise<any>}
 */
export function ask(app, verb, values = {}) {
  const body = JSON.stringify(values);
  const answer = queue.then(() => send(app, verb, body));
  queue = answer.catch(() => {});
  return answer;
}
async function send(app, verb, body) {
  const reply = await fetch(`api/${app}/${verb}`, { method: "POST", body });
  const answer = await reply.json();
  if (!reply.ok) throw Object.assign(new Error(answer.error), { field: answer.field });
  return answer;
}

export const euro = (cents) => `${(cents / 100).toFixed(2)} €`;
export const count = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;
export const oneLine = (text) => text.replace(/\s+/g, " ").trim();
