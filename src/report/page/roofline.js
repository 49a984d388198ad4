/* roofline.js - operations per unit of time over operations per byte. The roofs follow from the bound: its time of arithmetic alone and
 * its time of memory alone. Candidates have the intensity of the problem: each operand is moved once. */
'use strict';

R.panels.push({
  id: 'roofline', title: 'Roofline', half: true,
  when: run => run.facts.operations > 0 && run.facts.bytes > 0 && run.facts.bound_compute > 0 && run.facts.bound_memory > 0 && run.bestCost > 0,
  draw: (body, run) => {
    const plot = R.el('div', {class: 'plot'});
    body.append(plot);
    const f = run.facts, width = Math.max(240, plot.clientWidth), height = 340, margin = {left: 62, right: 18, top: 18, bottom: 44};
    const intensity = f.operations / f.bytes, peak = f.operations / f.bound_compute, band = f.bytes / f.bound_memory, ridge = peak / band;
    const per = run.unit === 'seconds' ? 'op/s' : 'op/' + (run.unit || '').replace(/s$/, '');
    const rates = run.candidates.filter(c => c.verdict === 'correct' && c.cost > 0).map(c => ({c, rate: f.operations / c.cost}));
    const low = Math.min(d3.min(rates, d => d.rate) || peak, f.operations / run.bestCost, peak) / 2;
    const xs = d3.scaleLog().domain([Math.min(intensity, ridge) / 8, Math.max(intensity, ridge) * 8]).range([margin.left, width - margin.right]);
    const ys = d3.scaleLog().domain([low, peak * 1.7]).range([height - margin.bottom, margin.top]);
    const svg = d3.select(plot).append('svg').attr('class', 'axis').attr('viewBox', `0 0 ${width} ${height}`).attr('height', height)
      .attr('role', 'img').attr('aria-label', 'Roofline of the machine with all correct candidates');
    const ticks = R.logTicks(ys, 7);
    svg.append('g').selectAll('line').data(ticks).enter().append('line').attr('class', 'gridline')
      .attr('x1', margin.left).attr('x2', width - margin.right).attr('y1', d => ys(d)).attr('y2', d => ys(d));
    svg.append('g').attr('transform', `translate(0,${height - margin.bottom})`).call(d3.axisBottom(xs).tickValues(R.logTicks(xs, 6)).tickFormat(v => R.number(+v.toPrecision(2))));
    svg.append('g').attr('transform', `translate(${margin.left},0)`).call(d3.axisLeft(ys).tickValues(ticks).tickFormat(d3.format('.3~s')));
    svg.append('text').attr('class', 'title').attr('x', width - margin.right).attr('y', height - 8).attr('text-anchor', 'end').text('operations per byte (each operand moved once)');
    svg.append('text').attr('class', 'title').attr('x', 4).attr('y', 11).text(per);
    const [x0, x1] = xs.domain();
    const roof = x => Math.min(peak, band * x);
    const from = Math.max(x0, low / band);
    svg.append('path').attr('fill', 'none').style('stroke', R.css('bound')).style('stroke-width', 2.2)
      .attr('d', d3.line()([from, ridge, x1].map(x => [xs(x), ys(roof(x))])));
    svg.append('text').attr('x', xs(x1) - 4).attr('y', ys(peak) - 6).attr('text-anchor', 'end').style('fill', R.css('bound')).text('peak ' + d3.format('.3~s')(peak) + ' ' + per);
    svg.append('text').attr('x', xs(Math.sqrt(from * ridge)) + 6).attr('y', ys(roof(Math.sqrt(from * ridge))) + 16).style('fill', R.css('bound'))
      .text('memory ' + d3.format('.3~s')(band) + (run.unit === 'seconds' ? 'B/s' : ' B/' + run.unit.replace(/s$/, '')));
    svg.append('line').attr('x1', xs(intensity)).attr('x2', xs(intensity)).attr('y1', ys(low)).attr('y2', ys(roof(intensity)))
      .style('stroke', R.css('line')).style('stroke-dasharray', '3 4');
    svg.selectAll('circle.all').data(rates.slice(0, 3000)).enter().append('circle').attr('class', 'all').attr('r', 2.5).attr('cx', xs(intensity))
      .attr('cy', d => ys(d.rate)).style('fill', R.css('correct')).style('fill-opacity', 0.35);
    const point = (cost, name, color, r) => {
      if (!(cost > 0)) return;
      const y = ys(f.operations / cost), right = xs(intensity) < width * 0.55;
      svg.append('circle').attr('class', 'point').attr('r', r).attr('cx', xs(intensity)).attr('cy', y).style('fill', R.css(color)).style('stroke', R.css('card')).style('stroke-width', 2)
        .append('title').text(name + ': ' + R.amount(cost, run.unit));
      svg.append('text').attr('x', xs(intensity) + (right ? 12 : -12)).attr('y', y + (name === 'best' ? 16 : 4)).attr('text-anchor', right ? 'start' : 'end').style('fill', R.css(color)).style('font-weight', 600)
        .text(name + ' ' + d3.format('.3~s')(f.operations / cost) + ' (' + R.percent(f.operations / cost / roof(intensity)) + ')');
    };
    point(run.startCost, 'start', 'start', 5);
    point(run.bestCost, 'best', 'best', 6);
    body.append(R.el('p', {class: 'soft small'}, 'This problem: ' + R.number(+intensity.toPrecision(3)) + ' operations per byte; ' +
      (f.bound_memory > f.bound_compute ? 'memory' : 'arithmetic') + ' limits it. Percentages are of the roof.'));
  },
});
