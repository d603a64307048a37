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
 * shop.cancel       id           cancels it (a window asks again: dialog.ok)
 */
office.apps.shop = () => ({});
