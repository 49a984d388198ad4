/* tree.js - every candidate below its parent: from the start at the left, a column for each step. The way to the best is marked. */
'use strict';
R.treeState = {zoom: null};

R.panels.push({
  id: 'tree', title: 'Search tree', when: run => run.candidates && run.candidates.length > 1,
  draw: (body, run) => {
    const plot = R.el('div', {class: 'plot'});
    body.append(R.el('p', {class: 'soft small'}, 'Each dot is a candidate, to the right of its parent. The orange path leads to the best. ' +
      'Select a dot to see its source and its difference from the parent. Arrow keys walk through the tree; + and − zoom, 0 fits it.'),
      R.verdictLegend(run), plot);
    R.tree(plot, run);
  },
});

/* Keeps a hidden candidate if it has a visible descendant. */
R.visibleTree = run => {
  const keep = new Set();
  for (const c of run.candidates) {
    if (R.hidden.has(c.verdict)) continue;
    for (let at = c; at && !keep.has(at.n); at = run.byNumber.get(at.parent)) keep.add(at.n);
  }
  const node = c => ({c, children: c.children.filter(k => keep.has(k.n)).map(node)});
  const roots = run.candidates.filter(c => keep.has(c.n) && !run.byNumber.get(c.parent)).map(node);
  return d3.hierarchy({c: null, children: roots}, d => d.children);
};

