// The page of a meta-evaluation: one test set and one metric are chosen, all panels follow.
const START = { set: 0, m: 0, way: 0, theme: '' };
function checkState() {
  const within = (key, size) => { if (!(Number.isInteger(state[key]) && state[key] >= 0 && state[key] < size)) state[key] = 0; };
  within('set', meta.sets.length);
  within('m', meta.sets[state.set].metrics.length);
  within('way', columnsShown().length);
}
const chosenSet = () => meta.sets[state.set];
const chosenMetric = () => chosenSet().metrics[state.m];
const three = (value) => (value === null || value === undefined ? '–' : minus(value.toFixed(3)));
const heat = (cell, share) => { cell.style.setProperty('--heat', Math.round(75 * Math.min(1, Math.max(0, share))) + '%'); return cell; };

const upright = (name, title) => make('th', { class: 'upright', title }, make('span', {}, name));

// the columns of the table: tasks with clusters, or else what was computed for the test set; values by metric
function columnsShown() {
  if (meta.table) return meta.table.tasks;
  return chosenSet().columns;
}
const columnMetrics = () => (meta.table ? meta.table.metrics : chosenSet().metrics.map((m) => m.name));

function drawPickers() {
  $('pick-set').hidden = meta.sets.length < 2;
  fill($('set'), meta.sets.map((s, k) => make('option', { value: k, selected: k === state.set }, s.title)));
  fill($('metric'), chosenSet().metrics.map((m, k) => make('option', { value: k, selected: k === state.m }, m.label)));
}

const choose = (name) => { const m = chosenSet().metrics.findIndex((own) => own.name === name); if (m >= 0) set({ m }); };

function drawCorrelations() {
  const columns = columnsShown(), names = columnMetrics(), first = columns[state.way];
  const order = [...names.keys()].sort((i, j) => (first.values[j] ?? -9) - (first.values[i] ?? -9) || i - j);
  const best = columns.map((column) => Math.max(...column.values.filter((value) => value !== null)));
  const head = ['Metric', ...columns.map((column, k) => make('th', { class: k === state.way ? 'number on' : 'number' }, make('button', { type: 'button', class: 'link', 'data-way': k, title: 'Rank by this column', onclick: () => set({ way: k }) }, column.name)))];
  const body = order.map((i) => [make('th', { scope: 'row' }, make('button', { type: 'button', class: 'item', 'data-metric': i, 'aria-pressed': String(names[i] === chosenMetric().name), onclick: (event) => { event.stopPropagation(); choose(names[i]); } }, names[i])),
    ...columns.map((column, k) => make('td', { class: 'number' + (column.values[i] === best[k] ? ' best' : '') }, three(column.values[i]), column.clusters ? make('small', {}, `cluster ${column.clusters[i]}`) : column.low?.[i] != null ? make('small', {}, `${three(column.low[i])} to ${three(column.high[i])}`) : null))]);
  fill($('correlations'), table(head, body, { id: 'correlation-table', class: 'clickable' }, (row) => choose(row.querySelector('.item').textContent)), make('p', { class: 'note' }, `${meta.note} Click a column to rank by it, a row to see the metric.`));
}

// names beside points: the nearest place that is free and inside; a line leads to those far away
function placeNames(svg, points, frame) {
  const taken = points.map(({ x, y }) => [x - 5, y - 5, x + 5, y + 5]), shared = (a, b) => Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0])) * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
  for (const { x, y, name } of points) {
    const wide = 6.8 * [...name].length + 6, high = 14;
    let best = null, least = Infinity, far = 0;
    for (const distance of [5, 11, 19, 29, 42, 58, 78, 100]) {
      for (const [dx, dy] of [[1, 0], [0, -1], [-1, 0], [0, 1], [1, -1], [-1, -1], [1, 1], [-1, 1]]) {
        const left = x + distance * dx - (wide * (1 - dx)) / 2, top = y + distance * dy - (high * (1 - dy)) / 2, box = [left, top, left + wide, top + high];
        const outside = box[0] < frame[0] || box[1] < frame[1] || box[2] > frame[2] || box[3] > frame[3];
        const cost = taken.reduce((sum, other) => sum + shared(box, other), 0) + (outside ? 1e6 : 0);
        if (cost < least) { least = cost; best = box; far = distance; }
      }
      if (!least) break;
    }
    taken.push(best);
    if (far > 11) svg.append(make('svg:line', { x1: x, y1: y, x2: Math.min(Math.max(x, best[0]), best[2]), y2: Math.min(Math.max(y, best[1]), best[3]), class: 'axis' }));
    svg.append(make('svg:text', { x: (best[0] + best[2]) / 2, y: best[1] + 10, 'text-anchor': 'middle', class: 'name' }, name));
  }
}

