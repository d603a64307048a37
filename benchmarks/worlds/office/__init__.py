"""The office: eight web applications of one person's working week, on a loopback server.

What can be clicked or written into carries `data-t`, a name that scripts rely on, and `data-k`
where there are several of a kind: the id of the row, the name of a folder, the address of a cell. A
table of the names stands at the top of each file of `pages/`. What lies in a row, such as the star
of a mail, has the `data-k` of the row. A choice opens a menu of `menu.item` (`data-k`: the value);
a window of its own has `dialog.cancel` and `dialog.ok`; a field that is wrong has `data-error`.
On the phone, list and detail are two screens: `<app>.back` leads from the second to the first.
"""
