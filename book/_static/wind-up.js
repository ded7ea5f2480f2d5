// A constrained problem in one dimension, and the multiplier that is to solve it (icrlib.toy writes the HTML).
// Minimise con(θ) = a θ²/2 under rec(θ) = floor + b (θ - 1)² <= η: θ descends, the multiplier ascends, at once.
// Loaded by a page and by the output of a notebook's cell: whichever comes first sets an element up.
(function () {
  'use strict';
  const SVG = 'http://www.w3.org/2000/svg';
  const number = (v, digits) => v.toFixed(digits).replace('-', '−');

  // The rule of icrlib.LagrangeMultiplier; arrays hold rec and θ before each step, x and λ after it.
  function simulate(p) {
    const names = ['theta', 'reconstruction', 'raw', 'lambda'], out = {};
    for (const name of names) out[name] = new Float64Array(p.steps);
    const clip = v => Math.min(Math.max(v, p.low), p.high);
    let theta = p.start, raw = p.init, velocity = 0;
    for (let t = 0; t < p.steps; t++) {
      const lambda = clip(raw), rec = p.floor + p.b * (theta - 1) * (theta - 1);
      const slope = rec / p.eta - 1;
      velocity = t === 0 ? slope : p.momentum * velocity + (1 - p.momentum) * slope;
      raw += p.lr * velocity;
      if (p.rule === 'projected') raw = clip(raw);
      out.theta[t] = theta; out.reconstruction[t] = rec; out.raw[t] = raw; out.lambda[t] = clip(raw);
      theta -= p.descent * (p.a * theta + lambda / p.eta * 2 * p.b * (theta - 1));
    }
    return out;
  }

  function element(name, attributes, parent, text) {
    const made = document.createElementNS(SVG, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    parent.appendChild(made);
    return made;
  }

  // Even between ±0.01, logarithmic beyond, so that 0 and 100 are on one axis.
  const symlog = v => Math.sign(v) * Math.log1p(Math.abs(v) / 0.01);

  // One panel: axes with ticks, shaded stretches, curves, and where the cursor stands.
  function panel(svg, width, height, view) {
    const left = 46, right = 8, top = 18, bottom = 30, steps = view.steps;
    while (svg.firstChild) svg.removeChild(svg.firstChild);
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    svg.setAttribute('aria-label', view.label);
    const [low, high] = view.range.map(view.scale);
    const X = t => left + (width - left - right) * t / steps;
    const Y = v => height - bottom - (height - top - bottom) * (Math.min(Math.max(view.scale(v), low), high) - low) / (high - low);
    for (const [from, to, kind] of view.stretches)
      element('rect', {x: X(from), y: top, width: Math.max(X(to) - X(from), 0.5), height: height - top - bottom, class: kind}, svg);
    for (const v of view.ticks) {
      element('line', {x1: left - 4, x2: left, y1: Y(v), y2: Y(v), class: 'axis'}, svg);
      element('text', {x: left - 7, y: Y(v) + 4, 'text-anchor': 'end'}, svg, String(v).replace('-', '−'));
    }
    for (let t = 0; t <= steps; t += steps / 3) {
      element('line', {x1: X(t), x2: X(t), y1: height - bottom, y2: height - bottom + 4, class: 'axis'}, svg);
      element('text', {x: X(t), y: height - bottom + 17, 'text-anchor': t ? (t < steps ? 'middle' : 'end') : 'start'}, svg,
        Math.round(t).toLocaleString('en') + (t === steps ? ' steps' : ''));
    }
    element('path', {d: `M${left},${top}V${height - bottom}H${width - right}`, class: 'axis'}, svg);
    for (const v of view.lines) element('path', {d: `M${left},${Y(v)}H${width - right}`, class: 'level'}, svg);
    for (const [values, kind] of view.curves) {
      const every = Math.max(1, Math.floor(steps / 1500)), points = [];
      for (let t = 0; t < steps; t += every) points.push(`${X(t).toFixed(1)},${Y(values[t]).toFixed(1)}`);
      element('polyline', {points: points.join(' '), class: kind}, svg);
      element('circle', {cx: X(view.at), cy: Y(values[view.at]), r: 4, class: `dot ${kind}`}, svg);
    }
    element('text', {x: left, y: 12, class: 'title'}, svg, view.title);
  }

  // Stretches of steps in which λ is 0: "off" where the constraint holds, "asleep" where it is violated.
  function stretches(result, p) {
    const found = [], kind = t => result.lambda[t] > 0 ? '' : result.reconstruction[t] > p.eta ? 'asleep' : 'off';
    for (let t = 0, from = 0; t < p.steps; t++)
      if (t + 1 === p.steps || kind(t + 1) !== kind(from)) {
        if (kind(from)) found.push([from, t + 1, kind(from)]);
        from = t + 1;
      }
    return found;
  }

  function summary(result, p) {
    let zero = 0, asleep = 0, low = Infinity, high = -Infinity;
    for (let t = 0; t < p.steps; t++) {
      if (result.lambda[t] <= 0) { zero++; if (result.reconstruction[t] > p.eta) asleep++; }
      low = Math.min(low, result.raw[t]); high = Math.max(high, result.raw[t]);
    }
    return {zero: zero / p.steps, asleep: asleep / p.steps, low: low, high: high};
  }

  function setup(box) {
    const preset = JSON.parse(box.querySelector('script[type="application/json"]').textContent);
    box.setAttribute('data-ready', '');
    const control = name => box.querySelector(`[data-control="${name}"]`), say = name => box.querySelector(`[data-say="${name}"]`);
    const ranges = ['eta', 'lr', 'momentum', 'step'].map(control), radios = [...box.querySelectorAll('input[type=radio]')];
    const onPage = box.closest('.bd-article'), uid = radios[0].name;  // elsewhere the address is not ours to write
    let result = null, p = null, timer = 0;

    function state() {
      const at = name => +control(name).value;
      return Object.assign({}, preset.problem, {eta: preset.eta[at('eta')], lr: preset.lr[at('lr')],
        momentum: preset.momentum[at('momentum')], rule: radios.find(r => r.checked).value});
    }
    function compute() {
      p = state();
      result = simulate(p);
      const s = summary(result, p);
      box.windUp = {state: p, result: result, summary: s};
      for (const name of ['eta', 'lr', 'momentum']) {
        say(name).textContent = p[name];
        control(name).setAttribute('aria-valuetext', p[name]);
      }
      say('summary').textContent = `η = ${p.eta}, learning rate ${p.lr}, momentum ${p.momentum}, ${p.rule} rule: λ is 0 in ` +
        `${number(100 * s.zero, 0)} % of the steps, and in ${number(100 * s.asleep, 0)} % it is 0 although the constraint ` +
        `is violated. Lowest x: ${number(s.low, 2)}; highest: ${number(s.high, 2)}.`;
      draw();
    }
    function draw() {
      const at = Math.min(+control('step').value, p.steps - 1), shaded = stretches(result, p);
      const width = Math.min(Math.max(box.clientWidth, 280), 760), s = box.windUp.summary;
      const whole = [-1000, -100, -10, -1, 0, 1, 10, 100, 1000, 10000];
      const low = Math.max(...whole.filter(v => v <= Math.min(s.low, -1)), -1000), high = Math.min(...whole.filter(v => v >= Math.max(s.high, 1)), 10000);
      const common = {steps: p.steps, at: at, stretches: shaded};
      panel(box.querySelector('[data-panel="multiplier"]'), width, 220, Object.assign({
        title: 'λ (thick) and the raw x behind it (dashed)', scale: symlog, range: [low, high], lines: [0],
        ticks: whole.concat(0.1, -0.1).filter(v => v >= low && v <= high), curves: [[result.raw, 'raw'], [result.lambda, 'lambda']],
        label: `λ and x over the steps; ${say('summary').textContent}`}, common));
      panel(box.querySelector('[data-panel="reconstruction"]'), width, 180, Object.assign({
        title: `L_rec, and the bound η = ${p.eta} (dotted)`, scale: v => v, range: [0, 0.6], lines: [p.eta], ticks: [0, 0.2, 0.4, 0.6],
        curves: [[result.reconstruction, 'reconstruction']], label: `L_rec over the steps, beside the bound ${p.eta}`}, common));
      const now = name => number(result[name][at], 3);
      say('step').textContent = (at + 1).toLocaleString('en');
      say('now').textContent = `Step ${(at + 1).toLocaleString('en')}: θ = ${now('theta')}, L_rec = ${now('reconstruction')}, x = ${now('raw')}, λ = ${now('lambda')}.`;
    }
    function remember() {
      if (!onPage) return;
      const parts = ranges.slice(0, 3).map(r => r.value).concat(radios.find(r => r.checked).value);
      try { history.replaceState(null, '', `#${uid}-${parts.join('-')}`); } catch (error) { /* an address that may not change */ }
    }
    function recall() {
      const found = onPage && location.hash.match(new RegExp(`^#${uid}-(\\d+)-(\\d+)-(\\d+)-(published|projected)$`));
      if (!found) return;
      ranges.slice(0, 3).forEach((r, i) => { r.value = found[i + 1]; });
      radios.forEach(r => { r.checked = r.value === found[4]; });
      box.scrollIntoView();
    }
    function play() {
      const step = control('step'), still = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
      const stop = () => { clearInterval(timer); timer = 0; say('play').textContent = 'Play'; };
      if (timer) return stop();
      if (still) { step.value = step.max; return draw(); }  // no movement where the reader wants none
      if (+step.value >= +step.max) step.value = 0;
      say('play').textContent = 'Stop';
      timer = setInterval(() => {
        step.value = +step.value + p.steps / 150;
        draw();
        if (+step.value >= +step.max) stop();
      }, 50);
    }
    [...ranges.slice(0, 3), ...radios].forEach(c => c.addEventListener('input', () => { compute(); remember(); }));
    control('step').addEventListener('input', draw);
    say('play').addEventListener('click', play);
    ['resize', 'load'].forEach(event => window.addEventListener(event, draw));  // the width may have changed
    recall();
    compute();
  }
  // Where an element is still being read, its own script, which comes last in it, is yet to run.
  const whole = box => box.querySelector('script[type="application/json"]');
  const start = () => [...document.querySelectorAll('.wind-up:not([data-ready])')].filter(whole).forEach(setup);
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start);
  start();
})();
