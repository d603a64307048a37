/*
 * Shop: the cart, and the order that is made of it.
 *
 * data-t            data-k       what
 * shop.cart-qty     product      field: how many; Enter or leaving it stores
 * shop.remove       product
 * shop.checkout
 * shop.address                   choice: id of the address
 * shop.standard, shop.express    delivery
 * shop.note                      field
 * shop.place                     places the order (a window asks again: dialog.ok)
 */

import { ask, count, euro } from "./core.js";
import { button, empty, h, put } from "./elements.js";
import { choice } from "./menus.js";
import { at } from "./shell.js";
import { shopBack, shopBar, wholeNumber } from "./shop_parts.js";
import { dialog, guard, toast } from "./windows.js";

/** Shows the cart; what was filled in at the checkout stays until the order is placed. */
export function shopCart({ state, pane, number, list, orders }) {
  const blank = { address: null, delivery: "Standard", note: "" };
  let form = { ...blank };

  async function cart() {
    state.view = cart;
    at("shop", "cart");
    const content = await ask("shop", "cart");
    number(content.rows.reduce((sum, row) => sum + row.qty, 0));
    if (!content.rows.length)
      return put(
        pane,
        shopBar(shopBack("Products", list), h("b", {}, "Your cart")),
        empty("cart", "Your cart is empty."),
      );
    const change = (id, qty) =>
      guard(async () => {
        await ask("shop", "set", { id, qty });
      }).then(() => cart());
    return put(
      pane,
      shopBar(shopBack("Products", list), h("b", {}, "Your cart")),
      h(
        "div",
        { class: "pad narrow" },
        h(
          "table",
          { class: "cart-table" },
          h(
            "tr",
            {},
            h("th", {}, "Product"),
            h("th", { class: "right wide" }, "Price"),
            h("th", {}, "Quantity"),
            h("th", { class: "right" }, "Sum"),
            h("th", {}),
          ),
          content.rows.map((row) => {
            const qty = h("input", {
              t: "shop.cart-qty",
              k: row.id,
              class: "qty",
              value: row.qty,
              "aria-label": `Quantity of ${row.name}`,
              autocomplete: "off",
              onkeydown: (event) => {
                if (event.key === "Enter") qty.blur();
              },
              onchange: () => change(row.id, wholeNumber(qty.value)),
            });
            return h(
              "tr",
              {},
              h("td", {}, row.name),
              h("td", { class: "right wide" }, euro(row.price)),
              h("td", {}, qty),
              h("td", { class: "right" }, euro(row.price * row.qty)),
              h(
                "td",
                {},
                button("shop.remove", "trash", "", () => change(row.id, 0), {
                  k: row.id,
                  class: "plain",
                  title: `Remove ${row.name}`,
                }),
              ),
            );
          }),
        ),
        h(
          "div",
          { class: "line acts" },
          h(
            "span",
            { class: "grow" },
            h("span", { class: "sum" }, `Total ${euro(content.total)}`),
            h("span", { class: "muted" }, `  and delivery: standard free, express ${euro(content.express)}`),
          ),
          button("shop.checkout", "right", "Checkout", () => checkout(), { class: "main" }),
        ),
      ),
    );
  }

  async function checkout() {
    state.view = checkout;
    at("shop", "checkout");
    const content = await ask("shop", "cart"),
      chosen = form;
    if (!content.rows.length) return cart();
    const radio = (name, label) =>
      h(
        "label",
        { class: "radio" },
        h("input", {
          type: "radio",
          name: "delivery",
          t: `shop.${name.toLowerCase()}`,
          checked: chosen.delivery === name,
          onclick: () => {
            chosen.delivery = name;
            checkout();
          },
        }),
        label,
      );
    const note = h("textarea", {
      t: "shop.note",
      rows: 2,
      id: "shop-note",
      oninput: () => {
        chosen.note = note.value;
      },
    });
    note.value = chosen.note;
    const address = choice(
      "shop.address",
      [["", "Choose an address"], ...content.addresses.map(({ id, label, text }) => [id, `${label}: ${text}`])],
      chosen.address ?? "",
      (picked) => {
        chosen.address = picked === "" ? null : picked;
      },
    );
    const fee = chosen.delivery === "Express" ? content.express : 0,
      total = content.total + fee;
    const place = () => {
      if (chosen.address === null) return toast("Choose an address.", true);
      const pieces = content.rows.reduce((sum, row) => sum + row.qty, 0);
      const { label } = content.addresses.find((listed) => listed.id === chosen.address);
      return dialog({
        title: "Place the order?",
        label: "Place order",
        body: h(
          "p",
          {},
          `${count(pieces, "piece")} for ${euro(total)}, ${chosen.delivery.toLowerCase()} delivery to ${label}.`,
        ),
        ok: async () => {
          const { id } = await ask("shop", "order", { ...chosen });
          form = { ...blank };
          toast(`Order ${id} has been placed.`);
          orders(id);
        },
      });
    };
    return put(
      pane,
      shopBar(shopBack("Cart", cart), h("b", {}, "Checkout")),
      h(
        "div",
        { class: "pad narrow" },
        content.rows.map((row) =>
          h(
            "div",
            { class: "line" },
            h("span", { class: "grow" }, `${row.qty} × ${row.name}`),
            euro(row.price * row.qty),
          ),
        ),
        h(
          "div",
          { class: "line" },
          h("span", { class: "grow" }, `${chosen.delivery} delivery`),
          fee ? euro(fee) : "free",
        ),
        h("div", { class: "field" }, h("label", {}, "Address"), address),
        h(
          "div",
          { class: "field" },
          h("label", {}, "Delivery"),
          h(
            "div",
            {},
            radio("Standard", "Standard (free)"),
            radio("Express", `Express, next day (${euro(content.express)})`),
          ),
        ),
        h("div", { class: "field" }, h("label", { for: "shop-note" }, "Note"), note),
        h(
          "div",
          { class: "line acts" },
          h("span", { class: "sum grow" }, `Total ${euro(total)}`),
          button("shop.place", "check", "Place order", place, { class: "main" }),
        ),
      ),
    );
  }
  return cart;
}
