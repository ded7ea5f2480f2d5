// A walk around a rectangle in the plane of (s+, s−): what a designed gradient gathers on the way, step by step
// (icrlib.widgets writes the HTML, score-table-start.js calls this, score-table-formulas.js knows the weights). A gradient of
// a loss gathers nothing on a closed way; what is left over at the end shows that there is none.
(function () {
  'use strict';
  const fixed = (...given) => window.icrNumbers.fixed(...given);  // a page may load the scripts in any order
  const SIDE = 250, CELLS = 20, ARROWS = 7, LEAST = 0.04, MOST_LAPS = 6, NAMES = ['right', 'up', 'left', 'down'];

  // (∂l/∂s+, ∂l/∂s−) = (−w+, w−) of one triplet.
  const field = (loss, p, n) => window.icrLosses.rows(loss, [[p, n]], [[true, false]]).weights[0];

  // Against the clock from the lower left corner: what has been gathered after every step, by the rule of the midpoint.
  function walk(loss, [x0, y0, x1, y1]) {
    const corners = [[x0, y0], [x1, y0], [x1, y1], [x0, y1], [x0, y0]], heights = [0];
    for (let side = 0; side < 4; side++) {
      const [a, b] = [corners[side], corners[side + 1]], dx = (b[0] - a[0]) / SIDE, dy = (b[1] - a[1]) / SIDE;
      for (let k = 0; k < SIDE; k++) {
        const [fx, fy] = field(loss, a[0] + (k + 0.5) * dx, a[1] + (k + 0.5) * dy);
        heights.push(heights[heights.length - 1] + fx * dx + fy * dy);
      }
    }
    return heights;
  }

  function setup(box, preset, {h}) {
    const view = box.querySelector('[data-part="view"]'), say = box.querySelector('[data-say="summary"]');
    const begin = {choice: preset.choice, at: preset.sliders.map(s => s.at), square: preset.square, laps: 1};
    const state = {}, put = values => Object.assign(state, JSON.parse(JSON.stringify(values)));
    put(begin);
    let heights = [0], shown = Infinity, timer = 0;
    const loss = () => {
      const options = Object.fromEntries(preset.sliders.map((s, k) => [s.option, s.values[state.at[k]]]));
      return {name: 'goal', options: {...preset.options, ...options, triplet_weight: state.choice[0], pair_weight: state.choice[1]}};
    };
    const gain = () => heights[heights.length - 1], signed = v => Math.abs(v) < 0.0005 ? '0.000' : (v > 0 ? '+' : '') + fixed(v, 3);
    box.scoreTable = {state, walk: () => walk(loss(), state.square), heights: () => heights, shown: () => shown};

    // ---- the plane: shades say how steep, arrows where uphill is, the rectangle can be moved and pulled at its corners
    const S = 280, L = 46, T = 8, X = p => L + S * p, Y = n => T + S * (1 - n), near = v => Math.min(Math.max(Math.round(v * 100) / 100, 0), 1);
    const plane = h('svg', {viewBox: `0 0 ${L + S + 8} ${T + S + 36}`, role: 'group', 'aria-label': 'The plane of the two scores'});
    const shades = plane.appendChild(h('g', {class: 'shades'})), arrows = plane.appendChild(h('g', {}));
    for (const v of [0, 0.5, 1]) plane.append(h('text', {x: X(v), y: T + S + 16, 'text-anchor': 'middle'}, String(v)), h('text', {x: L - 5, y: Y(v) + 4, 'text-anchor': 'end'}, String(v)));
    plane.append(h('rect', {x: L, y: T, width: S, height: S, class: 'axis'}), h('text', {x: X(0.5), y: T + S + 32, 'text-anchor': 'middle'}, 'positive score s₊'),
      h('text', {transform: `translate(12,${Y(0.5)}) rotate(-90)`, 'text-anchor': 'middle'}, 'negative score s₋'));
    const place = e => { const r = plane.getBoundingClientRect(), scale = (L + S + 8) / r.width; return [((e.clientX - r.left) * scale - L) / S, 1 - ((e.clientY - r.top) * scale - T) / S]; };
    const shift = ([dx, dy]) => {
      const [x0, y0, x1, y1] = state.square, inside = (d, low, high) => Math.min(Math.max(d, -low), 1 - high);
      const [a, b] = [inside(dx, x0, x1), inside(dy, y0, y1)];
      return [x0 + a, y0 + b, x1 + a, y1 + b].map(near);
    };
    const pull = (k, [x, y]) => {  // corner k goes there; the corner across stays
      const found = [...state.square], [i, j] = [k === 1 || k === 2 ? 2 : 0, k > 1 ? 3 : 1];
      found[i] = near(i ? Math.max(x, found[0] + LEAST) : Math.min(x, found[2] - LEAST));
      found[j] = near(j === 3 ? Math.max(y, found[1] + LEAST) : Math.min(y, found[3] - LEAST));
      return found;
    };
    function handle(made, moved, keyed) {
      let last = null;
      made.addEventListener('pointerdown', e => { made.setPointerCapture(e.pointerId); last = place(e); e.preventDefault(); made.focus(); });
      made.addEventListener('pointermove', e => {
        if (!made.hasPointerCapture(e.pointerId)) return;
        const now = place(e), found = moved(now, last);
        if (String(found) !== String(state.square)) { last = now; state.square = found; update(); }
      });
      made.addEventListener('pointerup', remember);
      made.addEventListener('keydown', e => {
        const by = {ArrowLeft: [-0.02, 0], ArrowRight: [0.02, 0], ArrowUp: [0, 0.02], ArrowDown: [0, -0.02]}[e.key];
        if (by) { state.square = keyed(by); update(); remember(); e.preventDefault(); }
      });
      return plane.appendChild(made);
    }
    const at = k => [state.square[k === 1 || k === 2 ? 2 : 0], state.square[k > 1 ? 3 : 1]];
    const loop = handle(h('rect', {class: 'loop', tabindex: 0, role: 'slider', 'aria-label': 'rectangle', 'data-handle': 'square'}),
      (now, last) => shift([now[0] - last[0], now[1] - last[1]]), shift);
    const corners = [0, 1, 2, 3].map(k => handle(h('circle', {r: 9, class: 'corner', tabindex: 0, role: 'slider', 'data-handle': k,
      'aria-label': `corner, ${k > 1 ? 'upper' : 'lower'} ${k === 1 || k === 2 ? 'right' : 'left'}`}), now => pull(k, now), by => pull(k, [at(k)[0] + by[0], at(k)[1] + by[1]])));
    const walker = plane.appendChild(h('circle', {r: 6, class: 'walker'}));

    // ---- what has been gathered, over the way
    const chart = h('svg', {role: 'img'});
    view.append(h('div', {class: 'walk'}, plane, chart));
    function drawPlane() {
      shades.replaceChildren(); arrows.replaceChildren();
      for (let i = 0; i < CELLS; i++) for (let j = 0; j < CELLS; j++) {
        const steep = Math.hypot(...field(loss(), (i + 0.5) / CELLS, (j + 0.5) / CELLS));
        shades.append(h('rect', {x: X(i / CELLS), y: Y((j + 1) / CELLS), width: S / CELLS, height: S / CELLS, 'fill-opacity': (0.7 * Math.min(steep / 1.5, 1)).toFixed(3)}));
      }
      for (let i = 0; i < ARROWS; i++) for (let j = 0; j < ARROWS; j++) {
        const [p, n] = [(i + 0.5) / ARROWS, (j + 0.5) / ARROWS], f = field(loss(), p, n), steep = Math.hypot(...f), long = 24 * Math.min(steep / 1.5, 1);
        if (long > 1.5) arrows.append(h('line', {x1: X(p), y1: Y(n), x2: X(p) + long * f[0] / steep, y2: Y(n) - long * f[1] / steep, class: 'arrow', 'marker-end': `url(#${box.id}-head)`}));
      }
    }
    function drawWalk() {
      const [x0, y0, x1, y1] = state.square, laps = state.laps, all = 4 * SIDE * laps, until = Math.min(shown, all);
      for (const [name, v] of Object.entries({x: X(x0), y: Y(y1), width: S * (x1 - x0), height: S * (y1 - y0)})) loop.setAttribute(name, v);
      loop.setAttribute('aria-valuetext', `s₊ from ${fixed(x0)} to ${fixed(x1)}, s₋ from ${fixed(y0)} to ${fixed(y1)}`);
      corners.forEach((one, k) => { one.setAttribute('cx', X(at(k)[0])); one.setAttribute('cy', Y(at(k)[1])); one.setAttribute('aria-valuetext', at(k).map(v => fixed(v)).join(', ')); });
      const side = Math.floor(until / SIDE) % 4, part = until % SIDE / SIDE, [a, b] = [at(side), at((side + 1) % 4)];
      walker.setAttribute('cx', X(a[0] + part * (b[0] - a[0]))); walker.setAttribute('cy', Y(a[1] + part * (b[1] - a[1])));
      const width = 334, height = 324, left = 46, right = 10, top = 24, bottom = 40;
      const ends = [...heights, ...heights.map(v => v + (laps - 1) * gain())], low = Math.min(-0.05, ...ends), high = Math.max(0.05, ...ends);
      const x = k => left + (width - left - right) * k / all, y = v => height - bottom - (height - bottom - top) * (v - low) / (high - low);
      const height_ = k => Math.floor(k / (4 * SIDE)) * gain() + heights[k % (4 * SIDE)];
      const text = (px, py, words, more = {}) => chart.append(h('text', {x: px, y: py, ...more}, words));
      chart.replaceChildren();
      chart.setAttribute('viewBox', `0 0 ${width} ${height}`);
      for (let k = 1; k < 4 * laps; k++) chart.append(h('line', {x1: x(k * SIDE), x2: x(k * SIDE), y1: top, y2: height - bottom, class: k % 4 ? 'level faint' : 'level'}));
      chart.append(h('path', {d: `M${left},${top}V${height - bottom}M${left},${y(0)}H${width - right}`, class: 'axis'}));
      for (const v of [low, 0, high]) text(left - 5, y(v) + 4, fixed(v), {'text-anchor': 'end'});
      const points = [];
      for (let k = 0; k <= until; k += 5) points.push(`${x(k).toFixed(1)},${y(height_(k)).toFixed(1)}`);
      chart.append(h('polyline', {points: points.join(' '), style: `stroke:${preset.colour}`}), h('circle', {cx: x(until), cy: y(height_(until)), r: 5, style: `fill:${preset.colour}`}));
      text(left, 14, `gathered so far: ${signed(height_(until))}`, {class: 'title'});
      text(width - right, height - 8, laps > 1 ? `way walked, ${laps} times around; dotted: corners` : 'way walked; dotted: corners', {'text-anchor': 'end'});
      chart.setAttribute('aria-label', `What is gathered along the way: ${signed(height_(all))} at the end.`);
    }
    function summary() {
      const sides = NAMES.map((name, k) => `${name} ${signed(heights[(k + 1) * SIDE] - heights[k * SIDE])}`).join(', '), g = gain();
      say.textContent = `${state.choice.join(' × ')}, once around: ${signed(g)} (${sides}). ` + (Math.abs(g) < 0.0005 ? 'Back at the beginning, and nothing is left over: as with any loss.' :
        `Back at the beginning, and ${signed(g)} is left over${state.laps > 1 ? `; after ${state.laps} times around ${signed(state.laps * g)}` : ''}. No loss has two values at one place.`);
    }

    // ---- choices, buttons, the address
    const radios = preset.weights.map(({title, names}, k) => h('fieldset', {}, h('legend', {}, title), ...names.map(name => h('label', {},
      h('input', {type: 'radio', name: `${box.id}-${k}`, value: name, autocomplete: 'off', onchange: () => { state.choice[k] = name; update(true); remember(); }}), name))));
    box.querySelector('[data-part="losses"]').append(...radios);
    const sliders = preset.sliders.map((s, k) => {
      const input = h('input', {type: 'range', min: 0, max: s.values.length - 1, step: 1, id: `${box.id}-s${k}`, autocomplete: 'off', 'data-control': s.option,
        oninput: () => { state.at[k] = +input.value; update(true); }, onchange: () => remember()}), label = h('label', {for: input.id});
      return {s, input, label, part: h('div', {}, label, input)};
    });
    box.querySelector('[data-part="controls"]').append(...sliders.map(s => s.part));
    const stop = () => { clearInterval(timer); timer = 0; shown = Infinity; play.textContent = 'Walk'; };
    const play = h('button', {type: 'button', onclick: () => {
      if (timer) { stop(); return drawWalk(); }
      if (window.matchMedia('(prefers-reduced-motion: reduce)').matches) return drawWalk();
      shown = 0; play.textContent = 'Stop';
      timer = setInterval(() => { shown += 10; if (shown >= 4 * SIDE * state.laps) stop(); drawWalk(); }, 25);
    }}, 'Walk');
    const again = h('button', {type: 'button', onclick: () => { state.laps = Math.min(state.laps + 1, MOST_LAPS); update(); remember(); }}, 'Once more around');
    const reset = h('button', {type: 'button', onclick: () => { put(begin); update(true); remember(); }}, 'Start again');
    box.querySelector('[data-part="buttons"]').append(play, again, reset);
    plane.prepend(h('defs', {}, h('marker', {id: `${box.id}-head`, viewBox: '0 0 8 8', refX: 6, refY: 4, markerWidth: 4, markerHeight: 4, orient: 'auto'}, h('path', {d: 'M0,0L8,4L0,8z'}))));

    const inPage = box.closest('.bd-article');
    function remember() {
      if (!inPage) return;
      const words = [box.id, ...state.choice, state.at.join('.'), state.laps, state.square.map(v => Math.round(100 * v)).join('.')];
      try { history.replaceState(null, '', `#${words.join('~')}`); } catch (error) { /* it may not change */ }
    }
    function recall() {
      const [id, t, p, at_, laps, square] = decodeURIComponent(location.hash.slice(1)).split('~');
      if (!inPage || id !== box.id) return;
      [t, p].forEach((name, k) => { if (preset.weights[k].names.includes(name)) state.choice[k] = name; });
      String(at_).split('.').forEach((v, k) => { if (preset.sliders[k]?.values[+v] !== undefined) state.at[k] = +v; });
      if (+laps >= 1 && +laps <= MOST_LAPS) state.laps = Math.round(+laps);
      const found = String(square).split('.').map(v => near(v / 100));
      if (found.length === 4 && found.every(v => !isNaN(v)) && found[2] - found[0] > LEAST - 1e-9 && found[3] - found[1] > LEAST - 1e-9) state.square = found;
      box.scrollIntoView();
    }
    function update(shape) {
      stop();
      sliders.forEach(({s, input, label, part}, k) => {
        input.value = state.at[k]; label.textContent = `${s.label}: ${s.values[state.at[k]]}`; input.setAttribute('aria-valuetext', label.textContent);
        part.hidden = !s.of.includes(state.choice[0]);
      });
      radios.forEach((set, k) => set.querySelectorAll('input').forEach(input => { input.checked = input.value === state.choice[k]; }));
      again.disabled = state.laps === MOST_LAPS;
      heights = walk(loss(), state.square);
      if (shape) drawPlane();
      drawWalk(); summary();
    }
    recall();
    update(true);
  }

  (window.icrExplorables ??= {}).loop = setup;
})();
