/* The rules for the scripts of the pages. What is not defined is found by tsc, which knows the names of a browser. */

import js from "@eslint/js";

export default [
  { ignores: [".venv*/", "build/", "comparison/", "outputs/"] },
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      complexity: ["error", 12],
      "max-statements": ["error", 40, { ignoreTopLevelFunctions: true }], // of an application: its parts are within it
      eqeqeq: "error",
      "no-undef": "off",
      "no-var": "error",
      "prefer-const": "error",
    },
  },
  {
    // Of pages that are opened from disk, where a browser loads no modules.
    files: ["utils/**/*.js"],
    languageOptions: { sourceType: "script" },
    rules: { "no-unused-vars": ["error", { vars: "local" }] }, // the other scripts of a page use its globals
  },
  {
    // One script of itself, which tsc does not read: its globals would be known to the scripts of all pages.
    files: ["sample_data/**/*.js"],
    languageOptions: { sourceType: "script", globals: { document: "readonly" } },
    rules: { "no-undef": "error" },
  },
];
