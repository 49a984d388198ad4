/* detail.js - one candidate: its difference from its parent, its source, its counters; and the table of all. */
'use strict';

/* Sources are at the end of the page, and read when the first is asked for. */
R.sources = () => {
  const element = document.getElementById('source-data');
  if (!R.sourcesRead && element) R.sourcesRead = JSON.parse(element.textContent);
  return R.sourcesRead || {};
};

/* From the lines of the page; undefined where the page has no source. */
R.sourceOf = (run, n) => {
  const {lines, runs: all} = R.sources(), runs = all && all[n];
  if (!runs) return undefined;
  const out = [];
  for (let i = 0; i < runs.length; i += 2) for (let k = 0; k < runs[i + 1]; k++) out.push(lines[runs[i] + k]);
  return out.join('\n') + '\n';
};

/* {source, parent}: from this page, or from the live view's server. */
R.sourcesOf = async (run, c) => {
  if (R.data.live) {
    const answer = await fetch('source?n=' + encodeURIComponent(c.n));
    return answer.ok ? answer.json() : {};
  }
  const of = k => k && R.sourceOf(run, k.twin !== undefined ? k.twin : k.n);
  return {source: of(c), parent: of(run.byNumber.get(c.parent))};
};

const CONTEXT = 4, LINES_MAX = 20000;
R.diffView = (before, after) => {
  const pre = R.el('pre', {tabindex: 0, 'aria-label': 'Difference from the parent'});
  const parts = Diff.diffLines(before, after);
  if (parts.every(p => !p.added && !p.removed)) return R.el('p', {class: 'soft'}, 'The source is the same as the parent’s.');
  const add = (kind, sign, text) => pre.append(R.el('span', {class: 'l ' + kind}, sign + text));
  parts.forEach((part, i) => {
    const lines = part.value.replace(/\n$/, '').split('\n');
    if (part.added || part.removed) return lines.slice(0, LINES_MAX).forEach(l => add(part.added ? 'add' : 'del', part.added ? '+ ' : '− ', l));
    const head = i > 0 ? lines.slice(0, CONTEXT) : [], tail = i < parts.length - 1 ? lines.slice(-CONTEXT) : [];
    if (lines.length <= head.length + tail.length + 1) return lines.forEach(l => add('', '  ', l));
    head.forEach(l => add('', '  ', l));
    add('cut', '  ', '… ' + R.plural(lines.length - head.length - tail.length, 'equal line') + ' …');
    tail.forEach(l => add('', '  ', l));
  });
  return pre;
};

R.sourceView = text => {
  const pre = R.el('pre', {tabindex: 0, 'aria-label': 'Source'});
  text.replace(/\n$/, '').split('\n').slice(0, LINES_MAX).forEach(l => pre.append(R.el('span', {class: 'l'}, l || ' ')));
  return pre;
};

R.detailFacts = (run, c) => {
  const parent = run.byNumber.get(c.parent), out = [];
  const k = R.kernelOf(run, c), before = R.kernelOf(run, parent);
  const fact = (name, value) => { if (value !== undefined && value !== '') out.push(R.el('dt', {}, name), R.el('dd', {}, value)); };
  const open = n => R.el('button', {type: 'button', onclick: () => R.openDetail(run, run.byNumber.get(n))}, '#' + n);
  fact('verdict', R.verdictOf(run, c));
  if (k.cost > 0) fact('cost', R.amount(k.cost, run.unit) + ', ' + R.times(run.startCost / k.cost) + ' the start, ' + R.percent(k.utilization) + ' of ' + run.utilizationOf);
  if (k.cost > 0 && before && before.cost > 0) fact('against its parent', R.times(before.cost / k.cost));
  fact('plan', R.planOf(c));
  fact('why', c.why);
  fact('message', k.message);
  if (parent) fact('parent', open(c.parent));
  if (c.twin !== undefined) fact('same kernel as', open(c.twin));
  if (c.mends !== undefined) fact('repairs', open(c.mends));
  if (c.children.length) fact('children', R.plural(c.children.length, 'candidate'));
  fact('proposed by', c.agent);
  fact('checked', k.coverage);
  fact('evaluated by', c.place);
  if (c.took > 0) fact('took', R.seconds(c.took) + (R.finite(c.at) ? ', ended ' + R.seconds(c.at) + ' after the start of the search' : ''));
  return R.el('dl', {class: 'facts'}, out);
};

