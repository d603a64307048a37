/*
 * The office: its applications on its desk.
 *
 * For programs: office.open("mail"), office.home(), office.back(), office.current(),
 * office.news([["chat", "Carla Meyer"]]): others have done something; office.ask("todo", "list"): what the server answers.
 */

import "./input.js";

import { calendar } from "./calendar.js";
import { chat } from "./chat.js";
import { contacts } from "./contacts.js";
import { ask } from "./core.js";
import { files } from "./files.js";
import { jupyterlab } from "./jupyterlab.js";
import { mail } from "./mail.js";
import { sheets } from "./sheets.js";
import { currentApp, goBack, goHome, openApp, showNews, start } from "./shell.js";
import { shop } from "./shop.js";
import { todo } from "./todo.js";

const office = { open: openApp, home: goHome, back: goBack, current: currentApp, news: showNews, ask };
Object.assign(globalThis, { office });
start({ calendar, chat, contacts, files, jupyterlab, mail, sheets, shop, todo });
