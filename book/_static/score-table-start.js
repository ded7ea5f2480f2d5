// Sets explorables up (icrlib.widgets writes their HTML), each by the function that its kind's script left in
// window.icrExplorables. Loaded last, by a page and by the output of a notebook's cell: whichever comes first.
(function () {
  'use strict';
  const SVG = 'http://www.w3.org/2000/svg', DRAWN = ['svg', 'g', 'circle', 'rect', 'line', 'path', 'text', 'polyline', 'defs', 'marker'];

  function h(tag, attributes, ...children) {
    const made = DRAWN.includes(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const key in attributes) {
      if (key.startsWith('on')) made.addEventListener(key.slice(2), attributes[key]);
      else if (attributes[key] !== undefined) made.setAttribute(key, attributes[key]);
    }
    made.append(...children.filter(child => child !== null && child !== undefined));
    return made;
  }

  // Where an element is still being read, its own script, which comes last in it, is yet to run.
  const given = box => box.querySelector('script[type="application/json"]');
  function start() {
    for (const box of document.querySelectorAll('.score-table:not([data-ready])')) {
      const setup = window.icrExplorables?.[box.dataset.kind];
      if (!given(box) || !setup) continue;
      box.setAttribute('data-ready', '');
      setup(box, JSON.parse(given(box).textContent), {h});
    }
  }
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start);
  start();
})();
