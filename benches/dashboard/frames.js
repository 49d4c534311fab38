// Counts the frames of a page, and what kept its main thread for more than 50 ms. Keeps no list,
// so that counting does not need more and more memory.
globalThis.counted = (() => {
  const counted = { frames: 0, long: 0, longest: 0, missed: 0, tasks: 0, longestTask: 0, animations: 0, longestAnimation: 0, byPage: 0 };
  let last;
  const frame = (now) => {
    if (last !== undefined) {
      const took = now - last;
      counted.frames += 1;
      counted.longest = Math.max(counted.longest, took);
      if (took > 50) counted.long += 1;
      if (took > 25) counted.missed += 1;
    }
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  new PerformanceObserver((list) => {
    for (const it of list.getEntries()) {
      counted.tasks += 1;
      counted.longestTask = Math.max(counted.longestTask, it.duration);
    }
  }).observe({ type: "longtask" });
  new PerformanceObserver((list) => {
    for (const it of list.getEntries()) {
      counted.animations += 1;
      counted.longestAnimation = Math.max(counted.longestAnimation, it.duration);
      // The longest time in which scripts of the page ran in such a frame.
      counted.byPage = Math.max(counted.byPage, it.scripts.reduce((sum, one) => sum + one.duration, 0));
    }
  }).observe({ type: "long-animation-frame" });
  return counted;
})();
0;
