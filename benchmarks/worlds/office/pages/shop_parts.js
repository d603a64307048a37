/* Shop: what its pages share.
 *
 * data-t            data-k       what
 * shop.back                      to the page before: products, cart, orders
 */

import { button, h } from "./elements.js";

/** The bar of a page of the shop, and the button in it that leads back. */
export const shopBar = (...more) => h("div", { class: "bar list-bar" }, more);
export const shopBack = (label, work) => button("shop.back", "back", label, work);
export const wholeNumber = (text) => (/^\d+$/.test(text.trim()) ? +text : -1);
