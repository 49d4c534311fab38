// Finds a text like a person: the next occurrence is selected and scrolled into view.

const seek = (text, backwards) => {
  const found = window.find(text, false, backwards, true, false, true, false);
  if (!found) getSelection()?.removeAllRanges();
  const box = found ? getSelection()?.rangeCount && getSelection().getRangeAt(0) : null;
  const place = box && boxOfRange(box);
  if (place && (place.top < 0 || place.bottom > innerHeight)) {
    scrollBy({ top: place.top - innerHeight / 2, behavior: 'instant' });
  }
  return { found };
};
// Removes the focus from the focused element.
const unfocus = () => {
  const active = deepActive();
  if (active && active !== document.body) active.blur();
  return {};
};

Object.assign(globalThis.waypost, { seek, unfocus });