R.openDetail = async (run, c) => {
  if (!c) return;
  const dialog = document.getElementById('detail'), view = R.el('div', {});
  const tabs = [['diff', 'Difference from the parent'], ['source', 'Source'], ['schedule', 'Schedule'], ['counters', 'Counters']];
  const kernel = R.kernelOf(run, c);
  const sources = R.sourcesOf(run, c).catch(() => ({}));
  const leftOut = R.sources().left_out, left = leftOut ? ' The sources of ' + leftOut + ' candidates are left out; the journal has them.' : '';
  const draw = {
    diff: async () => {
      const s = await sources;
      if (!s.source) return R.el('p', {class: 'soft'}, 'This page has no source of the candidate.' + left);
      return s.parent ? R.diffView(s.parent, s.source) : R.el('p', {class: 'soft'}, 'A candidate without a parent: see its source.');
    },
    source: async () => { const s = await sources; return s.source ? R.sourceView(s.source) : R.el('p', {class: 'soft'}, 'This page has no source of the candidate.' + left); },
    schedule: async () => c.schedule ? R.sourceView(c.schedule) : R.el('p', {class: 'soft'}, 'The source has no schedule.'),
    counters: async () => kernel.counters ? R.el('table', {}, R.el('tbody', {}, Object.entries(kernel.counters).map(([k, v]) => R.el('tr', {}, R.el('td', {}, k), R.el('td', {class: 'n'}, R.number(v)))))) : R.el('p', {class: 'soft'}, 'No counters.'),
  };
  const bar = R.el('div', {class: 'tools', role: 'tablist'});
  const pick = async which => {
    for (const b of bar.children) b.setAttribute('aria-selected', String(b.dataset.tab === which));
    view.replaceChildren(await draw[which]());
  };
  for (const [id, text] of tabs) bar.append(R.el('button', {type: 'button', role: 'tab', 'data-tab': id, onclick: () => pick(id)}, text));
  dialog.replaceChildren(R.el('div', {class: 'inner'},
    R.el('div', {class: 'head'}, R.el('h2', {id: 'detail-title'}, R.titleOf(c) + (c.n === run.best ? ' – the best' : c.n === 0 ? ' – the start' : '')),
      R.el('button', {type: 'button', 'aria-label': 'Close', onclick: () => dialog.close()}, '✕')),
    R.detailFacts(run, c), R.el('p', {}, bar), view));
  if (!dialog.open) dialog.showModal();
  await pick(c.parent === undefined ? 'source' : 'diff');
};
document.getElementById('detail').addEventListener('click', e => { if (e.target.id === 'detail') e.target.close(); });

R.tableState = {sort: 'n', down: false, text: '', shown: 50};
R.panels.push({
  id: 'candidates', title: 'All candidates', when: run => run.candidates && run.candidates.length > 0,
  draw: (body, run) => {
    const s = R.tableState, out = R.el('div', {class: 'scroll'}), more = R.el('p', {});
    const columns = [['n', '#'], ['iteration', 'iteration'], ['verdict', 'verdict'], ['cost', 'cost'], ['utilization', 'utilization'], ['lever', 'step'], ['agent', 'agent']];
    const fill = () => {
      const words = s.text.toLowerCase().split(/\s+/).filter(Boolean);
      let list = run.candidates.filter(c => !R.hidden.has(c.verdict) && words.every(w => [c.n, c.verdict, c.lever, c.step, c.why, c.message, c.agent, c.place].join(' ').toLowerCase().includes(w)));
      list = list.sort((a, b) => { const x = a[s.sort], y = b[s.sort]; return x === y ? a.n - b.n : x === undefined ? 1 : y === undefined ? -1 : (x < y ? -1 : 1) * (s.down ? -1 : 1); });
      out.replaceChildren(R.el('table', {}, R.el('thead', {}, R.el('tr', {}, columns.map(([key, text], i) => R.el('th', {class: (i !== 2 && i < 5 ? 'n' : '') + ([1, 4, 6].includes(i) ? ' wide' : ''), 'aria-sort': s.sort === key ? (s.down ? 'descending' : 'ascending') : null},
        R.el('button', {type: 'button', onclick: () => { s.down = s.sort === key && !s.down; s.sort = key; fill(); }}, text + (s.sort === key ? (s.down ? ' ↓' : ' ↑') : '')))))),
        R.el('tbody', {}, list.slice(0, s.shown).map(c => R.el('tr', {class: 'row' + (c.n === run.best ? ' best' : ''), tabindex: 0,
          onclick: () => R.openDetail(run, c), onkeydown: e => { if (e.key === 'Enter') R.openDetail(run, c); }},
          R.el('td', {class: 'n'}, c.n), R.el('td', {class: 'n wide'}, c.iteration), R.el('td', {class: 'line'}, R.el('i', {class: 'key', color: R.colorOf(c.verdict)}), ' ' + c.verdict),
          R.el('td', {class: 'n'}, c.cost > 0 ? R.amount(c.cost, run.unit) : ''), R.el('td', {class: 'n wide'}, c.cost > 0 ? R.percent(c.utilization) : ''),
          R.el('td', {}, R.planOf(c).slice(0, 160)), R.el('td', {class: 'wide'}, c.agent || ''))))));
      more.replaceChildren(R.el('span', {class: 'soft small'}, R.plural(list.length, 'candidate') + ', with duplicates. '),
        list.length > s.shown ? R.el('button', {type: 'button', onclick: () => { s.shown += 200; fill(); }}, 'Show more') : '');
    };
    body.append(R.el('p', {}, R.el('input', {type: 'search', placeholder: 'Search', 'aria-label': 'Search candidates', value: s.text, oninput: e => { s.text = e.target.value; fill(); }})), out, more);
    fill();
  },
});

R.panels.push({
  id: 'sources', title: 'Schedule and sources', when: run => run.summary || run.candidates && !R.data.live,
  draw: (body, run) => {
    const summary = run.summary || {best: {}, start: {}};
    const fold = (title, source, open) => {
      const box = R.el('details', {open}, R.el('summary', {}, title));
      const fill = () => { if (box.children.length < 2) box.append(R.sourceView(source() || 'This page has no such source.')); };
      open ? fill() : box.addEventListener('toggle', fill);
      body.append(box);
    };
    const schedule = summary.best.schedule || (run.bestCandidate && run.bestCandidate.schedule);
    if (schedule) fold('Schedule of the best', () => schedule, true);
    fold('Source of the best', () => summary.best.source || R.sourceOf(run, run.bestCandidate && run.bestCandidate.n));
    fold('Source of the start', () => (summary.start && summary.start.source) || R.sourceOf(run, 0));
  },
});
