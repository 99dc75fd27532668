// Charts: a histogram to brush, a scatter of two metrics.
async function drawHistogram() {
  const metric = metricOf(state.m), values = await differences(state.m);
  const width = roomIn('histogram', 520), height = 220, left = 40, right = 10, bottom = 44, bins = 41;
  let [low, high] = range(values);
  if (!alone()) { const edge = Math.max(Math.abs(low), Math.abs(high)); low = -edge; high = edge; }
  const x = scale(low, high, left, width - right), counts = new Array(bins).fill(0);
  let n = 0;
  for (const value of values) if (!Number.isNaN(value)) { n++; counts[Math.min(bins - 1, Math.floor(((value - low) / (high - low)) * bins))]++; }
  const most = Math.max(...counts), y = scale(0, most, height - bottom, 12);
  const title = alone() ? `${metric.name} of ${meta.systems[state.a]}` : `${metric.name}: ${meta.systems[state.a]} − ${meta.systems[state.b]}`;
  const svg = make('svg:svg', { viewBox: `0 0 ${width} ${height}`, class: 'chart', role: 'img', 'aria-label': `Histogram of ${title}` });
  counts.forEach((count, k) => {
    const at = low + ((k + 0.5) / bins) * (high - low), from = x(low + (k / bins) * (high - low));
    const colour = alone() || Math.abs(at) < (high - low) / bins / 2 ? 'even' : sideOf(at, metric);
    svg.append(make('svg:rect', { x: from + 0.5, y: y(count), width: (width - left - right) / bins - 1, height: height - bottom - y(count), class: 'bin ' + colour }));
  });
  for (const value of ticks(low, high, width < 420 ? 5 : 6))
    svg.append(make('svg:text', { x: x(value), y: height - bottom + 16, 'text-anchor': 'middle' }, tick(value)));
  for (const value of ticks(0, most, 4).filter(Number.isInteger))
    svg.append(make('svg:text', { x: left - 5, y: y(value) + 4, 'text-anchor': 'end' }, whole(value)));
  svg.append(make('svg:line', { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, class: 'axis' }));
  const about = `(segment scores, n = ${whole(n)})`;
  svg.append(make('svg:text', { x: width / 2, y: height - 8, 'text-anchor': 'middle', class: 'title' }, fitted(width, `${title} ${about}`, `${metric.name}${alone() ? '' : ': A − B'} ${about}`, about), make('svg:title', {}, title)));
  const shade = make('svg:rect', { y: 8, height: height - bottom - 8, class: 'brush' });
  svg.append(shade);
  const drawBrush = () => {
    const on = state.lo !== null && state.hi !== null;
    shade.setAttribute('x', on ? x(state.lo) : 0);
    shade.setAttribute('width', on ? Math.max(1, x(state.hi) - x(state.lo)) : 0);
  };
  drawBrush();
  let start = null;
  const at = (event) => { const box = svg.getBoundingClientRect(); return Math.max(low, Math.min(high, x.back(((event.clientX - box.left) / box.width) * width))); };
  svg.addEventListener('pointerdown', (event) => { start = at(event); svg.setPointerCapture(event.pointerId); event.preventDefault(); });
  svg.addEventListener('pointermove', (event) => { if (start !== null) { const now = at(event); state.lo = Math.min(start, now); state.hi = Math.max(start, now); drawBrush(); } });
  svg.addEventListener('pointerup', (event) => {
    if (start === null) return;
    const now = at(event), tiny = Math.abs(now - start) < (high - low) / 200, [lo, hi] = [Math.min(start, now), Math.max(start, now)];
    start = null;
    state.lo = state.hi = undefined;
    set(tiny ? { lo: null, hi: null } : { lo: Number(lo.toPrecision(4)), hi: Number(hi.toPrecision(4)) });
  });
  const edge = (key, label, other) => make('label', {}, label + ' ', make('input', { type: 'number', step: 'any', id: 'edge-' + key, value: state[key] ?? '', onchange: (event) => {
    const value = event.target.value === '' ? null : Number(event.target.value);
    set({ [key]: value, [other]: value === null ? state[other] : state[other] ?? (key === 'lo' ? high : low) });
  } }));
  fill($('histogram'), svg, make('div', { class: 'bar' }, edge('lo', 'from', 'hi'), edge('hi', 'to', 'lo'), make('button', { type: 'button', onclick: () => set({ lo: null, hi: null }) }, 'All'), make('span', { class: 'note' }, 'Drag over the bars to filter the segments.')));
}