function axesOf(svg, x, y, spanX, spanY, [left, top, right, bottom], titles) {
  for (const value of ticks(...spanX, 6)) svg.append(make('svg:line', { x1: x(value), x2: x(value), y1: top, y2: bottom, class: 'grid' }), make('svg:text', { x: x(value), y: bottom + 15, 'text-anchor': 'middle' }, tick(value)));
  for (const value of ticks(...spanY, 6)) svg.append(make('svg:line', { x1: left, x2: right, y1: y(value), y2: y(value), class: 'grid' }), make('svg:text', { x: left - 5, y: y(value) + 4, 'text-anchor': 'end' }, tick(value)));
  svg.append(make('svg:text', { x: (left + right) / 2, y: bottom + 34, 'text-anchor': 'middle', class: 'title' }, fitted(right - left, titles[0])), make('svg:text', { x: 0, y: 0, transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)`, 'text-anchor': 'middle', class: 'title' }, fitted(bottom - top, titles[1])));
}
const wider = ([low, high]) => [low - (high - low) * 0.06, high + (high - low) * 0.06];

function drawSystems() {
  const judged = chosenSet(), metric = chosenMetric(), width = roomIn('systems', 640), height = 380, frame = [58, 8, width - 8, height - 44];
  const points = judged.systems.map((name, k) => ({ name, a: metric.systems[k], b: judged.human[k] })).filter((point) => point.a !== null && point.b !== null);
  const spanX = wider(range(points.map((p) => p.a))), spanY = wider(range(points.map((p) => p.b))), x = scale(...spanX, frame[0], frame[2]), y = scale(...spanY, frame[3], frame[1]);
  const svg = make('svg:svg', { viewBox: `0 0 ${width} ${height}`, class: 'chart', role: 'img', 'aria-label': `Systems by ${metric.label} and ${judged.humanName}` });
  axesOf(svg, x, y, spanX, spanY, frame, [metric.label, judged.humanName]);
  const short = shortened(points.map((point) => point.name), 26);
  points.forEach((point, k) => { Object.assign(point, { x: x(point.a), y: y(point.b), full: point.name, name: short[k] }); svg.append(make('svg:circle', { cx: point.x, cy: point.y, r: 4.5, class: 'dot a', 'data-system': point.full }, make('svg:title', {}, `${point.full}: ${metric.label} ${tick(point.a)}, ${judged.humanName} ${tick(point.b)}`))); });
  placeNames(svg, points, frame);
  fill($('systems'), make('h3', {}, `Systems: r = ${three(metric.systemR)}, n = ${points.length}`), svg);
}

async function drawDensity() {
  const judged = chosenSet(), metric = chosenMetric(), width = roomIn('density', 640), height = 380, frame = [58, 8, width - 8, height - 44];
  const [xs, ys] = await Promise.all([metric.read(), judged.read()]);
  if (metric !== chosenMetric()) return;
  const both = [];
  for (let i = 0; i < xs.length; i++) if (!Number.isNaN(xs[i]) && !Number.isNaN(ys[i])) both.push(i);
  const spanX = wider(range(both.map((i) => xs[i]))), spanY = wider(range(both.map((i) => ys[i]))), x = scale(...spanX, frame[0], frame[2]), y = scale(...spanY, frame[3], frame[1]);
  const svg = make('svg:svg', { viewBox: `0 0 ${width} ${height}`, class: 'chart', role: 'img', 'aria-label': `Segments by ${metric.label} and ${judged.humanName}` });
  axesOf(svg, x, y, spanX, spanY, frame, [metric.label, judged.humanName]);
  const step = 10, counts = new Map();
  for (const i of both) { const cell = `${Math.floor((x(xs[i]) - frame[0]) / step)},${Math.floor((y(ys[i]) - frame[1]) / step)}`; counts.set(cell, (counts.get(cell) || 0) + 1); }
  const most = Math.log(1 + Math.max(1, ...counts.values()));
  for (const [cell, count] of counts) { const [i, j] = cell.split(',').map(Number); svg.append(make('svg:rect', { x: frame[0] + i * step, y: frame[1] + j * step, width: step - 0.5, height: step - 0.5, class: 'cellmark', 'fill-opacity': (0.15 + 0.85 * (Math.log(1 + count) / most)).toFixed(3), 'data-count': count }, make('svg:title', {}, `${whole(count)} output${count > 1 ? 's' : ''}`))); }
  fill($('density'), make('h3', {}, `Segments: r = ${three(metric.segmentR)}, n = ${whole(both.length)}`), svg, make('p', { class: 'note' }, 'Each square holds the outputs of its scores; the stronger the colour, the more (logarithm of the number). r over all outputs together.'));
}

function drawRanking() {
  const columns = columnsShown(), column = columns[state.way], names = columnMetrics(), order = [...names.keys()].filter((i) => column.values[i] !== null).sort((i, j) => column.values[j] - column.values[i] || i - j);
  const width = roomIn('ranking', 900), narrow = width < 480, labels = shortened(names, narrow ? 18 : 34), left = 40 + 6.4 * Math.max(...labels.map((name) => [...name].length)), step = 22, end = order.length * step;
  const ends = order.flatMap((i) => [column.values[i], column.low?.[i], column.high?.[i]]).filter((value) => value != null), span = wider(range(ends)), x = scale(...span, left, width - 48);
  const svg = make('svg:svg', { viewBox: `0 0 ${width} ${end + 24}`, class: 'chart wide', role: 'img', 'aria-label': `Metrics by ${column.name}` });
  order.forEach((i, k) => { if (column.clusters && column.clusters[i] % 2) svg.append(make('svg:rect', { x: 0, y: k * step, width, height: step, class: 'band' })); });
  for (const value of ticks(...span, narrow ? 4 : 8)) svg.append(make('svg:line', { x1: x(value), x2: x(value), y1: 0, y2: end, class: 'grid' }), make('svg:text', { x: x(value), y: end + 16, 'text-anchor': 'middle' }, tick(value)));
  order.forEach((i, k) => {
    const y = k * step + 11, own = names[i] === chosenMetric().name;
    svg.append(make('svg:g', { class: 'ranked', 'data-metric': i, 'data-cluster': column.clusters?.[i] }, make('svg:title', {}, names[i]), column.clusters ? make('svg:text', { x: 6, y: y + 4, class: 'quiet' }, String(column.clusters[i])) : null, make('svg:text', { x: left - 10, y: y + 4, 'text-anchor': 'end', class: own ? 'strong' : '' }, labels[i]),
      column.low?.[i] != null ? make('svg:line', { x1: x(column.low[i]), x2: x(column.high[i]), y1: y, y2: y, class: 'whisker a' }) : null, make('svg:circle', { cx: x(column.values[i]), cy: y, r: 4, class: 'dot ' + (own ? 'b' : 'a') }), make('svg:text', { x: width - 4, y: y + 4, 'text-anchor': 'end' }, three(column.values[i]))));
  });
  const how = column.clusters ? 'Before the name, the cluster: a metric begins a new one where one of the running cluster is better at p ≤ 0.05, one-sided; metrics of one cluster share a background.' : column.low ? 'Lines are bootstrap intervals.' : 'The option --table adds clusters of significance, --bootstrap intervals.';
  fill($('ranking'), make('div', { class: 'bar' }, make('label', {}, 'by ', make('select', { id: 'way', onchange: (event) => set({ way: Number(event.target.value) }) }, columns.map((own, k) => make('option', { value: k, selected: k === state.way }, own.name))))), svg, make('p', { class: 'note' }, how));
}

// above the diagonal p by people, below p by the metric; the closer to 0 or 1, the surer the order
function drawSpa() {
  const judged = chosenSet(), metric = chosenMetric(), size = judged.systems.length;
  $('spa-panel').hidden = !metric.p;
  if (!metric.p) return;
  const order = [...judged.systems.keys()].sort((i, j) => (judged.human[j] ?? -1e9) - (judged.human[i] ?? -1e9)), names = shortened(judged.systems, 14);
  const p = (side, i, j) => { const [a, b] = i < j ? [i, j] : [j, i], value = side[a * size - (a * (a + 1)) / 2 + b - a - 1]; return value === null ? null : i < j ? value : 1 - value; };
  const cell = (i, j, row, column) => {
    if (i === j) return make('td', { class: 'none' }, '');
    const above = row < column, [better, worse] = above ? [i, j] : [j, i], human = p(metric.pHuman, better, worse), own = p(metric.p, better, worse), value = above ? human : own;
    const made = make('td', { class: 'number heat p', 'data-pair': `${i},${j}`, title: `${judged.systems[better]} better than ${judged.systems[worse]}: p by people ${three(human)}, by ${metric.label} ${three(own)}` }, value === null ? '–' : value.toFixed(2));
    return heat(made, value === null ? 0 : above ? value : Math.abs(own - human));
  };
  fill($('spa'), make('h3', {}, `${metric.label}: SPA = ${three(metric.spa)}`), table(['', ...order.map((j) => upright(names[j], judged.systems[j]))], order.map((i, row) => [make('th', { scope: 'row', title: judged.systems[i] }, names[i]), ...order.map((j, column) => cell(i, j, row, column))]), { id: 'spa-table' }),
    make('p', { class: 'note' }, `Systems in the order of ${judged.humanName}, the best first. Above the diagonal: p that the row is better than the column, by people; below, the same pair by ${metric.label} (p that the column, which stands higher, is better), in a stronger colour where it differs more from people. SPA is 1 minus the mean difference (${meta.permutations ? `${whole(meta.permutations)} random sign changes` : 'normal approximation'}; n = ${size * (size - 1) / 2} pairs).`));
}

function drawHeatmap() {
  const judged = chosenSet();
  $('heatmap-panel').hidden = judged.metrics.length < 2;
  const names = shortened(judged.names, 18);
  fill($('heatmap'), table(['', ...names.map((name, k) => upright(name, judged.names[k]))], judged.correlations.map((row, i) => [make('th', { scope: 'row', title: judged.names[i] }, names[i]), ...row.map((value) => heat(make('td', { class: 'number heat' }, value === null ? '–' : minus(value.toFixed(2))), Math.abs(value ?? 0)))]), { id: 'heatmap-table' }), make('p', { class: 'note' }, `Pearson's r of segment scores, over the outputs that both have; n = ${whole(judged.judged)} outputs with ${judged.humanName}.`));
}

async function start() {
  meta = await readJson('meta');
  for (const judged of meta.sets) { judged.read = once(() => readArray(judged.column)); for (const metric of judged.metrics) metric.read = once(() => readArray(metric.column)); }
  readHash();
  applyTheme(state.theme);
  $('title').textContent = meta.title;
  $('footer').textContent = `Made by tensormt ${meta.version}. This file loads nothing from elsewhere.`;
  const facts = () => { const judged = chosenSet(); $('facts').textContent = `${judged.title} · ${whole(judged.systems.length)} systems · ${whole(judged.segments)} segments · ${whole(judged.metrics.length)} metrics`; };
  $('set').addEventListener('change', (event) => set({ set: Number(event.target.value) }));
  $('metric').addEventListener('change', (event) => set({ m: Number(event.target.value) }));
  $('theme').addEventListener('click', () => set({ theme: document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark' }));
  const follow = async () => { facts(); drawPickers(); drawCorrelations(); drawSystems(); drawRanking(); drawSpa(); drawHeatmap(); await drawDensity(); };
  when('set m way', follow);
  when('theme', () => applyTheme(state.theme));
  let wide = innerWidth, resized = 0;
  addEventListener('resize', () => { clearTimeout(resized); resized = setTimeout(() => { if (innerWidth !== wide) { wide = innerWidth; follow(); } }, 150); });
  addEventListener('hashchange', () => { readHash(); tell(new Set(Object.keys(START))); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => applyTheme(state.theme));
  await follow();
  document.body.dataset.done = 'yes';
}
start().catch((error) => { $('facts').textContent = 'The page could not be drawn: ' + error.message; throw error; });
