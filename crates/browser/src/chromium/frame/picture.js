// Which parts of a page are pictures, and when a picture changes. The pixels are never read here.

// Smaller pictures are icons: their description is more useful. In columns and rows.
const PICTURE_MIN = [4, 2];
// How often moving pictures are checked, in milliseconds.
const LOOK_EVERY = 1000;
const PROBE = 24;

const looks = new WeakMap();
let probe = null;
// A version number for the content of an element; it changes with `what`.
const versionOf = (element, what) => {
  const before = looks.get(element);
  if (before?.what === what) return before.version;
  const version = (before?.version ?? 0) + 1;
  looks.set(element, { ...before, what, version });
  return version;
};
// A short digest of the content of a canvas or video; the time if it may not be read.
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
    // Some canvases that are drawn by other means read as empty.
    if (data.some((it) => it !== 0)) what = `=${sum}`;
  } catch {
    // Content of other sites is not readable for scripts; and no script may read this probe from
    // now on.
    probe = null;
  }
  looks.set(element, { ...before, tick });
  return what;
};
// Whether the background image of an element has loaded: no event reports it.
const baseOf = getter(Node.prototype, 'baseURI');
const hasCome = (address) => {
  const whole = URL.parse(address, baseOf(document));
  return whole !== null && performance.getEntriesByName(whole.href).length > 0;
};

// The version of an element's content; 0 if it shows nothing yet, or nothing at all.
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
// The same for the background of an element. In a gradient, one colour stands for all.
const backgroundOf = (element, style) => {
  const address = /url\("((?:[^"\\]|\\.)*)"\)/.exec(style.backgroundImage)?.[1];
  if (!address) return 0;
  const isHere = address.startsWith('data:') || hasCome(address);
  if (!isHere && document.readyState !== 'complete') return 0;
  return versionOf(element, `${isHere} ${style.backgroundImage}`);
};
