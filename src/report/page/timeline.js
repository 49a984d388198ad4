/* timeline.js - the simulated run of the best kernel: a lane for each unit, a bar for each span. Bars that cover several spans are faint. */
'use strict';

R.panels.push({
  id: 'timeline', title: 'Timeline of the best kernel', when: run => run.timeline && Array.isArray(run.timeline.lanes) && run.timeline.lanes.length > 0,
  draw: (body, run) => {
    const t = run.timeline, colors = d3.schemeTableau10.concat(d3.schemeSet2), rowHeight = 14, gap = 8;
    const lanes = t.lanes.filter(l => l.rows.some(r => r.length));
    const plot = R.el('div', {class: 'plot'});
    body.append(R.el('div', {class: 'legend'}, t.names.map((name, i) => name && R.el('span', {}, R.el('i', {color: colors[i % colors.length]}), name)).filter(Boolean)), plot);
    const left = plot.clientWidth < 520 ? 64 : 110, axis = 34;
    let y = 6;
    const tops = lanes.map(l => { const top = y; y += rowHeight * l.rows.length + gap; return top; });
    const {canvas, ctx, width, height} = R.canvas(plot, y + axis, 'Timeline of the best kernel');
    plot.append(canvas);
    const base = d3.scaleLinear().domain([t.from, t.to]).range([left, width - 10]);
    let xs = base;
    const color = {text: R.css('text'), soft: R.css('soft'), grid: R.css('grid'), bg: R.css('bg')};
    const paint = () => {
      ctx.clearRect(0, 0, width, height);
      ctx.font = '12px system-ui, "DejaVu Sans", sans-serif';
      for (const v of xs.ticks(width < 520 ? 4 : 9)) {
        ctx.fillStyle = color.grid;
        ctx.fillRect(xs(v), 0, 1, y);
        ctx.fillStyle = color.soft;
        ctx.textAlign = 'center';
        ctx.fillText(d3.format(',~r')(+v.toPrecision(10)), Math.min(xs(v), width - 20), y + 14);
      }
      ctx.textAlign = 'right';
      ctx.fillStyle = color.text;
      ctx.fillText(t.unit + (t.left_out ? '; ' + t.left_out + ' more lanes are in the trace' : ''), width - 10, y + 30);
      ctx.save();
      ctx.beginPath();
      ctx.rect(left, 0, width - left, y);
      ctx.clip();
      lanes.forEach((lane, i) => lane.rows.forEach((row, k) => {
        for (const [from, to, name, melted] of row) {
          const x0 = xs(from), x1 = xs(to);
          if (x1 < left || x0 > width) continue;
          ctx.globalAlpha = melted ? 0.55 : 1;
          ctx.fillStyle = colors[name % colors.length];
          ctx.fillRect(x0, tops[i] + k * rowHeight, Math.max(0.6, x1 - x0 - (x1 - x0 > 3 ? 0.6 : 0)), rowHeight - 2);
        }
      }));
      ctx.restore();
      ctx.globalAlpha = 1;
      lanes.forEach((lane, i) => {
        ctx.fillStyle = color.text;
        let label = lane.name;
        while (label.length > 3 && ctx.measureText(label).width > left - 10) label = label.slice(0, -2) + '…';
        ctx.fillText(label, left - 6, tops[i] + rowHeight - 3);
      });
    };
    const zoom = d3.zoom().scaleExtent([1, 4000]).translateExtent([[left, 0], [width, height]]).extent([[left, 0], [width, height]])
      .filter(() => d3.event.type !== 'wheel' || d3.event.ctrlKey || d3.event.metaKey || document.activeElement === canvas)
      .on('zoom', () => { xs = d3.event.transform.rescaleX(base); paint(); });
    d3.select(canvas).call(zoom).style('touch-action', 'pan-y pinch-zoom');
    const scale = by => d3.select(canvas).call(zoom.scaleBy, by), move = by => d3.select(canvas).call(zoom.translateBy, by, 0);
    plot.before(R.el('div', {class: 'zoom'}, R.el('button', {type: 'button', 'aria-label': 'Zoom in', onclick: () => scale(2)}, '+'),
      R.el('button', {type: 'button', 'aria-label': 'Zoom out', onclick: () => scale(0.5)}, '−'),
      R.el('button', {type: 'button', 'aria-label': 'Show all', onclick: () => d3.select(canvas).call(zoom.transform, d3.zoomIdentity)}, 'Fit')));
    canvas.tabIndex = 0;
    canvas.setAttribute('role', 'application');
    canvas.addEventListener('keydown', e => {
      const act = {'+': () => scale(2), '=': () => scale(2), '-': () => scale(0.5), '0': () => d3.select(canvas).call(zoom.transform, d3.zoomIdentity),
        ArrowLeft: () => move(60 / d3.zoomTransform(canvas).k), ArrowRight: () => move(-60 / d3.zoomTransform(canvas).k)}[e.key];
      if (act) { act(); e.preventDefault(); }
    });
    canvas.addEventListener('mousemove', e => {
      const box = canvas.getBoundingClientRect(), x = e.clientX - box.left, py = e.clientY - box.top, time = xs.invert(x);
      const i = d3.bisectRight(tops, py) - 1, k = i < 0 ? -1 : Math.floor((py - tops[i]) / rowHeight), row = i >= 0 && lanes[i].rows[k];
      const span = row && row.find(([from, to]) => time >= from - 1 / d3.zoomTransform(canvas).k && time <= to);
      if (!span || x < left) return R.untip();
      R.tip(e.clientX, e.clientY, lanes[i].name + ': ' + t.names[span[2]], R.number(span[0]) + ' – ' + R.number(span[1]) + ' ' + t.unit +
        '\n' + R.number(span[1] - span[0]) + ' ' + t.unit + (span[3] ? ', several spans' : ''));
    });
    canvas.addEventListener('mouseleave', R.untip);
    paint();
  },
});
