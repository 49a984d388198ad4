/* counters.js - best, start and bound side by side, with their counters and memory. */
'use strict';

/* Of a finished search the summary has them, else the journal. */
R.countersOf = (run, which) => {
  const summary = run.summary && run.summary[which];
  if (summary && summary.counters) return summary.counters;
  const c = which === 'best' ? run.bestCandidate : run.startCandidate;
  return (c && c.counters) || {};
};
R.legendOf = (run, name) => (run.summary && run.summary.legend && run.summary.legend[name]) || (run.counters && run.counters[name]) || {};

R.panels.push({
  id: 'counters', title: 'Best against start and bound', when: run => run.bestCost > 0,
  draw: (body, run) => {
    const best = R.countersOf(run, 'best'), start = R.countersOf(run, 'start');
    const names = [...new Set([...Object.keys(best), ...Object.keys(start)])];
    const row = (name, a, b, bound, show, help, share) => {
      const ratio = a > 0 && b > 0 ? b / a : undefined;
      return R.el('tr', {},
        R.el('td', {}, name),
        R.el('td', {class: 'n'}, show(a)), R.el('td', {class: 'n'}, show(b)), R.el('td', {class: 'n wide'}, bound),
        R.el('td', {class: 'n wide'}, ratio === undefined ? '' : R.times(ratio)),
        R.el('td', {class: 'wide'}, share !== undefined && R.el('div', {class: 'gauge', title: R.percent(share) + ' of the cost of the best'},
          R.el('i', {'width%': Math.min(100, 100 * share)}))),
        R.el('td', {class: 'help soft small'}, help || ''));
    };
    const cost = v => R.amount(v, run.unit);
    const rows = [row('cost', run.startCost, run.bestCost, R.finite(run.boundCost) ? cost(run.boundCost) : '–', cost, run.limit ? 'bound: ' + run.limit : '')];
    const timed = names.filter(n => R.legendOf(run, n).unit === run.unit), others = names.filter(n => R.legendOf(run, n).unit !== run.unit);
    for (const n of timed) rows.push(row(n, start[n], best[n], '', cost, R.legendOf(run, n).help, best[n] / run.bestCost));
    for (const n of others) {
      const unit = R.legendOf(run, n).unit;
      rows.push(row(n, start[n], best[n], '', v => R.amount(v, unit === 'seconds' ? unit : ''), [unit && unit !== 'seconds' ? '(' + unit + ')' : '', R.legendOf(run, n).help].filter(Boolean).join(' ')));
    }
    body.append(R.el('div', {class: 'scroll'}, R.el('table', {},
      R.el('thead', {}, R.el('tr', {}, R.el('th', {}, ''), ['start', 'best'].map(t => R.el('th', {class: 'n'}, t)), ['bound', 'best / start'].map(t => R.el('th', {class: 'n wide'}, t)),
        R.el('th', {class: 'wide'}, 'share of cost'), R.el('th', {class: 'help'}, ''))), R.el('tbody', {}, rows))));
    const memory = (run.summary && run.summary.best.memory) || (run.bestCandidate && run.bestCandidate.memory);
    if (!memory) return;
    body.append(R.el('h3', {}, 'Memory of the best'), R.el('div', {class: 'two'}, Object.entries(memory).map(([name, m]) =>
      R.el('div', {class: 'rung'}, R.el('span', {}, name), R.el('div', {class: 'gauge'}, R.el('i', {'width%': m.size > 0 ? 100 * m.used / m.size : 0})),
        R.el('span', {class: 'value'}, R.number(m.used) + ' of ' + R.number(m.size) + ' bytes')))));
  },
});