// many points: the more of them in a cell of 2 by 2, the darker it is
function drawDense(pen, chosen, on, xs, ys, x, y, width, height) {
  const across = Math.ceil(width / 2) + 1, counts = new Uint32Array(across * (Math.ceil(height / 2) + 1));
  const [x0, xStep, y0, yStep] = [x(0), x(1) - x(0), y(0), y(1) - y(0)];
  for (let i = 0; i < xs.length; i++) if (chosen[i] === on && xs[i] === xs[i]) counts[((y0 + yStep * ys[i]) >> 1) * across + ((x0 + xStep * xs[i]) >> 1)]++;
  counts.forEach((count, cell) => { if (count) { pen.globalAlpha = 1 - 0.75 ** count; pen.fillRect((cell % across) * 2, Math.floor(cell / across) * 2, 2, 2); } });
}

async function drawScatter() {
  if (meta.metrics.length < 2) return fill($('scatter'));
  const [mx, my] = [metricOf(state.x), metricOf(state.y)];
  const [xs, ys] = await Promise.all([differences(state.x), differences(state.y)]);
  const width = roomIn('scatter', 520), height = 220, left = 60, right = 10, bottom = 44, ratio = 2;
  const wider = ([low, high]) => [low - (high - low) * 0.03, high + (high - low) * 0.03];
  const spanX = wider(range(xs)), spanY = wider(range(ys)), ticksX = ticks(...spanX, width < 420 ? 5 : 6), ticksY = ticks(...spanY, 4);
  const x = scale(...spanX, left + 4, width - right), y = scale(...spanY, height - bottom - 4, 12);
  const canvas = make('canvas', { width: width * ratio, height: height * ratio, class: 'chart' });
  const pen = canvas.getContext('2d'), style = getComputedStyle(document.documentElement);
  pen.scale(ratio, ratio);
  const chosen = new Uint8Array(meta.n);
  for (const i of rows.order) chosen[i] = 1;
  pen.strokeStyle = style.getPropertyValue('--line');
  pen.beginPath();
  for (const value of ticksX) { pen.moveTo(x(value), 12); pen.lineTo(x(value), height - bottom); }
  for (const value of ticksY) { pen.moveTo(left, y(value)); pen.lineTo(width - right, y(value)); }
  pen.stroke();
  const size = meta.n > 20000 ? 2 : meta.n > 500 ? 3 : 6;
  for (const on of [0, 1]) {
    pen.fillStyle = style.getPropertyValue(on ? '--accent' : '--faint');
    if (meta.n > 20000) { drawDense(pen, chosen, on, xs, ys, x, y, width, height); continue; }
    pen.globalAlpha = 0.7;
    for (let i = 0; i < meta.n; i++) if (chosen[i] === on && !Number.isNaN(xs[i])) pen.fillRect(x(xs[i]) - size / 2, y(ys[i]) - size / 2, size, size);
  }
  pen.globalAlpha = 1;
  pen.fillStyle = style.getPropertyValue('--text');
  pen.font = '11px system-ui, sans-serif';
  pen.textAlign = 'center';
  for (const value of ticksX) pen.fillText(tick(value), x(value), height - bottom + 16);
  const what = alone() ? '' : ', A − B';
  pen.fillText(`${mx.name}${what} (n = ${whole(xs.reduce((sum, value) => sum + !Number.isNaN(value), 0))})`, (left + width) / 2, height - 8);
  pen.textAlign = 'right';
  for (const value of ticksY) pen.fillText(tick(value), left - 4, y(value) + 4);
  pen.save();
  pen.translate(12, (height - bottom) / 2);
  pen.rotate(-Math.PI / 2);
  pen.textAlign = 'center';
  pen.fillText(fitted(height - bottom, my.name + what, my.name), 0, 0);
  pen.restore();
  const nearest = (event) => {
    const box = canvas.getBoundingClientRect(), px = ((event.clientX - box.left) / box.width) * width, py = ((event.clientY - box.top) / box.height) * height;
    let best = -1, least = 100;
    for (let i = 0; i < meta.n; i++) { const far = (x(xs[i]) - px) ** 2 + (y(ys[i]) - py) ** 2; if (far < least) { least = far; best = i; } }
    return best;
  };
  canvas.addEventListener('click', (event) => { const i = nearest(event); if (i >= 0) set({ seg: i }); });
  canvas.addEventListener('pointermove', (event) => { const i = nearest(event); tip(i < 0 ? '' : `segment ${i + 1}: ${mx.name} ${show(xs[i], mx, !alone())}, ${my.name} ${show(ys[i], my, !alone())}`, event); });
  canvas.addEventListener('pointerleave', () => tip(''));
  const pick = (key) => make('select', { id: 'scatter-' + key, onchange: (event) => set({ [key]: Number(event.target.value) }) }, meta.metrics.map((m, k) => make('option', { value: k, selected: k === state[key] }, m.name)));
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `Scatter of ${mx.name} and ${my.name}`);
  fill($('scatter'), canvas, make('div', { class: 'bar' }, make('label', {}, 'across ', pick('x')), make('label', {}, 'up ', pick('y')), make('span', { class: 'note' }, 'Click a point to see its segment.')));
}
