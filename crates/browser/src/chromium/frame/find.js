// Finding a text as a person does: the next place of it is selected and brought into view.

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
// Takes the focus away from what has it.
const unfocus = () => {
  const active = deepActive();
  if (active && active !== document.body) active.blur();
  return {};
};

Object.assign(globalThis.waypost, { seek, unfocus });
