/*
 * Shop: the orders, and one of them.
 *
 * data-t            data-k       what
 * shop.order        id           an order: opens it
 * shop.cancel       id           of the open order (a window asks again: dialog.ok)
 */

import { ask, euro } from "./core.js";
import { dayText, stamp } from "./days.js";
import { button, h, put } from "./elements.js";
import { at } from "./shell.js";
import { shopBack, shopBar } from "./shop_parts.js";
import { sure, toast } from "./windows.js";

/** Shows the orders, or the one that is named. */
export function shopOrders({ state, pane, number, list }) {
  const status = (text) =>
    h(
      "span",
      { class: `tag ${{ Delivered: "good", Cancelled: "bad", Placed: "warn", Processing: "warn" }[text] || ""}` },
      text,
    );
  const fee = (order) => order.total - order.items.reduce((sum, item) => sum + item.price * item.qty, 0);
  async function orders(open = null) {
    state.view = () => orders(open);
    const { rows, in_cart: pieces } = await ask("shop", "orders"),
      order = rows.find((row) => row.id === open);
    at("shop", "orders", open ?? "");
    number(pieces);
    pane.scrollTop = 0;
    if (!order)
      return put(
        pane,
        shopBar(shopBack("Products", list), h("b", {}, "Your orders")),
        h(
          "div",
          { class: "pad" },
          h(
            "table",
            {},
            h(
              "tr",
              {},
              h("th", {}, "Order"),
              h("th", { class: "wide" }, "Date"),
              h("th", {}, "Items"),
              h("th", { class: "right" }, "Total"),
              h("th", {}, "Status"),
            ),
            rows.map((row) =>
              h(
                "tr",
                {
                  class: "order-row",
                  t: "shop.order",
                  k: row.id,
                  role: "button",
                  tabindex: 0,
                  onclick: () => orders(row.id),
                },
                h("td", {}, h("b", {}, row.id)),
                h("td", { class: "wide" }, dayText(row.placed_at.slice(0, 10))),
                h(
                  "td",
                  {},
                  row.items.map((item) => h("div", {}, `${item.qty} × ${item.product}`)),
                ),
                h("td", { class: "right" }, euro(row.total)),
                h("td", {}, status(row.status)),
              ),
            ),
          ),
        ),
      );
    const line = (name, text) => h("div", { class: "field" }, h("label", {}, name), h("span", { class: "pre" }, text));
    return put(
      pane,
      shopBar(
        shopBack("Orders", () => orders()),
        h("b", {}, `Order ${order.id}`),
      ),
      h(
        "div",
        { class: "pad narrow facts" },
        line("Status", status(order.status)),
        line("Placed", stamp(order.placed_at)),
        line("Address", order.address),
        line("Delivery", order.delivery),
        order.note && line("Note", order.note),
        h(
          "table",
          {},
          order.items.map((item) =>
            h(
              "tr",
              {},
              h("td", {}, `${item.qty} × ${item.product}`),
              h("td", { class: "right" }, euro(item.price * item.qty)),
            ),
          ),
          h(
            "tr",
            {},
            h("td", {}, `${order.delivery} delivery`),
            h("td", { class: "right" }, fee(order) ? euro(fee(order)) : "free"),
          ),
        ),
        h(
          "div",
          { class: "line acts" },
          h("span", { class: "sum grow" }, `Total ${euro(order.total)}`),
          button(
            "shop.cancel",
            "close",
            "Cancel order",
            () =>
              sure(
                "Cancel order?",
                `Order ${order.id} will be cancelled. Its pieces do not come back into stock.`,
                "Cancel order",
                async () => {
                  await ask("shop", "cancel", { id: order.id });
                  toast(`Order ${order.id} has been cancelled.`);
                  orders(order.id);
                },
                "Keep order",
              ),
            { k: order.id, class: "danger" },
          ),
        ),
      ),
    );
  }
  return orders;
}
