/* models.js - what agents asked language models: tokens, money and time by phase. */
'use strict';

R.panels.push({
  id: 'models', title: 'Tokens and cost by phase', half: true, when: run => run.exchanges && run.exchanges.length > 0,
  draw: (body, run) => {
    const phases = d3.nest().key(e => (e.model || e.agent) + '\u0000' + e.phase).entries(run.exchanges).map(({key, values}) => {
      const [model, phase] = key.split('\u0000'), sum = k => d3.sum(values, e => e[k] || 0);
      return {model, phase, n: values.length, tokensIn: sum('tokens_in'), tokensOut: sum('tokens_out'), money: sum('money'), seconds: sum('seconds')};
    });
    const most = d3.max(phases, p => p.tokensIn + p.tokensOut) || 1;
    const total = k => d3.sum(phases, p => p[k]);
    const row = p => R.el('tr', {}, R.el('td', {}, p.phase), R.el('td', {}, p.model),
      R.el('td', {}, p.model && R.el('div', {class: 'gauge', title: 'input and output'},
        R.el('i', {class: 'was', 'width%': 100 * (p.tokensIn + p.tokensOut) / most}), R.el('i', {'width%': 100 * p.tokensOut / most}))),
      [p.n, p.tokensIn, p.tokensOut].map(v => R.el('td', {class: 'n'}, R.number(v))),
      R.el('td', {class: 'n'}, p.money ? String(+p.money.toPrecision(3)) : '–'), R.el('td', {class: 'n'}, R.seconds(p.seconds)));
    const all = {phase: 'all', model: '', n: total('n'), tokensIn: total('tokensIn'), tokensOut: total('tokensOut'), money: total('money'), seconds: total('seconds')};
    body.append(R.el('div', {class: 'scroll'}, R.el('table', {},
      R.el('thead', {}, R.el('tr', {}, ['phase', 'model', 'tokens'].map(t => R.el('th', {}, t)),
        ['requests', 'input', 'output', 'money', 'waited'].map(t => R.el('th', {class: 'n'}, t)))),
      R.el('tbody', {}, phases.map(row), row(all)))));
    const outcomes = run.summary && run.summary.exchanges;
    if (outcomes) body.append(R.el('p', {class: 'soft small'}, R.plural(outcomes.filter(e => e.outcome === 'correct').length, 'correct kernel') + ' of ' + R.plural(outcomes.length, 'answer') + '.'));
  },
});
