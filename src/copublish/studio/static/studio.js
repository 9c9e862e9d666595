// What htmx does not do. Every form works without this file.
"use strict";

// htmx keeps the path of the page when it is loaded, whatever it is told. Nothing of ours stays in a browser.
sessionStorage.removeItem("htmx-current-path-for-history");

// After a refused form the focus goes to the summary of what has to change, also where htmx put it into the page.
function focusProblems() {
  const summary = document.getElementById("problems");
  if (summary) summary.focus();
}
document.addEventListener("DOMContentLoaded", focusProblems);
document.addEventListener("htmx:afterSwap", focusProblems);

// A refused form has the status 422 and a page to show.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status === 422) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});
