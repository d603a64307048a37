"use strict";
/*
 * What all applications share: elements, windows, choices, the talk with the server.
 *
 * data-t          data-k         what
 * menu.item       value          an entry of an open choice or menu
 * dialog.close                   the cross of a window
 * dialog.cancel                  the left button: Cancel, Close
 * dialog.ok                      the right button: Save, Send, Delete, ...
 * date.open       field          opens the small calendar beside a date field
 * date.prev, date.next           its months
 * date.day        YYYY-MM-DD     one of its days
 * toast                          the note at the bottom (text only)
 */
