// Types a query, starts the search, and returns the milliseconds until the first result is shown.
async (query) => {
  const input = document.getElementById("query");
  input.value = query;
  const began = performance.now();
  const found = new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (!document.querySelector(".hits .score")) return;
      observer.disconnect();
      resolve();
    });
    observer.observe(document.getElementById("main"), { childList: true, subtree: true });
  });
  input.form.requestSubmit();
  await found;
  // After the frame that shows it.
  await new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve)); });
  return performance.now() - began;
}
