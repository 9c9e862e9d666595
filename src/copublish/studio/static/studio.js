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

// One message for each phase of a run, and none within ten seconds of another one: for who listens to the page.
const SAY_AFTER = 10000;
let said = "";
let saidAt = 0;
document.addEventListener("htmx:afterSettle", () => {
  const now = document.getElementById("now");
  const live = document.getElementById("live");
  if (!now || !live || now.dataset.say === said || Date.now() - saidAt < SAY_AFTER) return;
  said = now.dataset.say;
  saidAt = Date.now();
  live.textContent = said;
});
