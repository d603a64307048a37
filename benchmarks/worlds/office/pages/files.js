"use strict";
/*
 * Files.
 *
 * data-t            data-k       what
 * files.new-file, files.new-folder
 * files.search                   field; Enter searches by name in all folders
 * files.clear                    ends the search
 * files.sort                     choice: name, kind, size
 * files.crumb       id           a folder of the path (0: Home)
 * files.row         id           a file or a folder: one click opens it
 * files.more        id           its menu: rename, move, copy, delete (menu.item)
 * files.name                     field of the windows New and Rename
 * files.folder      id           a folder in the windows Move and Copy (0: Home)
 * files.text                     field: the text of the open file
 * files.save, files.back         of the open file; Ctrl+S saves
 */
office.apps.files = () => ({});
