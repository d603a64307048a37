/*
 * JupyterLab, in the episodes that have it: a page of another server, in a frame.
 *
 * data-t       data-k   what
 * lab.frame             the frame
 */

import { h } from "./elements.js";
import { LAB, TITLE } from "./shell.js";

export function jupyterlab(root) {
  root.append(h("iframe", { t: "lab.frame", src: LAB, title: TITLE.jupyterlab }));
}
