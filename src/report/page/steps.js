/* steps.js - which steps led to the best, which helped in general, and how candidates failed. */
'use strict';

/* From the start to the best: the ladder of a finished search, else the parents of the best so far. */
R.rungsOf = run => {
  if (run.summary && run.summary.ladder) return run.summary.ladder.map(r => ({step: r.step, why: r.why, cost: r[run.unit], faint: r.within_error}));
  return [...run.path].map(n => run.byNumber.get(n)).reverse().map(c => ({step: c.n === 0 ? 'start' : R.planOf(c), why: c.why, cost: c.cost}));
};

R.panels.push({
  id: 'steps', title: 'From the start to the best', half: true, when: run => R.rungsOf(run).length > 0,
  draw: (body, run) => {
    const rungs = R.rungsOf(run), top = d3.max(rungs, r => r.cost) || 1;
    const error = run.summary && run.summary.error;
    const list = R.el('div', {class: 'rungs'});
    let before = null;
    body.append(list);
    for (const r of rungs) {
      const gain = before ? before / r.cost : null;
      list.append(R.el('div', {class: 'rung' + (r.faint ? ' faint' : '')},
        R.el('span', {}, r.step),
        R.el('div', {class: 'gauge', title: R.amount(r.cost, run.unit)}, R.el('i', {'width%': 100 * r.cost / top})),
        R.el('span', {class: 'value'}, R.amount(r.cost, run.unit) + (gain ? '  ' + (r.faint ? '~' : '') + R.times(gain) : '')),
        r.why && R.el('div', {class: 'why'}, r.why)));
      before = r.cost;
    }
    if (error && rungs.some(r => r.faint)) body.append(R.el('p', {class: 'soft small'},
      '~: no gain or loss that is known: below ' + R.percent(error.least) + ' (' + error.of + ')'));
  },
});

/* For each lever: how often it was tried, how often it paid, and by how much. */
R.leversOf = run => {
  const levers = new Map();
  for (const c of run.candidates) {
    const parent = run.byNumber.get(c.parent);
    if (!parent || !c.lever || c.verdict === 'duplicate') continue;
    for (const lever of c.lever.split(' + ')) {
      const l = levers.get(lever) || {lever, tried: 0, failed: 0, paid: 0, gains: []};
      levers.set(lever, l);
      l.tried++;
      l.failed += R.isFailure(c);
      if (c.verdict !== 'correct' || !(c.cost > 0) || !(parent.cost > 0)) continue;
      const gain = parent.cost / c.cost;
      l.paid += gain > 1;
      l.gains.push(gain);
    }
  }
  return [...levers.values()].sort((a, b) => b.paid - a.paid || b.tried - a.tried);
};

R.panels.push({
  id: 'levers', title: 'Which steps helped', half: true, when: run => run.candidates && R.leversOf(run).length > 0,
  draw: (body, run) => {
    const levers = R.leversOf(run), most = d3.max(levers, l => l.tried);
    const rows = levers.slice(0, 40).map(l => R.el('tr', {},
      R.el('td', {}, l.lever),
      R.el('td', {}, R.el('div', {class: 'gauge', title: l.paid + ' of ' + l.tried + ' beat their parent'},
        R.el('i', {class: 'was', 'width%': 100 * l.tried / most}), R.el('i', {'width%': 100 * l.paid / most}))),
      R.el('td', {class: 'n'}, l.paid + '/' + l.tried),
      R.el('td', {class: 'n'}, l.gains.length ? R.times(d3.median(l.gains)) : '–'),
      R.el('td', {class: 'n'}, l.gains.length ? R.times(d3.max(l.gains)) : '–'),
      R.el('td', {class: 'n'}, l.failed || '')));
    body.append(R.el('div', {class: 'scroll'}, R.el('table', {},
      R.el('thead', {}, R.el('tr', {}, ['step', 'beat the parent', ''].map(t => R.el('th', {}, t)),
        ['median gain', 'best gain', 'failed'].map(t => R.el('th', {class: 'n'}, t)))), R.el('tbody', {}, rows))));
    if (levers.length > 40) body.append(R.el('p', {class: 'soft small'}, 'and ' + R.plural(levers.length - 40, 'more step')));
  },
});

/* Messages that differ by numbers and addresses alone are one. */
R.messageKind = text => (text || 'no message').split('\n')[0].replace(/0x[0-9a-f]+/gi, '…').replace(/-?\d+(\.\d+)?(e[+-]?\d+)?/gi, 'N').slice(0, 160);

R.panels.push({
  id: 'failures', title: 'Failures by kind', half: true, when: run => run.candidates && run.candidates.some(R.isFailure),
  draw: (body, run) => {
    const failed = run.candidates.filter(R.isFailure);
    const kinds = d3.nest().key(c => c.verdict).entries(failed).sort((a, b) => b.values.length - a.values.length);
    const most = kinds[0].values.length;
    body.append(R.el('p', {class: 'soft small'}, R.plural(failed.length, 'candidate') + ' of ' + R.number(run.evaluated.length) + ' evaluated failed.'));
    for (const k of kinds) {
      const messages = d3.nest().key(c => R.messageKind(c.message)).entries(k.values).sort((a, b) => b.values.length - a.values.length);
      body.append(R.el('details', {}, R.el('summary', {},
        R.el('span', {class: 'rung'}, R.el('span', {}, k.key),
          R.el('div', {class: 'gauge'}, R.el('i', {'width%': 100 * k.values.length / most, color: R.colorOf(k.key)})),
          R.el('span', {class: 'value'}, R.number(k.values.length)))),
        R.el('table', {}, R.el('tbody', {}, messages.slice(0, 8).map(m => R.el('tr', {class: 'row', tabindex: 0,
          onclick: () => R.openDetail(run, m.values[0]), onkeydown: e => { if (e.key === 'Enter') R.openDetail(run, m.values[0]); }},
          R.el('td', {class: 'n'}, m.values.length), R.el('td', {}, m.values[0].message ? m.values[0].message.slice(0, 300) : 'no message')))))));
    }
  },
});
