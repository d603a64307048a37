/*
 * Shop: its products, one of them, and the way to cart and orders.
 *
 * data-t            data-k       what
 * shop.search                    field; searches the names of products
 * shop.category     name         "" for all
 * shop.sort                      choice: featured, price_up, price_down, rating
 * shop.in-stock                  checkbox: only what is in stock
 * shop.prev, shop.next           pages
 * shop.row          id           a product: opens it
 * shop.qty                       field: how many
 * shop.add                       to the cart
 * shop.back                      to the products
 * shop.cart                      the cart
 * shop.orders                    the orders
 */

import { ask, count, euro } from "./core.js";
import { button, empty, h, icon, pager, put, searchField } from "./elements.js";
import { choice } from "./menus.js";
import { at } from "./shell.js";
import { shopCart } from "./shop_cart.js";
import { shopOrders } from "./shop_orders.js";
import { shopBack, shopBar, wholeNumber } from "./shop_parts.js";
import { guard, toast } from "./windows.js";

export function shop(root) {
  const state = {
    category: "",
    q: "",
    sort: "featured",
    inStock: false,
    page: 0,
    view: null,
  };
  const side = h("nav", { class: "side" }),
    pane = h("div", { class: "pane" });
  const search = searchField("shop.search", "Search products", (q) => {
    state.q = q;
    state.page = 0;
    list();
  });
  const cartButton = button("shop.cart", "cart", "Cart", () => cart()),
    inStock = h("input", {
      type: "checkbox",
      t: "shop.in-stock",
      onclick: () => {
        state.inStock = inStock.checked;
        state.page = 0;
        list();
      },
    });
  root.append(
    h(
      "header",
      { class: "bar" },
      h("h1", {}, "Shop"),
      search,
      h("i", { class: "grow" }),
      button("shop.orders", "files", "Orders", () => orders()),
      cartButton,
    ),
    h("div", { class: "columns" }, side, pane),
  );
  const number = (pieces) => put(cartButton, icon("cart"), h("span", {}, `Cart (${pieces})`));
  const picture = (product) =>
    h(
      "div",
      { class: `picture ${product.category}` },
      product.name
        .split(" ")
        .slice(1)
        .map((word) => word[0])
        .join("")
        .toUpperCase(),
    );
  const rating = (product) => h("span", { class: "rating" }, icon("star", true), ` ${product.rating.toFixed(1)}`);
  const stock = (product) =>
    product.stock
      ? h(
          "span",
          { class: product.stock < 5 ? "tag warn" : "tag good" },
          product.stock < 5 ? `Only ${product.stock} left` : `${product.stock} in stock`,
        )
      : h("span", { class: "tag bad" }, "Out of stock");
  const days = (product) => `Ships in ${count(product.ship_days, "day")}`;
  const shop = { state, pane, number, list, orders: (open) => orders(open) };
  const cart = shopCart(shop),
    orders = shopOrders(shop);

  let newest = 0;
  async function list() {
    state.view = list;
    newest += 1;
    const request = newest;
    const got = await ask("shop", "list", {
      category: state.category,
      q: state.q,
      sort: state.sort,
      in_stock: state.inStock,
      page: state.page,
    });
    if (request !== newest || state.view !== list) return;
    at("shop", state.q ? "search" : state.category);
    state.page = got.page;
    number(got.in_cart);
    put(
      side,
      ["", ...got.categories].map((name) =>
        h(
          "button",
          {
            type: "button",
            t: "shop.category",
            k: name,
            class: name === state.category ? "on" : "",
            onclick: () => {
              state.category = name;
              state.page = 0;
              list();
            },
          },
          name || "All products",
        ),
      ),
    );
    put(
      pane,
      shopBar(
        h("b", { class: "cut" }, state.q ? `Results for “${state.q}”` : state.category || "All products"),
        h("label", { class: "radio small" }, inStock, "In stock only"),
        h("i", { class: "grow" }),
        choice(
          "shop.sort",
          [
            ["featured", "Featured"],
            ["price_up", "Price: low to high"],
            ["price_down", "Price: high to low"],
            ["rating", "Best rated"],
          ],
          state.sort,
          (sort) => {
            state.sort = sort;
            state.page = 0;
            list();
          },
        ),
        pager(
          { ...got, size: 12 },
          (page) => {
            state.page = page;
            list();
          },
          ["shop.prev", "Page before"],
          ["shop.next", "Next page"],
        ),
      ),
      got.rows.length
        ? h(
            "div",
            { class: "cards" },
            got.rows.map((product) =>
              h(
                "button",
                { type: "button", t: "shop.row", k: product.id, class: "product", onclick: () => view(product.id) },
                picture(product),
                h(
                  "div",
                  {},
                  h("b", {}, product.name),
                  h("span", {}, rating(product)),
                  h("span", { class: "price" }, euro(product.price)),
                  h("span", {}, stock(product)),
                ),
              ),
            ),
          )
        : empty("search", nothing()),
    );
    pane.scrollTop = 0;
  }

  /** Why no product is shown. */
  function nothing() {
    const what = [state.category && `of ${state.category}`, state.inStock && "in stock"].filter(Boolean).join(" ");
    return `No product ${what} has “${state.q}” in its name.`.replace("  ", " ");
  }

  async function view(id) {
    state.view = () => view(id);
    at("shop", "product", id);
    const product = await guard(() => ask("shop", "get", { id }));
    if (!product) return list();
    number(product.in_cart);
    const qty = h("input", {
      t: "shop.qty",
      class: "qty",
      value: "1",
      "aria-label": "Quantity",
      autocomplete: "off",
      onkeydown: (event) => {
        if (event.key === "Enter") add();
      },
    });
    const add = () =>
      guard(async () => {
        await ask("shop", "add", { id, qty: wholeNumber(qty.value) });
        toast("Added to the cart.");
        number((await ask("shop", "get", { id })).in_cart);
      });
    const line = (name, text) => h("div", { class: "field" }, h("label", {}, name), h("span", {}, text));
    put(
      pane,
      shopBar(shopBack("Products", list)),
      h(
        "div",
        { class: "pad detail-card" },
        picture(product),
        h(
          "div",
          { class: "facts" },
          h("h2", {}, product.name),
          h("p", {}, rating(product), h("span", { class: "muted" }, `  ${product.category}`)),
          h("p", { class: "price pad-line" }, euro(product.price)),
          line("Stock", stock(product)),
          line("Delivery", days(product)),
          line("About", product.about),
          h(
            "div",
            { class: "line acts" },
            qty,
            button("shop.add", "cart", "Add to cart", add, { class: "main", disabled: !product.stock }),
          ),
        ),
      ),
    );
    pane.scrollTop = 0;
    return undefined;
  }
  function back() {
    const button_ = pane.querySelector('[data-t="shop.back"]');
    if (!button_) return false;
    button_.click();
    return true;
  }
  list();
  return {
    show: () => state.view(),
    back,
    keys: (event) => {
      if (event.key !== "/" || event.ctrlKey) return false;
      search.querySelector("input").focus();
      return true;
    },
    shortcuts: [["/", "Search"]],
  };
}
