// What every loss of icrlib.losses makes of a score table, in closed form: values, weights, gradients, counts.
// One direction at a time, as there: rows are queries, and a query's loss is the mean over its positives. A test moves
// these beside the library's own in a browser. Loaded with score-table.js, by a page or by the output of a cell.
(function () {
  'use strict';
  const sigmoid = x => x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x));
  const softplus = x => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
  const relu = x => Math.max(x, 0);
  const sum = (values, of = v => v) => values.reduce((total, v, k) => total + of(v, k), 0);
  const logSumExp = values => {
    const top = Math.max(...values);
    return top === -Infinity ? top : top + Math.log(sum(values, v => Math.exp(v - top)));
  };

  // One (query, positive) pair: the row, who is positive, the pair's place, the negatives, the hardest of them (the
  // first at a tie), and weights to be filled in.
  function pair(s, positives, i) {
    const N = [...s.keys()].filter(j => !positives[j]);
    const hardest = N.reduce((best, j) => best < 0 || s[j] > s[best] ? j : best, -1);
    return {s, i, own: s[i], N, hardest, others: [...s.keys()].filter(j => positives[j] && j !== i), w: s.map(() => 0)};
  }
  const mined = (p, o) => o.negatives === 'hardest' ? [p.hardest] : p.N;

  // Weights of positive and negatives that add up to nothing: what is pushed is pulled.
  function balanced(p, pushed) {
    for (const [j, v] of pushed) { p.w[j] = v; p.w[p.i] -= v; }
    return p;
  }

  function softmax(p, o, all) {
    const among = all ? [p.i, ...p.N] : p.N, total = logSumExp(among.map(j => p.s[j] / o.tau));
    for (const j of among) p.w[j] += Math.exp(p.s[j] / o.tau - total) / o.tau;
    p.w[p.i] -= 1 / o.tau;
    return total - p.own / o.tau;
  }

  // Each: (pair, options) -> the pair's loss; its weights go to pair.w.
  const TERMS = {
    triplet(p, o) {
      balanced(p, p.N.filter(j => p.s[j] + (o.margin - p.own) > 0).map(j => [j, 1]));
      return sum(p.N, j => relu(p.s[j] + (o.margin - p.own)));
    },
    triplet_sh(p, o) {
      const over = p.s[p.hardest] + (o.margin - p.own);
      balanced(p, over > 0 ? [[p.hardest, 1]] : []);
      return relu(over);
    },
    ntxent: (p, o) => softmax(p, o, o.denominator === 'all'),
    dcl: (p, o) => softmax(p, o, false),
    smoothap(p, o) {
      const G = p.s.map((v, j) => j === p.i ? 0 : sigmoid((v - p.own) / o.tau));
      const R = 1 + sum(G), C = sum(p.N, j => G[j]);
      const near = j => G[j] * sigmoid((p.own - p.s[j]) / o.tau) / (o.tau * R * R);
      balanced(p, [...p.N.map(j => [j, (R - C) * near(j)]), ...p.others.map(j => [j, -C * near(j)])]);
      return C / R;
    },
    ntxent_hard(p, o) {
      const gap = (p.s[p.hardest] - p.own) / o.tau;
      balanced(p, [[p.hardest, sigmoid(gap) / o.tau]]);
      return softplus(gap);
    },
    ifm(p, o) {
      const total = logSumExp(p.N.map(j => p.s[j] / o.tau)), lead = total - p.own / o.tau, harder = lead + 2 * o.eps / o.tau;
      const pull = (sigmoid(lead) + sigmoid(harder)) / (2 * o.tau);
      for (const j of p.N) p.w[j] = Math.exp(p.s[j] / o.tau - total) * pull;
      p.w[p.i] = -pull;
      return (softplus(lead) + softplus(harder)) / 2;
    },
    siglip(p, o) {
      const x = j => o.scale * p.s[j] + o.bias;
      for (const j of p.N) p.w[j] = o.scale * sigmoid(x(j));
      p.w[p.i] = -o.scale * sigmoid(-x(p.i));
      return sum(p.N, j => softplus(x(j))) + softplus(-x(p.i));
    },
    ntxent_sparse(p, o) {
      const among = [p.i, ...p.N], falling = among.map(j => p.s[j] / o.tau).sort((a, b) => b - a);
      let total = 0, threshold = 0;  // of the k highest: what leaves a sum of one, as long as the k-th is above it
      falling.forEach((z, k) => { total += z; if (z > (total - 1) / (k + 1)) threshold = (total - 1) / (k + 1); });
      const share = j => relu(p.s[j] / o.tau - threshold), given = sum(p.N, share);
      for (const j of p.N) p.w[j] = share(j) / o.tau;
      p.w[p.i] = -given / o.tau;
      return sum(p.N, j => share(j) * (1 + (p.s[j] - p.own) / o.tau - share(j) / 2)) - given * given / 2;
    },
    circle(p, o) {
      const N = mined(p, o), slow = relu(1 + o.margin - p.own), fast = j => relu(p.s[j] + o.margin);
      const positive = -o.gamma * slow * (p.own - 1 + o.margin), negative = j => o.gamma * fast(j) * (p.s[j] - o.margin);
      const total = logSumExp(N.map(negative)), whole = o.gamma * sigmoid(positive + total);
      const full = (pace, offset) => o.detach || pace <= 0 ? pace : pace + offset;  // the product rule's second term
      for (const j of N) p.w[j] = Math.exp(negative(j) - total) * full(fast(j), p.s[j] - o.margin) * whole;
      p.w[p.i] = -whole * full(slow, -(p.own - 1 + o.margin));
      return softplus(positive + total);
    },
    binomial_deviance(p, o) {
      const N = mined(p, o), [first, second] = o.scaled ? [1 / o.alpha, 1 / o.beta] : [1, 1];
      for (const j of N) p.w[j] = second * o.beta * sigmoid(o.beta * (p.s[j] - o.lam)) / N.length;
      p.w[p.i] = -first * o.alpha * sigmoid(-o.alpha * (p.own - o.lam));
      return first * softplus(-o.alpha * (p.own - o.lam)) + second * sum(N, j => softplus(o.beta * (p.s[j] - o.lam))) / N.length;
    },
    multi_similarity(p, o) {
      const N = mined(p, o).filter(j => p.s[j] + o.eps > p.own), x = j => o.beta * (p.s[j] - o.lam);
      if (!N.length) return 0;
      const total = softplus(logSumExp(N.map(x)));
      for (const j of N) p.w[j] = Math.exp(x(j) - total);
      p.w[p.i] = -sigmoid(-o.alpha * (p.own - o.lam));
      return softplus(-o.alpha * (p.own - o.lam)) / o.alpha + total / o.beta;
    },
    alignment(p) { p.w[p.i] = -1; return 1 - p.own; },
    goal(p, o) {  // the value of a designed gradient is a surrogate, which means nothing
      const negative = p.s[p.hardest], T = TRIPLET[o.triplet_weight](o, p.own, negative), P = PAIR[o.pair_weight];
      const [mu, nu] = P.compare ? relative(p, o, P) : [P.neutral, P.neutral];
      const plus = T * P.positive(o, p.own, mu), minus = T * P.negative(o, negative, nu);
      p.w[p.hardest] = minus; p.w[p.i] = -plus;
      return minus * negative - plus * p.own;
    },
  };

  // GOAL's designed gradients, as printed (Eqs. 5-13): a triplet weight times a pair weight, at the hardest negative.
  const TRIPLET = {
    con: (o, p, n) => n + (o.margin - p) > 0 ? 1 : 0,
    nca: (o, p, n) => sigmoid(o.tau * (n - p)),
    cir: (o, p, n) => sigmoid(o.tau * ((1 - p) ** 2 + n * n - 1)),
  };
  const LINES = {positive: (o, s, nu) => (1 - nu) * (1 - s), negative: (o, s, nu) => (1 + nu) * s, neutral: 0};
  const SIGMOIDS = {positive: (o, s, mu) => 1 / (mu + Math.exp(o.alpha * (s - o.lam))),
    negative: (o, s, mu) => 1 / (mu + Math.exp(-o.beta * (s - o.lam))), neutral: 1};
  const PAIR = {
    con: {positive: () => 1, negative: () => 1, neutral: 0}, lin: LINES, sig: SIGMOIDS,
    'lin-ms': {...LINES, compare: [(o, gap) => gap, (o, gap) => gap]},
    'sig-ms': {...SIGMOIDS, compare: [(o, gap) => Math.exp(o.alpha * gap), (o, gap) => Math.exp(-o.beta * gap)]},
  };
  function relative(p, o, P) {
    const lowest = Math.min(p.own, ...p.others.map(j => p.s[j])), top = p.s[p.hardest];
    const mean = (among, of) => among.length ? sum(among, of) / among.length : P.neutral;
    return [mean(p.others.filter(j => p.s[j] < top + o.eps), j => P.compare[0](o, p.own - p.s[j])),
      mean(p.N.filter(j => p.s[j] > lowest - o.eps && j !== p.hardest), j => P.compare[1](o, top - p.s[j]))];
  }

  // loss: {name, options, queries, directions}. Rows: {value: (Q), weights: (Q, M)}.
  function rows(loss, scores, positives) {
    const value = [], weights = [];
    scores.forEach((s, q) => {
      const own = [...s.keys()].filter(j => positives[q][j]), w = s.map(() => 0);
      let total = 0;
      for (const i of own) {
        const p = pair(s, positives[q], i);
        total += TERMS[loss.name](p, loss.options);
        p.w.forEach((v, j) => { w[j] += v / own.length; });
      }
      value.push(total / own.length);
      weights.push(w);
    });
    return {value, weights};
  }

  const transposed = table => table[0].map((_, j) => table.map(row => row[j]));

  // Both directions, reduced as the loss reduces them: {value, gradient: (Q, M)}.
  function both(loss, scores, positives) {
    const across = rows(loss, scores, positives), down = rows(loss, transposed(scores), transposed(positives));
    const share = count => (loss.queries === 'sum' ? 1 : 1 / count) * (loss.directions === 'sum' ? 1 : 0.5);
    const first = share(scores.length), second = share(scores[0].length), back = transposed(down.weights);
    return {value: first * sum(across.value) + second * sum(down.value),
      gradient: across.weights.map((row, q) => row.map((v, j) => first * v + second * back[q][j]))};
  }

  // How many weights of a query are above eps, and how many negatives share its push, as icrlib.cocos has both.
  function counts(weights, positives, eps = 0.01) {
    const pushed = weights.map((w, j) => positives[j] ? 0 : Math.abs(w)), top = Math.max(...pushed, 0);
    return {count: weights.filter(w => Math.abs(w) > eps).length,
      effective: top > 0 ? sum(pushed, v => v / top) ** 2 / sum(pushed, v => (v / top) ** 2) : 0};
  }

  // Numbers as the book writes them.
  const minus = text => text.replace('-', '−'), fixed = (v, digits = 2) => minus(v.toFixed(digits));

  window.icrNumbers = {minus, fixed};
  window.icrLosses = {names: Object.keys(TERMS), rows, both, counts};
})();
