/* report.js - the header, the panels in their order, redrawing, the live view. */
'use strict';
R.runs = R.data.runs.map(R.prepare);

R.tiles = run => {
  const tile = (value, label, main) => {
    const [, number, unit] = /^(\S+)(?: (.*))?$/.exec(value) || [null, value];
    return R.el('div', {class: 'tile' + (main ? ' main' : '')}, R.el('b', {}, number, unit && R.el('small', {}, ' ' + unit)), R.el('span', {}, label));
  };
  const list = run.candidates || [], count = verdict => list.filter(c => c.verdict === verdict).length;
  const seconds = d3.max(list, c => c.at) || (run.summary ? run.summary.wall_seconds : run.facts.seconds);
  const same = list.length - run.evaluated.length;
  return R.el('div', {class: 'tiles'},
    tile(R.amount(run.bestCost, run.unit), run.state === 'running' ? 'best so far' : 'best', true),
    tile(R.times(run.startCost / run.bestCost), 'the start (' + R.amount(run.startCost, run.unit) + ')'),
    run.boundCost > 0 && tile(R.percent(run.boundCost / run.bestCost), 'of the bound, the least possible cost (' + R.amount(run.boundCost, run.unit) + ')'),
    run.utilizationOf.includes('peak') && tile(R.percent(run.utilization), 'of ' + run.utilizationOf + ', with every product counted'),
    tile(R.number(list.length ? run.evaluated.length : run.summary && run.summary.samples),
      'candidates evaluated' + (list.length ? ', ' + R.number(count('correct')) + ' correct' : '') + (same ? '; ' + R.plural(same, 'more duplicate') : '')),
    R.finite(seconds) && tile(R.seconds(seconds), 'of search'));
};

R.facts = run => {
  const out = [], fact = (name, value, mono) => { if (value) out.push(R.el('dt', {}, name), R.el('dd', {}, mono ? R.el('code', {}, value) : value)); };
  const checked = (run.summary && run.summary.checked) || (run.bestCandidate && run.bestCandidate.coverage);
  fact('Verified', checked && 'the best kernel: ' + checked + (run.summary ? '; checked again on fresh inputs' : ''));
  fact('Percentages', run.boundCost > 0 && run.utilizationOf.includes('peak') && 'of the bound: least possible cost / cost; of the peak: multiply-adds a second / the highest rate of the machine');
  fact('Cost', run.summary && run.summary.cost_from);
  const accuracy = run.summary && run.summary.accuracy;
  fact('Accuracy of costs', accuracy && (accuracy.error === null ? 'unknown' : R.percent(accuracy.error)) + ' (' + accuracy.of + ')');
  fact('Command', run.facts.command, true);
  fact('Date', run.search && run.search.started && run.search.started + ' UTC' + (run.search.finished ? ' to ' + run.search.finished + ' UTC' : ''));
  fact('Made by', ['tilewright ' + run.version, run.facts.host && 'on ' + run.facts.host, run.facts.jobs && 'with ' + R.plural(run.facts.jobs, 'evaluation') + ' at a time', run.facts.runner && 'by the runner ' + run.facts.runner].filter(Boolean).join(' '));
  fact('Agents', run.search && run.search.agent + ', seed ' + run.search.seed);
  if (run.searches > 1) fact('Searches', 'the journal has ' + run.searches + '; this page shows the last one');
  fact('Note', run.trouble);
  return R.el('dl', {class: 'facts'}, out);
};

R.themeButton = () => R.el('button', {type: 'button', id: 'theme', 'aria-label': 'Switch between light and dark', onclick: () => {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
  R.redraw();
}}, '◐');

R.panelsOf = () => {
  if (R.runs.length > 1) return [R.comparison, R.comparisonChart, R.comparisonCounters].map(p => [p, R.runs]);
  const order = ['progress', 'tree', 'steps', 'levers', 'counters', 'roofline', 'failures', 'models', 'timeline', 'candidates', 'sources'];
  return R.panels.slice().sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id)).filter(p => p.when(R.runs[0])).map(p => [p, R.runs[0]]);
};

