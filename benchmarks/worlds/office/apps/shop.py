"""Shop."""

from __future__ import annotations

from typing import Any

from benchmarks.worlds.office.rules import need, pattern
from benchmarks.worlds.office.store import NOW, Row, Store

PAGE = 12
SORT = {
    "featured": "id",
    "price_up": "price, id",
    "price_down": "price DESC, id",
    "rating": "rating DESC, id",
}
EXPRESS = 990  # cents


def list_(
    store: Store,
    category: str = "",
    q: str = "",
    sort: str = "featured",
    in_stock: bool = False,
    page: int = 0,
) -> Row:
    """Return one page of the products that match, all categories and the size of the cart."""
    select = "SELECT * FROM products WHERE name LIKE ? ESCAPE '!'"
    values = [pattern(q)]
    if category:
        select += " AND category = ?"
        values.append(category)
    if in_stock:
        select += " AND stock > 0"
    matches = store.page(f"{select} ORDER BY {SORT[sort]}", values, size=PAGE, page=page)
    rows = store.rows("SELECT DISTINCT category FROM products ORDER BY 1")
    categories = [row["category"] for row in rows]
    return {**matches, "categories": categories, "in_cart": in_cart(store)}


def in_cart(store: Store) -> int:
    """The number of pieces in the cart."""
    return int(store.one("SELECT coalesce(sum(qty), 0) n FROM cart")["n"])


def get(store: Store, id: int) -> Row:
    """Return one product and the size of the cart."""
    return {**store.one("SELECT * FROM products WHERE id = ?", id), "in_cart": in_cart(store)}


def cart(store: Store) -> Row:
    """Return the cart with its total and the addresses that an order can go to."""
    rows = store.rows(
        """SELECT p.id, p.name, p.price, p.stock, c.qty FROM cart c JOIN products p ON p.id = c.id
        ORDER BY p.id"""
    )
    addresses = store.rows("SELECT * FROM addresses ORDER BY id")
    total = sum(row["price"] * row["qty"] for row in rows)
    return {"rows": rows, "addresses": addresses, "total": total, "express": EXPRESS}


def set_(store: Store, id: int, qty: int) -> None:
    """Set how many pieces of a product are in the cart; 0 takes it out."""
    stock = store.one("SELECT stock FROM products WHERE id = ?", id)["stock"]
    need(isinstance(qty, int) and qty >= 0, "Enter a whole number.")
    need(qty <= stock, f"Only {stock} left in stock." if stock else "This is out of stock.")
    store.run("DELETE FROM cart WHERE id = ?", id)
    if qty:
        store.insert("cart", {"id": id, "qty": qty})


def add(store: Store, id: int, qty: int) -> None:
    """Put pieces of a product into the cart."""
    need(isinstance(qty, int) and qty > 0, "Enter a whole number above 0.")
    for row in store.rows("SELECT qty FROM cart WHERE id = ?", id):
        qty += row["qty"]
    set_(store, id, qty)


def order(store: Store, address: int | None, delivery: str, note: str = "") -> Row:
    """Order everything in the cart."""
    content = cart(store)
    need(content["rows"], "Your cart is empty.")
    for row in content["rows"]:
        shortage = f"Only {row['stock']} of {row['name']} are left: change the cart."
        need(row["qty"] <= row["stock"], shortage)
    need(address is not None, "Choose an address.")
    label = store.one("SELECT label FROM addresses WHERE id = ?", address)["label"]
    need(delivery in ("Standard", "Express"), "Choose a delivery.")
    total = content["total"]
    if delivery == "Express":
        total += EXPRESS
    id = store.insert(
        "orders",
        {
            "placed_at": NOW,
            "status": "Placed",
            "address": label,
            "delivery": delivery,
            "note": note.strip(),
            "total": total,
        },
    )
    for row in content["rows"]:
        item = {"order_id": id, "product": row["name"], "qty": row["qty"], "price": row["price"]}
        store.insert("order_items", item)
    store.run("DELETE FROM cart")
    return {"id": id}


def orders(store: Store) -> Row:
    """Return all orders with their items, newest first."""
    rows = store.rows("SELECT * FROM orders ORDER BY placed_at DESC, id DESC")
    items = store.rows("SELECT * FROM order_items ORDER BY id")
    for row in rows:
        row["items"] = [item for item in items if item["order_id"] == row["id"]]
    return {"rows": rows, "in_cart": in_cart(store)}


def cancel(store: Store, id: int) -> None:
    """Cancel an order that has not been shipped."""
    status = store.one("SELECT status FROM orders WHERE id = ?", id)["status"]
    can_cancel = status in ("Placed", "Processing")
    need(can_cancel, f"Order {id} is {status.lower()} and cannot be cancelled.")
    store.run("UPDATE orders SET status = 'Cancelled' WHERE id = ?", id)


VERBS: dict[str, Any] = {
    "list": list_,
    "get": get,
    "cart": cart,
    "set": set_,
    "add": add,
    "order": order,
    "orders": orders,
    "cancel": cancel,
}
