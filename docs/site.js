/* What the script of the theme adds to a page has no place for these attributes. */

new MutationObserver(() => {
  for (const buttons of document.querySelectorAll("nav.md-code__nav")) buttons.setAttribute("role", "none");
  for (const frame of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) frame.tabIndex = 0;
}).observe(document.body, { childList: true, subtree: true });
