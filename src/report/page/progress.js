/* progress.js - cost, or utilization, of every candidate over samples or over time; the best so far as a line. */
'use strict';
R.progress = {x: 'sample', y: 'cost'};

R.panels.push({
  id: 'progress', title: 'Progress', when: run => run.candidates && run.candidates.length > 0,
  tools: run => [
    run.hasTimes && R.choice('Horizontal axis', [['sample', 'over samples'], ['at', 'over time']], R.progress.x,
      v => { R.progress.x = v; R.redraw(); }),
    R.choice('Vertical axis', [['cost', 'cost'], ['utilization', 'utilization']], R.progress.y, v => { R.progress.y = v; R.redraw(); })],
  draw: (body, run) => {
    const plot = R.el('div', {class: 'plot'});
    body.append(R.verdictLegend(run), plot);
    const x = run.hasTimes ? R.progress.x : 'sample', y = R.progress.y;
    R.scatter(plot, run, x, y);
  },
});

/* The extent of most of what is measured, with room: a start that costs many times the rest would make a line of it, and is drawn at
 * the edge. The bound is in it unless it is far away. */
R.costDomain = (run, points) => {
  const costs = points.map(p => p.c.cost).filter(v => v > 0).sort(d3.ascending);
  let low = costs[0] || 1, high = costs.length ? costs[costs.length - 1] : 10;
  const most = d3.quantile(costs, 0.97) || high;
  if (most / low < high / most) high = most * Math.max(1.05, (most / low) ** 0.3);
  if (run.boundCost > 0 && run.boundCost > low / Math.max(2, high / low)) low = Math.min(low, run.boundCost);
  const room = Math.max(1.01, (high / low) ** 0.06);
  return [low / room, high * room];
};

R.scatter = (plot, run, x, y) => {
  const narrow = plot.clientWidth < 520, height = narrow ? 310 : 380;
  const margin = {left: narrow ? 52 : 66, right: 14, top: 26, bottom: 62};
  const points = run.over.filter(p => !R.hidden.has(p.c.verdict) && R.finite(x === 'at' ? p.at : p.sample));
  const {canvas, ctx, width} = R.canvas(plot, height, 'Cost of each candidate');
  const svg = d3.select(plot).append('svg').attr('height', height).attr('viewBox', `0 0 ${width} ${height}`).attr('class', 'axis')
    .style('position', 'absolute').style('inset', '0').style('pointer-events', 'none');
  const xs = d3.scaleLinear().domain([0, d3.max(run.over, p => x === 'at' ? p.at : p.sample) || 1]).nice().range([margin.left, width - margin.right]);
  const bottom = height - margin.bottom, strip = bottom + 14;
  const most = d3.max(run.over, p => p.c.utilization || 0) || 0.01;
  const share = run.boundCost > 0 && run.bestCost > 0 ? run.utilization * run.bestCost / run.boundCost : undefined;
  const ys = y === 'cost' ? d3.scaleLog().domain(R.costDomain(run, run.over)).range([bottom, margin.top])
    : d3.scaleLinear().domain([0, share && share < 3 * most ? Math.max(share, most) * 1.05 : most * 1.1]).range([bottom, margin.top]);
  const ticks = y === 'cost' ? R.logTicks(ys, narrow ? 5 : 8) : ys.ticks(5);
  const valueOf = c => y === 'cost' ? c.cost : c.utilization;
  const at = p => [xs(x === 'at' ? p.at : p.sample), valueOf(p.c) > 0 && !R.isFailure(p.c) ? Math.max(margin.top, ys(valueOf(p.c))) : strip];
  svg.append('g').selectAll('line').data(ticks).enter().append('line').attr('class', 'gridline')
    .attr('x1', margin.left).attr('x2', width - margin.right).attr('y1', d => ys(d)).attr('y2', d => ys(d));
  svg.append('g').attr('transform', `translate(0,${bottom + 22})`)
    .call(d3.axisBottom(xs).ticks(narrow ? 4 : 8).tickFormat(x === 'at' ? R.seconds : d3.format('~s')));
  svg.append('g').attr('transform', `translate(${margin.left},0)`).call(d3.axisLeft(ys).tickValues(ticks)
    .tickFormat(v => y === 'cost' ? R.short(v, run.unit) : R.percent(v)));
  svg.append('text').attr('class', 'title').attr('x', width - margin.right).attr('y', height - 6).attr('text-anchor', 'end')
    .text(x === 'at' ? 'time of search' : 'candidates in the order of their proposal');
  svg.append('text').attr('class', 'title').attr('x', 4).attr('y', 10)
    .text(y === 'cost' ? 'cost' + (run.unit === 'seconds' ? '' : ' (' + run.unit + ')') + ', logarithmic' : 'of ' + run.utilizationOf);
  svg.append('text').attr('x', margin.left - 6).attr('y', strip + 4).attr('text-anchor', 'end').text('none');
  const reference = (value, name, color) => {
    if (!(value > 0) || ys(value) > bottom + 1) return;
    if (ys(value) < margin.top - 1)
      return svg.append('text').attr('x', margin.left + 6).attr('y', margin.top + 4).style('fill', R.css(color)).text('↑ ' + name + ' ' + R.amount(value, run.unit));
    svg.append('line').attr('x1', margin.left).attr('x2', width - margin.right).attr('y1', ys(value)).attr('y2', ys(value))
      .style('stroke', R.css(color)).style('stroke-dasharray', '5 4');
    svg.append('text').attr('x', width - margin.right - 4).attr('y', ys(value) - 5).attr('text-anchor', 'end')
      .style('fill', R.css(color)).text(name);
  };
  reference(y === 'cost' ? run.boundCost : share, 'lower bound on cost', 'bound');
  reference(y === 'cost' ? run.startCost : run.startCandidate && run.startCandidate.utilization, 'start', 'start');
  plot.append(canvas);
  plot.prepend(canvas);
  const order = points.slice().sort((a, b) => R.isFailure(b.c) - R.isFailure(a.c));
  ctx.globalAlpha = points.length > 1500 ? 0.5 : 0.75;
  const radius = points.length > 1500 ? 2 : 3;
  for (const p of order) {
    const [px, py] = at(p);
    ctx.fillStyle = R.colorOf(p.c.verdict);
    ctx.beginPath();
    ctx.arc(px, py, radius, 0, 7);
    ctx.fill();
  }
  ctx.globalAlpha = 1;
  ctx.strokeStyle = R.css('best');
  ctx.lineWidth = 2.2;
  ctx.beginPath();
  let drawn = false;
  const sorted = x === 'at' ? run.over.filter(p => R.finite(p.at)).sort((a, b) => a.at - b.at) : run.over;
  let best = Infinity, last = 0;
  for (const p of sorted) {
    if (p.c.verdict !== 'correct' || !(p.c.cost < best)) continue;
    const [px, py] = at(p);
    drawn ? ctx.lineTo(px, last) : ctx.moveTo(px, py);
    ctx.lineTo(px, py);
    best = p.c.cost;
    last = py;
    drawn = true;
  }
  if (drawn) ctx.lineTo(width - margin.right, last);
  ctx.stroke();
  R.pickable(plot, canvas, run, points.map(p => { const [px, py] = at(p); return {x: px, y: py, c: p.c}; }), {x: 'ArrowRight', back: 'ArrowLeft'});
};