R.tree = (plot, run) => {
  const narrow = plot.clientWidth < 520, height = narrow ? 380 : 520;
  const {canvas, ctx, width} = R.canvas(plot, height, 'Search tree');
  plot.append(canvas);
  const root = R.visibleTree(run);
  if (!root.children) return;
  d3.tree().nodeSize([1, 1]).separation((a, b) => a.parent === b.parent ? 1 : 1.6)(root);
  const nodes = root.descendants().filter(d => d.data.c), links = root.links().filter(l => l.source.data.c);
  const [top, bottom] = d3.extent(nodes, d => d.x), deepest = d3.max(nodes, d => d.y);
  const pad = {left: 26, right: 26, top: 22, bottom: 18};
  const xs = d3.scaleLinear().domain([1, Math.max(2, deepest)]).range([pad.left, width - pad.right]);
  const ys = d3.scaleLinear().domain(top === bottom ? [top - 1, top + 1] : [top, bottom]).range([pad.top, height - pad.bottom]);
  const byNumber = new Map(nodes.map(d => [d.data.c.n, d]));
  let transform = R.treeState.zoom || d3.zoomIdentity, chosen = null, hovered = null;
  const px = d => transform.applyX(xs(d.y)), py = d => transform.applyY(ys(d.x));
  const color = {line: R.css('line'), best: R.css('best'), text: R.css('text'), soft: R.css('soft'), card: R.css('card')};
  const palette = {};
  for (const d of nodes) palette[d.data.c.verdict] = palette[d.data.c.verdict] || R.colorOf(d.data.c.verdict);
  const gap = () => transform.k * (height - pad.top - pad.bottom) / Math.max(1, bottom - top);
  const link = (a, b) => { const mx = (px(a) + px(b)) / 2; ctx.moveTo(px(a), py(a)); ctx.bezierCurveTo(mx, py(a), mx, py(b), px(b), py(b)); };
  const paint = () => {
    const radius = Math.max(1.4, Math.min(5, gap() * 0.42));
    ctx.clearRect(0, 0, width, height);
    ctx.lineWidth = Math.max(0.5, Math.min(1.2, gap() / 6));
    ctx.strokeStyle = color.line;
    ctx.beginPath();
    for (const l of links) link(l.source, l.target);
    ctx.stroke();
    ctx.lineWidth = 2.6;
    ctx.strokeStyle = color.best;
    ctx.beginPath();
    for (const l of links) if (run.path.has(l.source.data.c.n) && run.path.has(l.target.data.c.n)) link(l.source, l.target);
    ctx.stroke();
    for (const d of nodes) {
      const x = px(d), y = py(d);
      if (x < -9 || y < -9 || x > width + 9 || y > height + 9) continue;
      ctx.fillStyle = palette[d.data.c.verdict];
      ctx.beginPath();
      ctx.arc(x, y, radius, 0, 7);
      ctx.fill();
    }
    ctx.font = '12px system-ui, "DejaVu Sans", sans-serif';
    const taken = [];
    for (const d of nodes.filter(n => run.path.has(n.data.c.n)).reverse()) {
      const c = d.data.c, isBest = c.n === run.best, x = px(d), y = py(d);
      ctx.fillStyle = isBest ? color.best : palette[c.verdict];
      ctx.beginPath();
      ctx.arc(x, y, isBest ? 7 : 4.5, 0, 7);
      ctx.fill();
      ctx.lineWidth = 2;
      ctx.strokeStyle = isBest ? color.card : color.best;
      ctx.stroke();
      const label = isBest ? 'best' : c.n === 0 ? 'start' : c.lever || '', w = ctx.measureText(label).width;
      const lx = Math.max(2, Math.min(x - w / 2, width - w - 4)), ly = y < 24 ? y + 20 : y - 10;
      if (!label || taken.some(t => lx < t.right + 6 && lx + w > t.left - 6 && Math.abs(t.y - ly) < 14)) continue;
      taken.push({left: lx, right: lx + w, y: ly});
      ctx.lineWidth = 3.5;
      ctx.strokeStyle = color.card;
      ctx.strokeText(label, lx, ly);
      ctx.fillStyle = color.text;
      ctx.fillText(label, lx, ly);
    }
    for (const d of [chosen, hovered]) {
      if (!d) continue;
      ctx.lineWidth = 2;
      ctx.strokeStyle = color.text;
      ctx.beginPath();
      ctx.arc(px(d), py(d), 8, 0, 7);
      ctx.stroke();
    }
  };
  const quadtree = d3.quadtree(nodes, d => xs(d.y), d => ys(d.x));
  const near = e => {
    const box = canvas.getBoundingClientRect(), [x, y] = transform.invert([e.clientX - box.left, e.clientY - box.top]);
    return quadtree.find(x, y, 14 / transform.k);
  };
  const show = (d, x, y) => R.tip(x, y, R.titleOf(d.data.c), R.describe(d.data.c, run));
  canvas.tabIndex = 0;
  canvas.setAttribute('role', 'application');
  canvas.addEventListener('mousemove', e => {
    const d = near(e);
    if (d !== hovered) { hovered = d; paint(); }
    canvas.style.cursor = d ? 'pointer' : 'grab';
    d ? show(d, e.clientX, e.clientY) : R.untip();
  });
  canvas.addEventListener('mouseleave', () => { hovered = null; R.untip(); paint(); });
  canvas.addEventListener('click', e => { const d = near(e); if (d) { R.untip(); R.openDetail(run, d.data.c); } });
  canvas.addEventListener('blur', R.untip);
  const zoom = d3.zoom().scaleExtent([1, 60]).translateExtent([[0, 0], [width, height]]).extent([[0, 0], [width, height]])
    .filter(() => d3.event.type !== 'wheel' || d3.event.ctrlKey || d3.event.metaKey || document.activeElement === canvas)
    .on('zoom', () => { transform = R.treeState.zoom = d3.event.transform; paint(); });
  d3.select(canvas).call(zoom).on('dblclick.zoom', null).style('touch-action', 'pan-y pinch-zoom');
  if (R.treeState.zoom) d3.select(canvas).property('__zoom', R.treeState.zoom);
  const scale = by => d3.select(canvas).call(zoom.scaleBy, by);
  const fit = () => d3.select(canvas).call(zoom.transform, d3.zoomIdentity);
  plot.before(R.el('div', {class: 'zoom'},
    R.el('button', {type: 'button', 'aria-label': 'Zoom in', onclick: () => scale(1.6)}, '+'),
    R.el('button', {type: 'button', 'aria-label': 'Zoom out', onclick: () => scale(1 / 1.6)}, '−'),
    R.el('button', {type: 'button', 'aria-label': 'Fit the whole tree', onclick: fit}, 'Fit')));
  const sibling = (d, by) => { const all = d.parent.children, i = all.indexOf(d) + by; return all[Math.max(0, Math.min(all.length - 1, i))]; };
  const child = d => d.children && (d.children.find(k => run.path.has(k.data.c.n)) || d.children[0]);
  const steps = {ArrowLeft: d => d.parent.data.c ? d.parent : d, ArrowRight: d => child(d) || d, ArrowUp: d => sibling(d, -1), ArrowDown: d => sibling(d, 1)};
  canvas.addEventListener('keydown', e => {
    if (e.key === '+' || e.key === '=') scale(1.6);
    else if (e.key === '-') scale(1 / 1.6);
    else if (e.key === '0') fit();
    else if (e.key === 'Enter' && chosen) { R.untip(); R.openDetail(run, chosen.data.c); }
    else if (steps[e.key]) {
      chosen = chosen ? steps[e.key](chosen) : byNumber.get(run.best) || nodes[0];
      paint();
      const box = canvas.getBoundingClientRect();
      show(chosen, box.left + px(chosen), box.top + py(chosen));
      R.say(R.titleOf(chosen.data.c) + ': ' + R.describe(chosen.data.c, run));
    } else return;
    e.preventDefault();
  });
  paint();
};
