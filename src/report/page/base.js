/* base.js - what all parts of the page share: the data, text and elements, colours, the tooltip.
 *
 * Everything in the data is untrusted. It reaches the page by textContent and attributes alone, never as HTML. */
'use strict';
const R = {panels: [], data: JSON.parse(document.getElementById('data').textContent), hidden: new Set()};

/* An element: R.el('td', {class: 'n', onclick: f}, 'text', element, ...). */
R.el = (name, attributes, ...children) => {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
    else if (key === 'width%') e.style.width = value + '%';
    else if (key === 'color') e.style.background = value;
    else e.setAttribute(key, value === true ? '' : value);
  }
  for (const child of children.flat()) if (child !== undefined && child !== null && child !== false) e.append(child);
  return e;
};

R.css = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
R.finite = x => typeof x === 'number' && isFinite(x);

/* ---- numbers as text ---- */

R.number = x => {
  if (!R.finite(x)) return '–';
  if (Number.isInteger(x) || Math.abs(x) >= 1e5) return d3.format(',.0f')(x);
  return Math.abs(x) >= 0.001 ? String(+x.toPrecision(4)) : d3.format('.3~e')(x);
};
R.seconds = s => !R.finite(s) ? '–' : s === 0 ? '0 s' : s < 1e-3 ? +(s * 1e6).toPrecision(4) + ' µs' : s < 1 ? +(s * 1e3).toPrecision(4) + ' ms'
  : s < 90 ? +s.toPrecision(3) + ' s' : s < 5400 ? +(s / 60).toPrecision(3) + ' min' : +(s / 3600).toPrecision(3) + ' h';
R.amount = (x, unit) => unit === 'seconds' ? R.seconds(x) : R.number(x) + (unit ? ' ' + unit : '');
R.short = (x, unit) => unit === 'seconds' ? R.seconds(x) : R.finite(x) ? d3.format('.3~s')(x) : '–';
R.percent = x => !R.finite(x) ? '–' : x === 0 ? '0%' : Math.abs(x) < 0.001 ? +(100 * x).toPrecision(2) + '%' : +(100 * x).toPrecision(3) + '%';
R.times = x => R.finite(x) ? (x >= 100 ? x.toFixed(0) : x >= 0.01 || x === 0 ? x.toFixed(2) : +x.toPrecision(1)) + '×' : '–';
R.plural = (n, word) => R.number(n) + ' ' + word + (n === 1 ? '' : 's');

/* ---- verdicts ---- */

R.kinds = {
  'correct': ['correct', 'correct'], 'slower, not checked': ['slower', 'slower, not checked'],
  'wrong': ['wrong', 'wrong'], 'wrong on fresh inputs': ['wrong', 'wrong on fresh inputs'],
  'faster than the machine can be': ['wrong', 'faster than the machine can be'], 'does not build': ['build', 'does not build'],
  'no kernel': ['build', 'no kernel'], 'illegal schedule': ['build', 'illegal schedule'], 'duplicate': ['same', 'duplicate'],
};
R.colors = new Map(); /* until the next drawing: styles are slow to ask for */
R.colorOf = verdict => {
  if (!R.colors.has(verdict)) R.colors.set(verdict, R.css((R.kinds[verdict] || ['other'])[0]));
  return R.colors.get(verdict);
};
R.isFailure = c => !['correct', 'slower, not checked', 'duplicate'].includes(c.verdict);

/* ---- a run with what follows from it ---- */

R.prepare = run => {
  const list = run.candidates || [];
  run.byNumber = new Map(list.map(c => [c.n, c]));
  for (const c of list) {
    c.children = [];
    /* Rules name a lever as the menu does ("row pipeline"), a reused search by its step ("row_pipeline"). */
    c.lever = (c.lever || '').split(' + ').map(part => /^[a-z0-9_]+$/.test(part) ? part.replace(/_/g, ' ') : part).join(' + ');
  }
  run.evaluated = list.filter(c => c.verdict !== 'duplicate');
  for (const c of list) {
    const parent = run.byNumber.get(c.parent);
    if (parent && parent.n !== c.n) parent.children.push(c);
  }
  run.facts = run.facts || {};
  const summary = run.summary || {};
  run.unit = run.unit || summary.unit || '';
  run.problem = run.problem || summary.problem || '';
  run.target = run.target || summary.target || '';
  run.version = run.version || summary.tilewright || '';
  run.startCandidate = list[0];
  run.bestCandidate = R.kernelOf(run, run.byNumber.get(run.best));
  const cost = which => R.finite(summary[which] && summary[which][run.unit]) ? summary[which][run.unit] : undefined;
  run.startCost = cost('start') ?? (run.startCandidate && run.startCandidate.cost);
  run.bestCost = cost('best') ?? (run.bestCandidate && run.bestCandidate.cost);
  run.boundCost = cost('bound') ?? run.facts.bound_cost;
  run.limit = (summary.bound && summary.bound.limit) || run.facts.bound_limit;
  run.utilizationOf = run.facts.utilization_of || "the machine's peak";
  run.utilization = (summary.best && summary.best.utilization) ?? (run.bestCandidate && run.bestCandidate.utilization);
  run.path = new Set();
  for (let c = run.byNumber.get(run.best); c && !run.path.has(c.n); c = run.byNumber.get(c.parent)) run.path.add(c.n);
  let best = Infinity, clock = 0;
  run.over = list.map((c, i) => {
    clock = R.finite(c.at) ? Math.max(clock, c.at) : clock;
    if (c.verdict === 'correct' && c.cost > 0 && c.cost < best) best = c.cost;
    return {c, sample: i + 1, at: c.at, best};
  });
  run.hasTimes = list.some(c => R.finite(c.at));
  return run;
};

