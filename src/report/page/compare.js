/* compare.js - several runs side by side: results, and the best so far over samples or time. */
'use strict';
R.compareState = {x: 'sample', y: 'share'};

R.compareNames = runs => {
  const names = runs.map(r => r.directory.replace(/\/+$/, '').split('/').pop());
  return names.map((n, i) => names.indexOf(n) === names.lastIndexOf(n) ? n : runs[i].directory);
};

R.comparison = {
  id: 'comparison', title: 'Runs', draw: (body, runs) => {
    const names = R.compareNames(runs), colors = d3.schemeTableau10;
    body.append(R.el('div', {class: 'scroll'}, R.el('table', {},
      R.el('thead', {}, R.el('tr', {}, ['run', 'problem', 'target', 'agents'].map(t => R.el('th', {}, t)),
        ['best', 'of the bound', 'the start', 'evaluated', 'correct', 'search'].map(t => R.el('th', {class: 'n'}, t)), R.el('th', {}, 'state'))),
      R.el('tbody', {}, runs.map((r, i) => R.el('tr', {}, R.el('td', {}, R.el('i', {class: 'key', color: colors[i % 10]}), ' ' + names[i]), R.el('td', {}, r.problem), R.el('td', {}, r.target),
        R.el('td', {}, (r.search && r.search.agent) || ''), R.el('td', {class: 'n'}, R.amount(r.bestCost, r.unit)), R.el('td', {class: 'n'}, R.percent(r.boundCost / r.bestCost)),
        R.el('td', {class: 'n'}, R.times(r.startCost / r.bestCost)), R.el('td', {class: 'n'}, R.number(r.evaluated.length)),
        R.el('td', {class: 'n'}, R.number((r.candidates || []).filter(c => c.verdict === 'correct').length)),
        R.el('td', {class: 'n'}, R.seconds(r.summary ? r.summary.wall_seconds : r.facts.seconds)), R.el('td', {}, r.state || '')))))));
  },
};

R.comparisonChart = {
  id: 'progress', title: 'Best so far',
  tools: () => [R.choice('Horizontal axis', [['sample', 'over samples'], ['at', 'over time']], R.compareState.x, v => { R.compareState.x = v; R.redraw(); })],
  draw: (body, runs) => {
    const names = R.compareNames(runs), colors = d3.schemeTableau10, x = R.compareState.x;
    const same = new Set(runs.map(r => r.unit + r.problem + r.target)).size === 1;
    const plot = R.el('div', {class: 'plot'});
    body.append(R.el('div', {class: 'legend'}, names.map((n, i) => R.el('span', {}, R.el('i', {color: colors[i % 10]}), n))), plot);
    const width = Math.max(240, plot.clientWidth), height = 360, margin = {left: 66, right: 16, top: 20, bottom: 44};
    const value = (r, best) => same ? best : r.boundCost / best;
    const lines = runs.map(r => {
      let best = Infinity;
      const list = x === 'at' ? r.over.filter(p => R.finite(p.at)).sort((a, b) => a.at - b.at) : r.over, out = [];
      for (const p of list) {
        if (p.c.verdict === 'correct' && p.c.cost > 0) best = Math.min(best, p.c.cost);
        if (isFinite(best)) out.push([x === 'at' ? p.at : p.sample, value(r, best)]);
      }
      return out;
    });
    const all = lines.flat();
    if (!all.length) return body.append(R.el('p', {class: 'soft'}, 'No run has a journal.'));
    const xs = d3.scaleLinear().domain([0, d3.max(all, d => d[0])]).nice().range([margin.left, width - margin.right]);
    const [low, high] = d3.extent(all, d => d[1]);
    const ys = same ? d3.scaleLog().domain([low / 1.06, high * 1.06]).range([height - margin.bottom, margin.top])
      : d3.scaleLinear().domain([0, high * 1.1]).range([height - margin.bottom, margin.top]);
    const ticks = same ? R.logTicks(ys, 8) : ys.ticks(6);
    const svg = d3.select(plot).append('svg').attr('class', 'axis').attr('viewBox', `0 0 ${width} ${height}`).attr('height', height).attr('role', 'img')
      .attr('aria-label', 'Best so far of each run');
    svg.append('g').selectAll('line').data(ticks).enter().append('line').attr('class', 'gridline').attr('x1', margin.left).attr('x2', width - margin.right).attr('y1', d => ys(d)).attr('y2', d => ys(d));
    svg.append('g').attr('transform', `translate(0,${height - margin.bottom})`).call(d3.axisBottom(xs).ticks(width < 520 ? 4 : 8).tickFormat(x === 'at' ? R.seconds : d3.format('~s')));
    svg.append('g').attr('transform', `translate(${margin.left},0)`).call(d3.axisLeft(ys).tickValues(ticks).tickFormat(v => same ? R.short(v, runs[0].unit) : R.percent(v)));
    svg.append('text').attr('class', 'title').attr('x', width - margin.right).attr('y', height - 8).attr('text-anchor', 'end').text(x === 'at' ? 'time of search' : 'candidates');
    svg.append('text').attr('class', 'title').attr('x', 4).attr('y', 11).text(same ? 'cost of the best so far (' + runs[0].unit + '), logarithmic' : 'bound / cost of the best so far');
    lines.forEach((line, i) => svg.append('path').attr('class', 'line').attr('fill', 'none').style('stroke', colors[i % 10]).style('stroke-width', 2.4).attr('d', d3.line().x(d => xs(d[0])).y(d => ys(d[1])).curve(d3.curveStepAfter)(line)));
  },
};

R.comparisonCounters = {
  id: 'counters', title: 'Counters of the best kernels', draw: (body, runs) => {
    const names = R.compareNames(runs), counters = [...new Set(runs.flatMap(r => Object.keys(R.countersOf(r, 'best'))))];
    body.append(R.el('div', {class: 'scroll'}, R.el('table', {},
      R.el('thead', {}, R.el('tr', {}, R.el('th', {}, 'counter'), names.map(n => R.el('th', {class: 'n'}, n)), R.el('th', {class: 'help'}, ''))),
      R.el('tbody', {}, counters.map(k => R.el('tr', {}, R.el('td', {}, k), runs.map(r => R.el('td', {class: 'n'}, R.number(R.countersOf(r, 'best')[k]))), R.el('td', {class: 'help soft small'}, R.legendOf(runs[0], k).help || '')))))));
  },
};
