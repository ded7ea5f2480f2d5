// The explorable score table (icrlib.widgets writes its HTML): move a score, and see whom a loss pushes. Needs
// score-table-formulas.js, and score-table-start.js behind it. A box keeps its state as box.scoreTable, for tests.
(function () {
  'use strict';
  const LOW = -1, HIGH = 1, STEP = 0.01;
  const clip = v => Math.min(Math.max(Math.round(v * 100) / 100, LOW), HIGH);
  const minus = text => window.icrNumbers.minus(text), fixed = (...given) => window.icrNumbers.fixed(...given);  // loaded in any order
  const signed = v => {
    if (v === 0) return '0';
    const digits = Math.abs(v) >= 9.95 ? 0 : Math.abs(v) >= 0.995 ? 1 : 2;
    return Math.abs(v) < 0.005 ? '≈0' : (v > 0 ? '+' : '') + fixed(v, digits);
  };
  const capital = text => text[0].toUpperCase() + text.slice(1);
  const does = v => v === 0 ? 'left alone' : (Math.abs(v) < 0.005 ? 'hardly ' : '') + (v > 0 ? 'pushed down' : 'pulled up');

  function setup(box, preset, {h}) {
    const view = box.querySelector('[data-part="view"]'), say = box.querySelector('[data-say="summary"]');
    const copy = table => table.map(row => [...row]);
    const begin = {scores: preset.scores, loss: preset.loss, at: preset.controls.map(c => c.at), selected: preset.selected};
    const state = {loss: preset.loss, selected: [...preset.selected], scores: copy(preset.scores),
      losses: preset.losses.map(loss => ({...loss, options: {...loss.options}})), at: [...begin.at]};
    const shown = () => preset.together ? state.losses : [state.losses[state.loss]];
    const positives = preset.positives;
    box.scoreTable = {state, formulas: window.icrLosses};

    // One fixed scale for all weights of a box: even near zero, logarithmic beyond.
    const share = v => Math.min(Math.log1p(Math.abs(v) / preset.scale[0]) / Math.log1p(preset.scale[1] / preset.scale[0]), 1);
    const tint = v => v === 0 ? 'transparent' : `rgba(${v > 0 ? '202,0,32' : '5,113,176'},${(0.08 + 0.72 * share(v)).toFixed(3)})`;
    const what = (q, j) => preset.rows === 1 ? preset.columnNames[j] : `${preset.rowNames[q]} with ${preset.columnNames[j]}`;

    function bar(v) {
      const width = 50 * share(v);
      return h('span', {class: 'bar', title: `weight ${signed(v)}: ${does(v)}`},
        h('i', {style: `left:${v < 0 ? 50 - width : 50}%;width:${width}%;background:${v < 0 ? '#0571b0' : '#ca0020'}`}),
        h('b', {style: v > 0 ? 'right:50%' : 'left:50%'}, signed(v)));
    }

    // ---- a table of scores: drag a cell sideways, or choose it and use the slider or + and -
    function table() {
      const cells = preset.scores.map((row, q) => row.map((_, j) => {
        const score = h('b', {}), weight = h('span', {}), kind = positives[q][j] ? 'cell own' : 'cell';
        const button = h('button', {type: 'button', class: kind, 'data-cell': `${q},${j}`}, score, weight);
        let from = null;
        button.addEventListener('focus', () => choose(q, j));
        button.addEventListener('click', () => choose(q, j));  // Safari gives no focus to a button that is clicked
        button.addEventListener('pointerdown', e => { from = [e.clientX, state.scores[q][j]]; choose(q, j); button.setPointerCapture(e.pointerId); });
        button.addEventListener('pointermove', e => { if (from) set(q, j, from[1] + (e.clientX - from[0]) / 150); });
        for (const end of ['pointerup', 'pointercancel']) button.addEventListener(end, () => { if (from) remember(); from = null; });
        button.addEventListener('keydown', e => {
          const step = {'+': STEP, '=': STEP, '-': -STEP, PageUp: 0.1, PageDown: -0.1}[e.key];
          const move = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[e.key];
          if (step) { set(q, j, state.scores[q][j] + step); remember(); }
          else if (move) { const next = cells[q + move[0]]?.[j + move[1]]; if (next) next.button.focus(); }
          else return;
          e.preventDefault();
        });
        return {button, score, weight};
      }));
      const slider = h('input', {type: 'range', min: LOW, max: HIGH, step: STEP, autocomplete: 'off', 'data-part': 'score',
        oninput: () => set(...state.selected, +slider.value), onchange: remember});
      const name = h('label', {});
      slider.id = `${box.id}-score`; name.htmlFor = slider.id;
      const head = h('tr', {}, h('th', {scope: 'col'}), ...preset.columnNames.map((text, j) =>
        h('th', {scope: 'col'}, h('b', {}, text), preset.captions && preset.captions[j])));
      view.append(h('div', {class: 'scroll'}, h('table', {}, h('thead', {}, head), h('tbody', {}, ...cells.map((row, q) => h('tr', {},
        h('th', {scope: 'row'}, preset.pictures ? h('img', {src: preset.pictures[q], alt: ''}) : null, preset.rowNames[q]),
        ...row.map(cell => h('td', {}, cell.button))))))), h('div', {class: 'one'}, name, slider));
      return result => {
        const [sq, sj] = state.selected;
        cells.forEach((row, q) => row.forEach((cell, j) => {
          const s = state.scores[q][j], w = result[0].weights[q][j];
          cell.score.textContent = fixed(s); cell.weight.textContent = signed(w);
          cell.button.style.background = tint(w);
          cell.button.tabIndex = q === sq && j === sj ? 0 : -1;
          cell.button.classList.toggle('selected', q === sq && j === sj);
          cell.button.setAttribute('aria-label', `${what(q, j)}${positives[q][j] ? ', the match' : ''}: score ${fixed(s)}, weight ${signed(w)}, ${does(w)}`);
        }));
        name.textContent = `score of ${what(sq, sj)}: ${fixed(state.scores[sq][sj])}`;
        slider.value = state.scores[sq][sj];
      };
    }

    // ---- one query and its candidates, best first: a slider and a bar a loss for each
    function list() {
      const items = preset.scores[0].map((_, j) => {
        const slider = h('input', {type: 'range', min: LOW, max: HIGH, step: STEP, autocomplete: 'off', 'data-cell': `0,${j}`, id: `${box.id}-s${j}`,
          oninput: () => { state.selected = [0, j]; set(0, j, +slider.value); }, onfocus: () => choose(0, j), onchange: () => { order(); remember(); }});
        const label = h('label', {for: slider.id}), bars = h('span', {class: 'bars'});
        const item = h('div', {class: positives[0][j] ? 'item own' : 'item'}, label, slider, bars);
        return {item, slider, label, bars};
      });
      const heads = h('div', {class: 'item heads'}, h('span', {}), h('span', {}, 'score, from −1 to 1'), h('span', {class: 'bars'}));
      const sums = ['loss', 'weights above 0.01', 'negatives in effect'].map(text =>
        h('div', {class: 'item sum', style: 'order:1000'}, h('span', {}, text), h('span', {}), h('span', {class: 'bars'})));
      const curve = preset.curve ? h('svg', {role: 'img', 'data-part': 'curve'}) : null;
      view.append(h('div', {class: 'list'}, heads, ...items.map(one => one.item), ...sums));
      if (curve) view.append(curve);
      const order = () => {  // only when a score is let go: a line that runs away from the finger cannot be dragged
        const ranks = [...state.scores[0].keys()].sort((a, b) => state.scores[0][b] - state.scores[0][a]);
        ranks.forEach((j, rank) => { items[j].item.style.order = rank + 1; items[j].rank = rank + 1; });
      };
      order();
      return (result, moved) => {
        if (!moved) order();
        heads.lastChild.replaceChildren(...shown().map(loss => h('span', {style: `border-bottom:.2em solid ${loss.colour}`}, loss.label)));
        items.forEach(({item, slider, label, bars, rank}, j) => {
          const s = state.scores[0][j];
          slider.value = s;
          label.replaceChildren(`${rank}. ${preset.columnNames[j]} `, h('b', {}, fixed(s)));
          slider.setAttribute('aria-valuetext', `${fixed(s)}; ` + result.map((r, k) => `${shown()[k].label}: weight ${signed(r.weights[0][j])}`).join('; '));
          item.classList.toggle('selected', j === state.selected[1]);
          bars.replaceChildren(...result.map(r => bar(r.weights[0][j])));
        });
        const each = result.map((r, k) => [shown()[k], r.value[0], window.icrLosses.counts(r.weights[0], positives[0])]);
        const lines = [([loss, value]) => loss.name === 'goal' ? '–' : fixed(value, 3), ([, , n]) => n.count, ([, , n]) => fixed(n.effective, 1)];
        sums.forEach((line, k) => line.lastChild.replaceChildren(...each.map(one => h('span', {}, lines[k](one)))));
        if (curve) drawCurve(curve);
      };
    }

    // The weight of the selected candidate at every score it could have, all others where they are.
    function drawCurve(svg) {
      const width = Math.min(Math.max(view.clientWidth, 260), 720), height = 190, left = 44, bottom = 34, top = 22, right = 10;
      const j = state.selected[1], base = state.scores[0], X = s => left + (width - left - right) * (s - LOW) / (HIGH - LOW);
      const side = v => v === 0 ? 0 : Math.sign(v) * share(v), Y = v => top + (height - top - bottom) * (1 - side(v)) / 2;
      svg.replaceChildren();
      svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
      const text = (x, y, words, more) => svg.append(h('text', {x, y, ...more}, words));
      for (let s = -1; s <= 1; s += 0.5) text(X(s), height - 16, fixed(s, 1), {'text-anchor': 'middle'});
      const ticks = [0.01, 0.1, 1, 10, 100].filter(v => v > preset.scale[0] && v <= preset.scale[1]).slice(-3);
      for (const v of [...ticks, 0, ...ticks.map(v => -v)]) {
        svg.append(h('line', {x1: left - 4, x2: left, y1: Y(v), y2: Y(v), class: 'axis'}));
        text(left - 6, Y(v) + 4, minus(String(v)), {'text-anchor': 'end'});
      }
      svg.append(h('path', {d: `M${left},${top}V${height - bottom}H${width - right}`, class: 'axis'}), h('path', {d: `M${left},${Y(0)}H${width - right}`, class: 'level'}));
      base.forEach((s, k) => { if (positives[0][k] && k !== j) svg.append(h('line', {x1: X(s), x2: X(s), y1: top, y2: height - bottom, class: 'level match'})); });
      for (const loss of shown()) {
        const points = [];
        for (let k = 0; k <= 400; k++) {
          const s = LOW + k * (HIGH - LOW) / 400, row = base.map((v, m) => m === j ? s : v);
          points.push(`${X(s).toFixed(1)},${Y(window.icrLosses.rows(loss, [row], positives).weights[0][j]).toFixed(1)}`);
        }
        const now = window.icrLosses.rows(loss, [base], positives).weights[0][j];
        svg.append(h('polyline', {points: points.join(' '), style: `stroke:${loss.colour}`}), h('circle', {cx: X(base[j]), cy: Y(now), r: 5, style: `fill:${loss.colour}`}));
      }
      text(left, 13, `weight of ${preset.columnNames[j]}, if its score were …`, {class: 'title'});
      text(width - right, height - 3, 'its score; dashed upright: the match', {'text-anchor': 'end'});
      svg.setAttribute('aria-label', `Weight of ${preset.columnNames[j]} at every score; now ${fixed(base[j])}.`);
    }

    // ---- controls, buttons and the address
    function choose(q, j) { if (state.selected[0] !== q || state.selected[1] !== j) { state.selected = [q, j]; update(true); } }
    function set(q, j, value) { state.scores[q][j] = clip(value); update(true); }
    const radios = state.losses.map((loss, k) => preset.together || state.losses.length < 2 ? null : h('label', {},
      h('input', {type: 'radio', name: `${box.id}-loss`, value: k, autocomplete: 'off', onchange: () => { state.loss = k; update(); remember(); }}),
      h('i', {class: 'dot', style: `background:${loss.colour}`}), loss.label));
    const sliders = preset.controls.map((control, k) => {
      const input = h('input', {type: 'range', min: 0, max: control.values.length - 1, step: 1, id: `${box.id}-c${k}`, autocomplete: 'off',
        'data-control': `${control.loss}.${control.option}`, oninput: () => { state.at[k] = +input.value; update(); }, onchange: remember});
      return {control, input, label: h('label', {for: input.id}), part: null};
    });
    box.querySelector('[data-part="losses"]').append(...radios.filter(Boolean));
    for (const s of sliders) box.querySelector('[data-part="controls"]').append(s.part = h('div', {}, s.label, s.input));

    function update(moved) {
      sliders.forEach(({control, input, label, part}, k) => {
        const value = control.values[state.at[k]], loss = state.losses.find(l => l.key === control.loss);
        loss.options[control.option] = value;
        input.value = state.at[k]; input.setAttribute('aria-valuetext', value);
        label.textContent = `${control.label}: ${minus(String(value))}`;
        part.hidden = !shown().includes(loss);
      });
      radios.forEach((label, k) => { if (label) label.firstChild.checked = k === state.loss; });
      const result = shown().map(loss => window.icrLosses.rows(loss, state.scores, positives));
      box.scoreTable.result = result;
      draw(result, moved);
      say.textContent = preset.rows === 1 ? ofOne(result) : ofMany(result[0]);
    }

    function ofOne(result) {
      const j = state.selected[1], each = shown().map((loss, k) => `${loss.label} ${signed(result[k].weights[0][j])} (${does(result[k].weights[0][j])})`);
      return `${capital(preset.columnNames[j])} at ${fixed(state.scores[0][j])}: weight by ${each.join(', ')}.`;
    }
    function ofMany({value, weights}) {
      const [q, j] = state.selected, loss = shown()[0], n = window.icrLosses.counts(weights[q], positives[q]), v = weights[q][j];
      const mean = fixed(value.reduce((a, b) => a + b, 0) / value.length, 3);
      return `${capital(what(q, j))}: score ${fixed(state.scores[q][j])}, weight ${signed(v)}, ${does(v)}. ` +
        `${n.count} of the ${weights[q].length} weights of ${preset.rowNames[q]} are above 0.01; ${fixed(n.effective, 1)} negatives in effect.` + (loss.name === 'goal' ? '' : ` ${loss.label}'s mean over all rows: ${mean}.`);
    }

    const inPage = box.closest('.bd-article');  // elsewhere the address is not ours to write
    function remember() {
      if (!inPage) return;
      const moved = state.scores.flatMap((row, q) => row.flatMap((v, j) => v === preset.scores[q][j] ? [] : [`${q}.${j}.${Math.round(100 * v)}`]));
      try { history.replaceState(null, '', `#${[box.id, state.loss, state.at.join('.') || '-', ...moved].join('~')}`); } catch (error) { /* it may not change */ }
    }
    function recall() {
      const [id, loss, at, ...moved] = decodeURIComponent(location.hash.slice(1)).split('~');
      if (!inPage || id !== box.id) return;
      if (state.losses[+loss]) state.loss = +loss;
      String(at).split('.').forEach((v, k) => { if (preset.controls[k]?.values[+v] !== undefined) state.at[k] = +v; });
      for (const [q, j, v] of moved.map(one => one.split('.').map(Number))) if (state.scores[q]?.[j] !== undefined && !isNaN(v)) state.scores[q][j] = clip(v / 100);
      box.scrollIntoView();
    }
    const reset = h('button', {type: 'button', onclick: () => apply(begin)}, 'Start again');
    box.querySelector('[data-part="buttons"]').append(reset);

    function apply(step) {
      if (step.scores) state.scores = copy(step.scores);
      if (step.loss !== undefined) state.loss = step.loss;
      if (step.at) state.at = [...step.at];
      for (const [q, j, v] of step.set || []) state.scores[q][j] = v;
      if (step.selected) state.selected = [...step.selected];
      update(); remember();
    }

    // ---- the guided tour: each step says something and puts the table into a state
    if (preset.tour.length) {
      const place = box.querySelector('[data-part="tour"]'), text = h('p', {'aria-live': 'polite'});
      let at = -1;
      const go = to => {
        at = Math.min(Math.max(to, 0), preset.tour.length - 1);
        apply(preset.tour.slice(0, at + 1).reduce((all, step) => ({...all, ...step, set: [...(all.set || []), ...(step.set || [])]}), begin));
        show();
      };
      const show = () => {
        text.textContent = at < 0 ? preset.invitation : `${at + 1} of ${preset.tour.length}. ${preset.tour[at].text}`;
        back.disabled = at <= 0; next.disabled = at === preset.tour.length - 1; next.textContent = at < 0 ? 'Show me' : 'Next';
      };
      const back = h('button', {type: 'button', onclick: () => go(at - 1)}, 'Back'), next = h('button', {type: 'button', onclick: () => go(at + 1)}, 'Next');
      place.append(text, h('div', {class: 'buttons'}, back, next));
      show();
    }

    const draw = preset.rows === 1 ? list() : table();
    recall();
    update();
    if (preset.curve) ['resize', 'load'].forEach(event => window.addEventListener(event, () => update(true)));  // another width
  }

  (window.icrExplorables ??= {}).table = setup;
})();
