"use strict";
/*
 * The desk around the applications, in four looks.
 *
 * data-t          data-k         what
 * shell.home                     to the desk (Windows: Start; phone: the round button)
 * shell.app       application    opens it: taskbar, dock, tabs; on the desk and on the phone's home
 * shell.close     application    closes its window or tab
 * shell.back                     the phone's back button
 *
 * For programs: office.open("mail"), office.home(), office.back(), office.current(), office.quiet().
 */