R.header = () => {
  const top = document.getElementById('top'), run = R.runs[0], many = R.runs.length > 1;
  document.title = many ? R.runs.length + ' runs – tilewright' : (run.problem ? run.problem + ' on ' + run.target : 'The search starts') + ' – tilewright';
  const state = run.state || 'finished';
  top.replaceChildren(R.el('div', {class: 'bar-top'},
    many ? R.el('h1', {}, 'Comparison of ' + R.runs.length + ' runs') : R.el('h1', {}, run.problem || 'The search starts', run.target && R.el('span', {class: 'on'}, ' on ' + run.target)),
    R.el('span', {class: 'tools'}, !many && R.el('span', {class: 'state ' + state, id: 'state'}, R.el('i', {}), state), R.themeButton())));
  if (!many) top.append(run.bestCost > 0 ? R.tiles(run) : R.el('p', {class: 'soft'}, 'No candidate is correct yet.'), R.facts(run));
  top.append(R.el('nav', {'aria-label': 'Parts of the report'}, R.panelsOf().map(([p]) => R.el('a', {href: '#' + p.id}, p.title))));
  document.getElementById('foot').replaceChildren('tilewright ' + (R.data.tilewright || '') + '. Charts: d3 and jsdiff; their licences are in the source of this page.');
};

/* Panels below the window are drawn when the browser has time: the first paint does not wait for them. */
R.redraw = () => {
  R.untip();
  R.colors.clear();
  const main = document.getElementById('main'), panels = R.panelsOf(), focus = document.activeElement && document.activeElement.closest && document.activeElement.closest('.card');
  const scroll = window.scrollY, heights = new Map([...main.querySelectorAll('.card')].map(c => [c.id, c.offsetHeight]));
  main.replaceChildren();
  const draw = ([panel, what, card]) => {
    try {
      const body = R.el('div', {class: 'body'});
      card.style.minHeight = '';
      card.append(R.el('div', {class: 'head'}, R.el('h2', {}, panel.title), R.el('div', {class: 'tools'}, (panel.tools ? panel.tools(what) : []).filter(Boolean))), body);
      panel.draw(body, what);
    } catch (error) {
      card.append(R.el('p', {}, 'This part could not be drawn: ' + error.message));
      console.error(panel.id, error);
    }
  };
  const cards = panels.map(([panel, what]) => {
    const card = R.el('section', {class: 'card' + (panel.half ? ' half' : ''), id: panel.id, 'aria-label': panel.title});
    card.style.minHeight = (heights.get(panel.id) || 240) + 'px';
    main.append(card);
    return [panel, what, card];
  });
  const round = R.round = (R.round || 0) + 1;
  const early = heights.size ? cards.length : 0;
  cards.slice(0, early).forEach(draw);
  const later = cards.slice(early), next = () => {
    if (R.round !== round) return;
    if (later.length) draw(later.shift()), setTimeout(next, 0);
    else document.documentElement.dataset.ready = 'true';
  };
  requestAnimationFrame(() => setTimeout(next, 0)); /* after the header is painted */
  window.scrollTo(0, scroll);
  if (focus) { const same = document.getElementById(focus.id); const f = same && same.querySelector('canvas, button'); if (f) f.focus({preventScroll: true}); }
};

/* ---- the live view ---- */

R.poll = async () => {
  let wait = 2000, over = false;
  try {
    const answer = await fetch('data?after=' + encodeURIComponent(R.data.stamp || ''));
    if (answer.status === 200) {
      R.data = await answer.json();
      R.runs = R.data.runs.map(R.prepare);
      if (!document.getElementById('detail').open) { R.header(); R.redraw(); }
      over = R.runs[0].state === 'finished';
      wait = Math.min(10000, Math.max(2000, 3 * R.runs[0].candidates.length));
    } else if (answer.status !== 204) throw new Error('status ' + answer.status);
    R.lost = 0;
  } catch (error) {
    R.lost = (R.lost || 0) + 1;
    if (R.lost >= 3) {
      over = true;
      const state = document.getElementById('state');
      if (state) { state.className = 'state interrupted'; state.replaceChildren(R.el('i', {}), 'connection ended'); }
      document.getElementById('main').prepend(R.el('p', {class: 'banner'}, 'The search has ended, or its process has. `tilewright report DIR` writes the page of its directory.'));
    }
  }
  if (!over) setTimeout(R.poll, wait);
};

R.header();
R.redraw();
let resized, width = innerWidth;
addEventListener('resize', () => { clearTimeout(resized); resized = setTimeout(() => { if (innerWidth !== width) { width = innerWidth; R.redraw(); } }, 150); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', R.redraw);
addEventListener('scroll', R.untip, {passive: true});
if (R.data.live) setTimeout(R.poll, 2000);