/* Hover, click and keys on a canvas with candidates at places: shows each, and opens it. `step`: keys through the list in order. */
R.pickable = (plot, canvas, run, places, step, onmark) => {
  const tree = d3.quadtree(places, p => p.x, p => p.y);
  const mark = R.el('div', {});
  Object.assign(mark.style, {position: 'absolute', width: '14px', height: '14px', border: '2px solid ' + R.css('text'), borderRadius: '50%',
    pointerEvents: 'none', transform: 'translate(-50%, -50%)', display: 'none'});
  plot.append(mark);
  let chosen = -1;
  const show = (p, x, y) => {
    mark.style.display = 'block';
    mark.style.left = p.x + 'px';
    mark.style.top = p.y + 'px';
    R.tip(x, y, R.titleOf(p.c), R.describe(p.c, run));
  };
  const hide = () => { mark.style.display = 'none'; R.untip(); };
  const near = event => {
    const box = canvas.getBoundingClientRect();
    return tree.find(event.clientX - box.left, event.clientY - box.top, 14);
  };
  canvas.tabIndex = 0;
  canvas.setAttribute('role', 'application');
  canvas.addEventListener('mousemove', e => { const p = near(e); canvas.style.cursor = p ? 'pointer' : 'default'; p ? show(p, e.clientX, e.clientY) : hide(); });
  canvas.addEventListener('mouseleave', hide);
  canvas.addEventListener('click', e => { const p = near(e); if (p) { hide(); R.openDetail(run, p.c); } });
  canvas.addEventListener('blur', hide);
  canvas.addEventListener('keydown', e => {
    const go = e.key === step.x ? 1 : e.key === step.back ? -1 : 0;
    if (go && places.length) {
      chosen = Math.max(0, Math.min(places.length - 1, chosen < 0 ? Math.max(0, places.findIndex(p => p.c.n === run.best)) : chosen + go));
      const p = places[chosen], box = canvas.getBoundingClientRect();
      show(p, box.left + p.x, box.top + p.y);
      R.say(R.titleOf(p.c) + ': ' + R.describe(p.c, run));
      e.preventDefault();
    } else if (e.key === 'Enter' && chosen >= 0) {
      hide();
      R.openDetail(run, places[chosen].c);
    }
  });
};