/* A duplicate has the measurement of its twin. */
R.kernelOf = (run, c) => (c && run.byNumber.get(c.twin)) || c;
R.verdictOf = (run, c) => c.twin === undefined ? c.verdict : 'the kernel of #' + c.twin + ': ' + R.kernelOf(run, c).verdict;

R.titleOf = c => '#' + c.n + (c.iteration ? ', iteration ' + c.iteration : '');
R.planOf = c => [c.lever, c.step && c.step !== c.lever ? c.step : ''].filter(Boolean).join(': ');
R.describe = (c, run) => {
  const lines = [], k = R.kernelOf(run, c);
  if (R.planOf(c)) lines.push(R.planOf(c));
  if (c.why) lines.push(c.why);
  lines.push(R.verdictOf(run, c) + (k.cost > 0 ? ' – ' + R.amount(k.cost, run.unit) : ''));
  if (k.cost > 0) lines.push(R.times(run.startCost / k.cost) + ' the start, ' + R.percent(k.utilization) + ' of ' + run.utilizationOf);
  if (k.message) lines.push(k.message.length > 240 ? k.message.slice(0, 240) + '…' : k.message);
  return lines.join('\n');
};

/* ---- the tooltip ---- */

R.tip = (x, y, title, text) => {
  const tip = document.getElementById('tip');
  tip.replaceChildren(R.el('b', {}, title), text);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(8, Math.min(x + 14, innerWidth - box.width - 8)) + 'px';
  tip.style.top = Math.max(8, y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18) + 'px';
};
R.untip = () => { document.getElementById('tip').hidden = true; };
R.say = text => { document.getElementById('spoken').textContent = text; };

/* ---- canvases that are sharp on every screen ---- */

R.canvas = (parent, height, label) => {
  const canvas = R.el('canvas', {role: 'img', 'aria-label': label});
  const width = Math.max(120, parent.clientWidth), ratio = Math.min(3, devicePixelRatio || 1);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = height + 'px';
  const ctx = canvas.getContext('2d');
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  return {canvas, ctx, width, height, ratio};
};

/* Buttons of which one is pressed. */
R.choice = (label, options, now, pick) => R.el('span', {class: 'group', role: 'group', 'aria-label': label},
  options.map(([value, text]) => R.el('button', {type: 'button', 'aria-pressed': String(value === now), onclick: () => pick(value)}, text)));

/* A legend whose entries hide verdicts, in all charts. */
R.verdictLegend = run => {
  const counts = d3.nest().key(c => c.verdict).rollup(l => l.length).entries(run.candidates).sort((a, b) => b.value - a.value);
  return R.el('div', {class: 'legend', role: 'group', 'aria-label': 'Show candidates by verdict'}, counts.map(({key, value}) =>
    R.el('button', {type: 'button', 'aria-pressed': String(!R.hidden.has(key)), onclick: () => {
      R.hidden.has(key) ? R.hidden.delete(key) : R.hidden.add(key);
      R.redraw();
    }}, R.el('i', {color: R.colorOf(key)}), key + ' ' + R.number(value))));
};

/* Ticks of a logarithmic axis that do not touch each other; round numbers where it spans little. */
R.logTicks = (scale, most) => {
  const [low, high] = d3.extent(scale.domain());
  if (high / low < 12) return d3.scaleLinear().domain([low, high]).ticks(most - 1).filter(v => v >= low && v <= high);
  const all = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++)
    for (const m of high / low > 1e4 ? [1] : [1, 2, 5]) { const v = m * 10 ** e; if (v >= low * 0.999 && v <= high * 1.001) all.push(v); }
  return all.length <= most ? all : all.filter((v, i) => i % Math.ceil(all.length / most) === 0);
};
