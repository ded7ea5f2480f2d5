// Pictures and captions as points on a circle, one circle a loss, moved by their gradients (icrlib.widgets writes the
// HTML, score-table-start.js calls this, and score-table-formulas.js knows the losses). A score is the cosine of the angle
// between two points, so a gradient by the scores is one by the angles.
(function () {
  'use strict';
  const fixed = (...given) => window.icrNumbers.fixed(...given);  // a page may load the scripts in any order
  const DEGREE = Math.PI / 180, FIRST = 4 * DEGREE, MANY = 150;

  const scoresOf = at => at.pictures.map(a => at.captions.map(b => Math.cos(a - b)));

  // {value, pictures, captions}: the loss of a batch and its slopes by every angle.
  function slopes(loss, at) {
    const own = at.pictures.map((_, i) => at.captions.map((_, j) => i === j));
    const {value, gradient} = window.icrLosses.both(loss, scoresOf(at), own);
    const turn = (i, j) => gradient[i][j] * Math.sin(at.pictures[i] - at.captions[j]);
    const add = (count, term) => at.pictures.map((_, k) => [...Array(count).keys()].reduce((t, m) => t + term(k, m), 0));
    return {value, pictures: add(at.captions.length, (i, j) => -turn(i, j)), captions: add(at.pictures.length, (j, i) => turn(i, j))};
  }

  // As long as makes the first step of the point that moves most 4 degrees: losses differ in scale, a rate makes up for it.
  function rateFor(loss, at) {
    const found = slopes(loss, at), most = Math.max(...[...found.pictures, ...found.captions].map(Math.abs));
    return most > 1e-9 ? FIRST / most : 0;
  }
  function descended(at, found, rate) {
    const go = kind => at[kind].map((a, k) => a - rate * found[kind][k]);
    return {pictures: go('pictures'), captions: go('captions')};
  }
  // Pictures whose own caption is first, and captions whose own picture is.
  function solved(at) {
    const scores = scoresOf(at), first = (own, others) => others.every(s => s <= own);
    return scores.filter((row, i) => first(row[i], row)).length + scores.filter((_, j) => first(scores[j][j], scores.map(row => row[j]))).length;
  }

  function setup(box, preset, {h}) {
    const view = box.querySelector('[data-part="view"]'), say = box.querySelector('[data-say="summary"]');
    const radians = values => values.map(v => v * DEGREE), n = preset.angles.pictures.length;
    const given = {pictures: radians(preset.angles.pictures), captions: radians(preset.angles.captions)};
    let begin = given, steps = 0, timer = 0;
    const runs = preset.losses.map(loss => ({loss, at: begin, rate: 0, parts: {}}));
    box.scoreTable = {runs, slopes, steps: () => steps};

    function restart(at) {
      begin = at; steps = 0;
      for (const run of runs) { run.at = at; run.rate = rateFor(run.loss, at); }
      draw();
    }
    function step() {
      steps += 1;
      for (const run of runs) run.at = descended(run.at, slopes(run.loss, run.at), run.rate);
    }

    const R = 80, C = 108, place = (angle, r = R) => [C + r * Math.cos(angle), C - r * Math.sin(angle)];
    for (const run of runs) {
      const svg = h('svg', {viewBox: '0 0 216 216', role: 'group', 'aria-label': `Points under ${run.loss.label}`}, h('circle', {cx: C, cy: C, r: R, class: 'axis'}));
      run.parts.links = given.pictures.map(() => svg.appendChild(h('line', {class: 'link'})));
      for (const kind of ['pictures', 'captions']) run.parts[kind] = given[kind].map((_, k) => {
        const arrow = svg.appendChild(h('line', {class: 'arrow'})), name = `${kind.slice(0, -1)} ${k + 1}`;
        const mark = kind === 'pictures' ? h('rect', {x: -9, y: -9, width: 18, height: 18, rx: 3}) : h('circle', {r: 10});
        const group = svg.appendChild(h('g', {class: kind, tabindex: 0, role: 'slider', 'aria-label': name, 'aria-valuemin': -180, 'aria-valuemax': 180,
          'data-point': `${kind}.${k}`}, mark, h('text', {'text-anchor': 'middle', y: 4.5}, String(k + 1))));
        const turnTo = angle => restart({...run.at, [kind]: run.at[kind].map((a, m) => m === k ? angle : a)});
        group.addEventListener('keydown', e => {
          const by = {ArrowLeft: 3, ArrowUp: 3, ArrowRight: -3, ArrowDown: -3}[e.key];
          if (by) { turnTo(run.at[kind][k] + by * DEGREE); e.preventDefault(); }
        });
        group.addEventListener('pointerdown', e => { stop(); group.setPointerCapture(e.pointerId); e.preventDefault(); group.focus(); });
        group.addEventListener('pointermove', e => {
          if (!group.hasPointerCapture(e.pointerId)) return;
          const r = svg.getBoundingClientRect();
          turnTo(Math.atan2(-(e.clientY - r.top - r.height / 2), e.clientX - r.left - r.width / 2));
        });
        return {arrow, group};
      });
      run.parts.value = h('span', {});
      view.append(h('figure', {class: 'circle'}, h('figcaption', {style: `border-bottom:.2em solid ${run.loss.colour}`}, run.loss.label), svg, run.parts.value));
    }

    function draw() {
      for (const run of runs) {
        const found = slopes(run.loss, run.at), most = FIRST / (run.rate || 1);
        run.at.pictures.forEach((a, k) => {
          const [x1, y1] = place(a), [x2, y2] = place(run.at.captions[k]);
          for (const [name, v] of Object.entries({x1, y1, x2, y2})) run.parts.links[k].setAttribute(name, v);
        });
        for (const kind of ['pictures', 'captions']) run.parts[kind].forEach(({arrow, group}, k) => {
          const angle = run.at[kind][k], [x, y] = place(angle, kind === 'pictures' ? R : R - 0.5), slope = found[kind][k];
          const length = Math.sign(-slope) * 26 * Math.min(Math.sqrt(Math.abs(slope) / most), 1.5), shown = Math.abs(length) > 2;
          group.setAttribute('transform', `translate(${x.toFixed(2)},${y.toFixed(2)})`);
          const degrees = Math.round(Math.atan2(Math.sin(angle), Math.cos(angle)) / DEGREE);
          group.setAttribute('aria-valuenow', degrees); group.setAttribute('aria-valuetext', `${degrees} degrees`);
          const [bx, by] = place(angle, R + 17), [tx, ty] = [bx - length * Math.sin(angle), by - length * Math.cos(angle)];
          for (const [name, v] of Object.entries({x1: bx, y1: by, x2: tx, y2: ty})) arrow.setAttribute(name, v.toFixed(2));
          arrow.style.visibility = shown ? 'visible' : 'hidden';
          arrow.setAttribute('marker-end', `url(#${box.id}-head)`);
        });
        run.parts.value.textContent = `loss ${fixed(found.value, 3)}; ${solved(run.at)} of ${2 * n} queries solved`;
        run.value = found.value;
      }
      say.textContent = `After ${steps} ${steps === 1 ? 'step' : 'steps'}. ` + runs.map(run => `${run.loss.label}: ${run.parts.value.textContent}.`).join(' ');
    }

    const stop = () => { clearInterval(timer); timer = 0; play.textContent = 'Play'; };
    const play = h('button', {type: 'button', onclick: () => {
      if (timer) return stop();
      if (window.matchMedia('(prefers-reduced-motion: reduce)').matches) {  // no movement where the reader wants none
        for (let k = 0; k < MANY; k++) step();
        return draw();
      }
      const last = steps + MANY;
      play.textContent = 'Stop';
      timer = setInterval(() => { step(); draw(); if (steps >= last) stop(); }, 60);
    }}, 'Play');
    box.querySelector('[data-part="buttons"]').append(play, h('button', {type: 'button', onclick: () => { stop(); step(); draw(); }}, 'One step'),
      h('button', {type: 'button', onclick: () => { stop(); restart(given); }}, 'Start again'));
    view.prepend(h('svg', {width: 0, height: 0, 'aria-hidden': 'true', style: 'position:absolute'}, h('defs', {}, h('marker', {id: `${box.id}-head`, viewBox: '0 0 8 8',
      refX: 4, refY: 4, markerWidth: 5, markerHeight: 5, orient: 'auto-start-reverse'}, h('path', {d: 'M0,0L8,4L0,8z'})))));
    restart(given);
  }

  (window.icrExplorables ??= {}).circle = setup;
})();
