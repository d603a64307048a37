"use strict";
/*
 * Sheets.
 *
 * data-t            data-k       what
 * sheets.tab        name         a sheet
 * sheets.cell       A1           a cell: click chooses it, double click edits it
 * sheets.formula                 field: the content of the chosen cell; Enter stores it
 * sheets.ok, sheets.undo         ✓ stores, ✗ takes the text back
 * sheets.clear                   empties the chosen cell
 * sheets.jump                    field: Enter goes to the cell that is written there
 *
 * Keys: arrows, Tab, Enter, Delete, F2; letters and digits begin to write into the cell.
 */
office.apps.sheets = () => ({});
