// What of a page is a picture, and when it has become another. Its pixels are never asked for here.

// Smaller ones are signs: what is said of them tells more, in columns and rows.
const PICTURE_MIN = [4, 2];
// What moves is looked at so often, in milliseconds.
const LOOK_EVERY = 1000;
const PROBE = 24;

const looks = new WeakMap();
let probe = null;
// A number for what an element shows; another one if `what` is another.
const versionOf = (element, what) => {
  const before = looks.get(element);
  if (before?.what === what) return before.version;
  const version = (before?.version ?? 0) + 1;
  looks.set(element, { ...before, what, version });
  return version;
};
// What a canvas or a film shows, in short; the time where that may not be looked at.
const glance = (element, tick) => {
  const before = looks.get(element);
  if (before?.tick === tick) return before.what;
  let what = `${tick}`;
  try {
    probe ??= new OffscreenCanvas(PROBE, PROBE).getContext('2d', { willReadFrequently: true });
    probe.clearRect(0, 0, PROBE, PROBE);
    probe.drawImage(element, 0, 0, PROBE, PROBE);
    const { data } = probe.getImageData(0, 0, PROBE, PROBE);
    const sum = data.reduce((all, it) => (Math.imul(all, 31) + it) | 0, 7);
    // Nothing at all is what is seen of some that are drawn otherwise.
    if (data.some((it) => it !== 0)) what = `=${sum}`;
  } catch {
    // What other sites give is not shown to scripts; and now no script may be asked again.
    probe = null;
  }
  looks.set(element, { ...before, tick });
  return what;
};
// Whether what is behind an element has come: nothing tells of it when it does.
const baseOf = getter(Node.prototype, 'baseURI');
const hasCome = (address) => {
  const whole = URL.parse(address, baseOf(document));
  return whole !== null && performance.getEntriesByName(whole.href).length > 0;
};

// The version of what an element shows; 0 where it shows nothing yet, or nothing at all.
const pictureOf = (element, tag) => {
  const tick = Math.floor(performance.now() / LOOK_EVERY);
  if (tag === 'img' || tag === 'input') {
    const source = element.currentSrc || element.src;
    if (tag === 'img' && (!element.complete || element.naturalWidth === 0)) return 0;
    return source ? versionOf(element, source) : 0;
  }
  if (tag === 'video') {
    if (element.readyState < 2) return element.poster ? versionOf(element, element.poster) : 0;
    return versionOf(element, glance(element, tick));
  }
  if (tag === 'canvas') return element.width * element.height > 0 ? versionOf(element, glance(element, tick)) : 0;
  if (tag === 'svg') return versionOf(element, `${query(element, '*').length} ${textOf(element).length}`);
  return tag === 'object' || tag === 'embed' ? versionOf(element, '') : 0;
};
// The same of what is behind an element. Of a colour that runs into another, one stands for all.
const backgroundOf = (element, style) => {
  const address = /url\("((?:[^"\\]|\\.)*)"\)/.exec(style.backgroundImage)?.[1];
  if (!address) return 0;
  const isHere = address.startsWith('data:') || hasCome(address);
  if (!isHere && document.readyState !== 'complete') return 0;
  return versionOf(element, `${isHere} ${style.backgroundImage}`);
};
