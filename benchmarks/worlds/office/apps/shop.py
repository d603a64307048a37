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
    """One page of the products that fit."""
    where, values = "name LIKE ? ESCAPE '!'", [pattern(q)]
    if category:
        where += " AND category = ?"
        values.append(category)
    if in_stock:
        where += " AND stock > 0"
    found = store.page(
        "SELECT * FROM products", "products", where, values, SORT[sort], size=PAGE, page=page
    )
    categories = store.rows("SELECT DISTINCT category FROM products ORDER BY 1")
    listed = [row["category"] for row in categories]
    return {**found, "categories": listed, "in_cart": in_cart(store)}


def in_cart(store: Store) -> int:
    """How many pieces lie in the cart."""
    return int(store.one("SELECT coalesce(sum(qty), 0) n FROM cart")["n"])


def get(store: Store, id: int) -> Row:
    """One product."""
    return {**store.one("SELECT * FROM products WHERE id = ?", id), "in_cart": in_cart(store)}


def cart(store: Store) -> Row:
    """The cart and where it can go."""
    rows = store.rows(
        """SELECT p.id, p.name, p.price, p.stock, c.qty FROM cart c JOIN products p ON p.id = c.id
        ORDER BY p.id"""
    )
    addresses = store.rows("SELECT * FROM addresses ORDER BY id")
    total = sum(row["price"] * row["qty"] for row in rows)
    return {"rows": rows, "addresses": addresses, "total": total, "express": EXPRESS}


def set_(store: Store, id: int, qty: int) -> None:
    """How many pieces of a product the cart holds; 0 takes it out."""
    stock = store.one("SELECT stock FROM products WHERE id = ?", id)["stock"]
    need(isinstance(qty, int) and qty >= 0, "Enter a whole number.")
    need(qty <= stock, f"Only {stock} left in stock." if stock else "This is out of stock.")
    store.run("DELETE FROM cart WHERE id = ?", id)
    if qty:
        store.insert("cart", {"id": id, "qty": qty})


def add(store: Store, id: int, qty: int) -> None:
    """Puts pieces into the cart."""
    need(isinstance(qty, int) and qty > 0, "Enter a whole number above 0.")
    there = store.rows("SELECT qty FROM cart WHERE id = ?", id)
    set_(store, id, qty + (there[0]["qty"] if there else 0))


def order(store: Store, address: int | None, delivery: str, note: str = "") -> Row:
    """Orders what lies in the cart."""
    held = cart(store)
    need(held["rows"], "Your cart is empty.")
    need(address is not None, "Choose an address.")
    label = store.one("SELECT label FROM addresses WHERE id = ?", address)["label"]
    need(delivery in ("Standard", "Express"), "Choose a delivery.")
    placed = store.insert(
        "orders",
        {
            "placed_at": NOW,
            "status": "Placed",
            "address": label,
            "delivery": delivery,
            "note": note.strip(),
            "total": held["total"] + (EXPRESS if delivery == "Express" else 0),
        },
    )
    for row in held["rows"]:
        piece = {"product": row["name"], "qty": row["qty"], "price": row["price"]}
        store.insert("order_items", {"order_id": placed, **piece})
    store.run("DELETE FROM cart")
    return {"id": placed}


def orders(store: Store) -> Row:
    """All orders with what is in them, newest first."""
    found = store.rows("SELECT * FROM orders ORDER BY placed_at DESC, id DESC")
    items = store.rows("SELECT * FROM order_items ORDER BY id")
    for row in found:
        row["items"] = [item for item in items if item["order_id"] == row["id"]]
    return {"rows": found, "in_cart": in_cart(store)}


def cancel(store: Store, id: int) -> None:
    """Cancels an order that has not left yet."""
    status = store.one("SELECT status FROM orders WHERE id = ?", id)["status"]
    possible = status in ("Placed", "Processing")
    need(possible, f"Order {id} is {status.lower()} and cannot be cancelled.")
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
