"use strict";
/*
 * Shop.
 *
 * data-t            data-k       what
 * shop.search                    field; Enter searches
 * shop.category     name         "" for all
 * shop.sort                      choice: featured, price_up, price_down, rating
 * shop.in-stock                  checkbox: only what is in stock
 * shop.prev, shop.next           pages
 * shop.row          id           a product: opens it
 * shop.qty                       field: how many
 * shop.add                       to the cart
 * shop.back                      to the products
 * shop.cart                      the cart
 * shop.cart-qty     product      field: how many; Enter or leaving it stores
 * shop.remove       product
 * shop.checkout
 * shop.address                   choice: id of the address
 * shop.standard, shop.express    delivery
 * shop.note                      field
 * shop.place                     places the order (a window asks again: dialog.ok)
 * shop.orders                    the orders
 * shop.order        id           an order: opens it
 * shop.cancel       id           of the open order (a window asks again: dialog.ok)
 */

office.apps.shop = root => {
  const state = {
    category: "",
    q: "",
    sort: "featured",
    inStock: false,
    page: 0,
    view: null,
    product: null,
    order: null,
    form: {address: null, delivery: "Standard", note: ""},
  };
  const side = h("nav", {class: "side"}),
    pane = h("div", {class: "pane"});
  const search = searchField("shop.search", "Search products", q => {
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
      {class: "bar"},
      h("h1", {}, "Shop"),
      search,
      h("i", {class: "grow"}),
      button("shop.orders", "files", "Orders", () => orders()),
      cartButton,
    ),
    h("div", {class: "columns"}, side, pane),
  );
  const number = pieces => put(cartButton, icon("cart"), h("span", {}, `Cart (${pieces})`));
  const picture = product =>
    h(
      "div",
      {class: `picture ${product.category}`},
      product.name
        .split(" ")
        .slice(1)
        .map(word => word[0])
        .join("")
        .toUpperCase(),
    );
  const rating = product => h("span", {class: "rating"}, icon("star", true), ` ${product.rating.toFixed(1)}`);
  const stock = product =>
    product.stock
      ? h("span", {class: product.stock < 5 ? "tag warn" : "tag good"}, product.stock < 5 ? `Only ${product.stock} left` : "In stock")
      : h("span", {class: "tag bad"}, "Out of stock");
  const days = product => `Ships in ${count(product.ship_days, "day")}`;
  const top = (...more) => h("div", {class: "bar list-bar"}, more);
  const backButton = (label, work) => button("shop.back", "back", label, work);

  async function list() {
    state.view = list;
    const got = await ask("shop", "list", {
      category: state.category,
      q: state.q,
      sort: state.sort,
      in_stock: state.inStock,
      page: state.page,
    });
    state.page = got.page;
    number(got.in_cart);
    put(
      side,
      ["", ...got.categories].map(name =>
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
      top(
        h("b", {class: "cut"}, state.q ? `Results for “${state.q}”` : state.category || "All products"),
        h("label", {class: "radio small"}, inStock, "In stock only"),
        h("i", {class: "grow"}),
        choice(
          "shop.sort",
          [
            ["featured", "Featured"],
            ["price_up", "Price: low to high"],
            ["price_down", "Price: high to low"],
            ["rating", "Best rated"],
          ],
          state.sort,
          sort => {
            state.sort = sort;
            state.page = 0;
            list();
          },
        ),
        pager(
          {...got, size: 12},
          page => {
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
            {class: "cards"},
            got.rows.map(product =>
              h(
                "button",
                {type: "button", t: "shop.row", k: product.id, class: "product", onclick: () => view(product.id)},
                picture(product),
                h(
                  "div",
                  {},
                  h("b", {}, product.name),
                  h("span", {}, rating(product)),
                  h("span", {class: "price"}, euro(product.price)),
                  h("span", {}, stock(product)),
                ),
              ),
            ),
          )
        : empty("search", "No product fits your search."),
    );
    pane.scrollTop = 0;
  }

  async function view(id) {
    state.view = () => view(id);
    const product = await guard(() => ask("shop", "get", {id}));
    if (!product) return list();
    number(product.in_cart);
    const qty = h("input", {
      t: "shop.qty",
      class: "qty",
      value: "1",
      "aria-label": "Quantity",
      autocomplete: "off",
      onkeydown: event => {
        if (event.key === "Enter") add();
      },
    });
    const add = () =>
      guard(async () => {
        await ask("shop", "add", {id, qty: whole(qty.value)});
        toast("Added to the cart.");
        number((await ask("shop", "get", {id})).in_cart);
      });
    const line = (name, text) => h("div", {class: "field"}, h("label", {}, name), h("span", {}, text));
    put(
      pane,
      top(backButton("Products", list)),
      h(
        "div",
        {class: "pad detail-card"},
        picture(product),
        h(
          "div",
          {class: "facts"},
          h("h2", {}, product.name),
          h("p", {}, rating(product), h("span", {class: "muted"}, `  ${product.category}`)),
          h("p", {class: "price pad-line"}, euro(product.price)),
          line("Stock", stock(product)),
          line("Delivery", days(product)),
          line("About", product.about),
          h("div", {class: "line acts"}, qty, button("shop.add", "cart", "Add to cart", add, {class: "main", disabled: !product.stock})),
        ),
      ),
    );
    pane.scrollTop = 0;
    return undefined;
  }
  const whole = text => (/^\d+$/.test(text.trim()) ? +text : -1);

  async function cart() {
    state.view = cart;
    const held = await ask("shop", "cart");
    number(held.rows.reduce((sum, row) => sum + row.qty, 0));
    if (!held.rows.length)
      return put(pane, top(backButton("Products", list), h("b", {}, "Your cart")), empty("cart", "Your cart is empty."));
    const change = (id, qty) =>
      guard(async () => {
        await ask("shop", "set", {id, qty});
      }).then(() => cart());
    return put(
      pane,
      top(backButton("Products", list), h("b", {}, "Your cart")),
      h(
        "div",
        {class: "pad narrow"},
        h(
          "table",
          {class: "cart-table"},
          h(
            "tr",
            {},
            h("th", {}, "Product"),
            h("th", {class: "right wide"}, "Price"),
            h("th", {}, "Quantity"),
            h("th", {class: "right"}, "Sum"),
            h("th", {}),
          ),
          held.rows.map(row => {
            const qty = h("input", {
              t: "shop.cart-qty",
              k: row.id,
              class: "qty",
              value: row.qty,
              "aria-label": `Quantity of ${row.name}`,
              autocomplete: "off",
              onkeydown: event => {
                if (event.key === "Enter") qty.blur();
              },
              onchange: () => change(row.id, whole(qty.value)),
            });
            return h(
              "tr",
              {},
              h("td", {}, row.name),
              h("td", {class: "right wide"}, euro(row.price)),
              h("td", {}, qty),
              h("td", {class: "right"}, euro(row.price * row.qty)),
              h(
                "td",
                {},
                button("shop.remove", "trash", "", () => change(row.id, 0), {k: row.id, class: "plain", title: `Remove ${row.name}`}),
              ),
            );
          }),
        ),
        h(
          "div",
          {class: "line acts"},
          h("span", {class: "sum grow"}, `Total ${euro(held.total)}`),
          button("shop.checkout", "right", "Checkout", () => checkout(), {class: "main"}),
        ),
      ),
    );
  }

  async function checkout() {
    state.view = checkout;
    const held = await ask("shop", "cart"),
      {form: chosen} = state;
    if (!held.rows.length) return cart();
    const radio = (name, label) =>
      h(
        "label",
        {class: "radio"},
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
      [["", "Choose an address"], ...held.addresses.map(each => [each.id, `${each.label}: ${each.text}`])],
      chosen.address ?? "",
      picked => {
        chosen.address = picked === "" ? null : picked;
      },
    );
    const total = held.total + (chosen.delivery === "Express" ? held.express : 0);
    const place = () => {
      if (chosen.address === null) return toast("Choose an address.", true);
      return dialog({
        title: "Place the order?",
        label: "Place order",
        body: h(
          "p",
          {},
          `${count(
            held.rows.reduce((sum, row) => sum + row.qty, 0),
            "piece",
          )} for ${euro(total)}, ${chosen.delivery.toLowerCase()} delivery to ${held.addresses.find(each => each.id === chosen.address).label}.`,
        ),
        ok: async () => {
          const {id} = await ask("shop", "order", {...chosen});
          state.form = {address: null, delivery: "Standard", note: ""};
          toast(`Order ${id} has been placed.`);
          orders(id);
        },
      });
    };
    return put(
      pane,
      top(backButton("Cart", cart), h("b", {}, "Checkout")),
      h(
        "div",
        {class: "pad narrow"},
        held.rows.map(row => h("div", {class: "line"}, h("span", {class: "grow"}, `${row.qty} × ${row.name}`), euro(row.price * row.qty))),
        h("div", {class: "field"}, h("label", {}, "Address"), address),
        h(
          "div",
          {class: "field"},
          h("label", {}, "Delivery"),
          h("div", {}, radio("Standard", "Standard (free)"), radio("Express", `Express, next day (${euro(held.express)})`)),
        ),
        h("div", {class: "field"}, h("label", {for: "shop-note"}, "Note"), note),
        h(
          "div",
          {class: "line acts"},
          h("span", {class: "sum grow"}, `Total ${euro(total)}`),
          button("shop.place", "check", "Place order", place, {class: "main"}),
        ),
      ),
    );
  }

  const status = text =>
    h("span", {class: `tag ${{Delivered: "good", Cancelled: "bad", Placed: "warn", Processing: "warn"}[text] || ""}`}, text);
  async function orders(open = null) {
    state.view = () => orders(open);
    const {rows, in_cart: pieces} = await ask("shop", "orders"),
      order = rows.find(each => each.id === open);
    number(pieces);
    pane.scrollTop = 0;
    if (!order)
      return put(
        pane,
        top(backButton("Products", list), h("b", {}, "Your orders")),
        h(
          "div",
          {class: "pad"},
          h(
            "table",
            {},
            h(
              "tr",
              {},
              h("th", {}, "Order"),
              h("th", {class: "wide"}, "Date"),
              h("th", {}, "Items"),
              h("th", {class: "right"}, "Total"),
              h("th", {}, "Status"),
            ),
            rows.map(each =>
              h(
                "tr",
                {class: "order-row", t: "shop.order", k: each.id, role: "button", tabindex: 0, onclick: () => orders(each.id)},
                h("td", {}, h("b", {}, each.id)),
                h("td", {class: "wide"}, each.placed_at.slice(0, 10)),
                h(
                  "td",
                  {},
                  each.items.map(item => h("div", {}, `${item.qty} × ${item.product}`)),
                ),
                h("td", {class: "right"}, euro(each.total)),
                h("td", {}, status(each.status)),
              ),
            ),
          ),
        ),
      );
    const line = (name, text) => h("div", {class: "field"}, h("label", {}, name), h("span", {class: "pre"}, text));
    return put(
      pane,
      top(
        backButton("Orders", () => orders()),
        h("b", {}, `Order ${order.id}`),
      ),
      h(
        "div",
        {class: "pad narrow facts"},
        line("Status", status(order.status)),
        line("Placed", order.placed_at),
        line("Address", order.address),
        line("Delivery", order.delivery),
        order.note && line("Note", order.note),
        h(
          "table",
          {},
          order.items.map(item =>
            h("tr", {}, h("td", {}, `${item.qty} × ${item.product}`), h("td", {class: "right"}, euro(item.price * item.qty))),
          ),
        ),
        h(
          "div",
          {class: "line acts"},
          h("span", {class: "sum grow"}, `Total ${euro(order.total)}`),
          button(
            "shop.cancel",
            "close",
            "Cancel order",
            () =>
              sure("Cancel order?", `Order ${order.id} will be cancelled.`, "Cancel order", async () => {
                await ask("shop", "cancel", {id: order.id});
                toast(`Order ${order.id} has been cancelled.`);
                orders(order.id);
              }),
            {k: order.id, class: "danger"},
          ),
        ),
      ),
    );
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
    keys: event => {
      if (event.key !== "/" || event.ctrlKey) return false;
      search.querySelector("input").focus();
      return true;
    },
  };
};
