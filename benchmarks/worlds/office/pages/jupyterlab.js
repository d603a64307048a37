"use strict";
/*
 * JupyterLab, in the episodes that have it: a page of another server, in a frame.
 *
 * data-t       data-k   what
 * lab.frame             the frame
 */
office.apps.jupyterlab = (root) => {
  root.append(h("iframe", { t: "lab.frame", src: LAB, title: TITLE.jupyterlab }));
};
