// Panels of numbers: systems and significance, buckets, what is matched, metrics.
function drawSystems() {
  // scores over different segments are not compared
  const unequal = meta.metrics.map((m) => m.pairs.some(([a, b, , , , n]) => m.scored[a] && m.scored[b] && n < Math.max(m.scored[a], m.scored[b]))), fewer = unequal.some(Boolean);
  const best = meta.metrics.map((m, k) => (unequal[k] ? null : (m.higher ? Math.max : Math.min)(...m.scores.filter((score) => score !== null))));
  const head = ['System', ...meta.metrics.map((m, k) => make('th', { class: k === state.m ? 'number on' : 'number' }, make('button', { type: 'button', class: 'link', 'data-metric': k, onclick: () => set({ m: k, lo: null, hi: null }) }, m.name, m.higher ? '' : ' ↓')))];
  const body = meta.systems.map((name, s) => [make('th', { scope: 'row' }, name, s === state.a ? make('b', { class: 'tag a' }, 'A') : null, !alone() && s === state.b ? make('b', { class: 'tag b' }, 'B') : null),
    ...meta.metrics.map((m, k) => make('td', { class: 'number' + (m.scores[s] !== null && m.scores[s] === best[k] ? ' best' : '') }, show(m.scores[s], m), m.scored[s] < meta.n ? make('small', { class: 'note' }, ` n = ${whole(m.scored[s])} `) : null, make('small', {}, ` ${show(m.intervals[s][0], m)} to ${show(m.intervals[s][1], m)}`)))]);
  const about = make('details', { id: 'about' }, make('summary', {}, 'What the metrics measure'), make('ul', { class: 'plain' }, meta.metrics.map((m) => make('li', {}, make('b', {}, m.name), `: ${m.summary ? m.summary + '; ' : ''}${m.higher ? 'higher' : 'lower'} is better.`))));
  const signatures = make('details', {}, make('summary', {}, 'Signatures'), make('ul', { class: 'plain' }, meta.metrics.map((m) => make('li', {}, make('code', {}, m.signature), ' ', make('button', { type: 'button', onclick: (event) => copy(m.signature, event.target) }, 'Copy')))));
  fill($('systems'), table(head, body, { id: 'system-table' }), make('p', { class: 'note' }, `Corpus scores of ${whole(meta.n)} segments${meta.metrics.some((m) => m.scored.some((count) => count < meta.n)) ? ', each over the n outputs that have a score,' : ''} with 95% bootstrap intervals (${whole(meta.samples)} resamples, seed ${meta.seed}); the best of a column is bold${fewer ? ', unless scores are over different segments' : ''}${meta.metrics.every((m) => m.higher) ? '' : '; ↓ lower is better'}.`), about, signatures);
}

function drawMatrix() {
  if (alone()) return fill($('matrix'));
  const m = metricOf(state.m), pairs = new Map(m.pairs.map(([a, b, ...found]) => [a + ',' + b, found]));
  const cell = (a, b) => {
    if (a === b) return make('td', { class: 'none' }, '');
    const [p, holm, difference, n, wins, ties, losses] = pairs.get(Math.min(a, b) + ',' + Math.max(a, b)), gap = a < b || difference === null ? difference : -difference;
    const sure = holm !== null && holm < 0.05 ? ' ' + sideOf(gap, m) : '', on = a === state.a && b === state.b, [won, lost] = a < b ? [wins, losses] : [losses, wins];
    return make('td', { class: 'number cell' + sure }, make('button', { type: 'button', 'data-pair': a + ',' + b, 'aria-pressed': String(on), title: `p ${showP(p)} before Holm's correction, n = ${whole(n)} segments: ${whole(won)} won, ${whole(ties)} tied, ${whole(lost)} lost`, onclick: () => set({ a, b, lo: null, hi: null }) }, show(gap, m, true), make('small', {}, `p ${showP(holm)}${sure ? ' *' : ''}`)));
  };
  const head = [`${m.name}: row − column`, ...shortened(meta.systems, 16).map((name, a) => make('th', { class: 'number', title: meta.systems[a] }, name))];
  $('matrix').parentElement.classList.toggle('stacked', meta.systems.length > 5);
  fill($('matrix'), make('h3', {}, 'Pairwise significance'), table(head, shortened(meta.systems, 30).map((name, a) => [make('th', { scope: 'row', title: meta.systems[a] }, name), ...meta.systems.map((_, b) => cell(a, b))]), { id: 'matrix-table' }),
    make('p', { class: 'note' }, `Paired bootstrap, ${m.pairs.some((pair) => pair[5] < meta.n) ? 'over the segments for which both have a score' : `n = ${whole(meta.n)} segments`}, ${whole(meta.samples)} resamples, seed ${meta.seed}, as in tensormt compare; p corrected by Holm for ${many(m.pairs.filter((pair) => pair[3] !== null).length, 'comparison')}; below 0.05 the cell has a star and a colour, blue where the row is better${m.higher ? '' : ' (lower)'}, orange where it is worse. Click a cell to compare the pair below.`));
}

// differences of all pairs with their intervals, and the line of no difference
function drawForest() {
  const m = metricOf(state.m), most = 20;
  const found = (m.pairs || []).map(([a, b, , holm, difference], k) => ({ a, b, holm, difference, ends: m.ends[k] })).filter((pair) => pair.difference !== null && pair.ends[0] !== null);
  if (!found.length) return fill($('forest'));
  const own = (pair) => Number(pair.a === state.a && pair.b === state.b) || Number(pair.a === state.b && pair.b === state.a), touches = (pair) => Number([state.a, state.b].includes(pair.a)) + Number([state.a, state.b].includes(pair.b));
  const kept = [...found].sort((i, j) => own(j) - own(i) || touches(j) - touches(i)).slice(0, most);
  const width = roomIn('forest', 640), narrow = width < 480, left = narrow ? 130 : 240, names = shortened(meta.systems, (Math.floor(left / 6.6) - 3) >> 1), step = 26;
  const [low, high] = range([0, ...kept.flatMap((pair) => pair.ends)]), x = scale(low, high, left + 10, width - 66), bottom = kept.length * step + 8;
  const svg = make('svg:svg', { viewBox: `0 0 ${width} ${bottom + 24}`, class: 'chart', role: 'img', 'aria-label': `Differences of ${m.name} with 95% intervals` }, make('svg:line', { x1: x(0), x2: x(0), y1: 0, y2: bottom, class: 'axis' }));
  kept.forEach((pair, k) => {
    const y = k * step + 18, title = `${meta.systems[pair.a]} − ${meta.systems[pair.b]}`, sure = pair.holm < 0.05, side = sure ? sideOf(pair.difference, m) || 'even' : 'even';
    svg.append(make('svg:g', { class: 'pair ' + side, 'data-forest': pair.a + ',' + pair.b }, make('svg:title', {}, `${title}: ${show(pair.difference, m, true)}, 95% interval ${show(pair.ends[0], m)} to ${show(pair.ends[1], m)}, p ${showP(pair.holm)}`),
      make('svg:text', { x: left - 4, y: y + 4, 'text-anchor': 'end', class: own(pair) ? 'strong' : '' }, `${names[pair.a]} − ${names[pair.b]}`),
      make('svg:line', { x1: x(pair.ends[0]), x2: x(pair.ends[1]), y1: y, y2: y, class: 'span' }), make('svg:circle', { cx: x(pair.difference), cy: y, r: 4.5, class: sure ? 'full' : 'hollow' }),
      make('svg:text', { x: width - 4, y: y + 4, 'text-anchor': 'end' }, show(pair.difference, m, true) + (sure ? ' *' : ''))));
  });
  for (const value of ticks(low, high, 5)) svg.append(make('svg:text', { x: x(value), y: bottom + 16, 'text-anchor': 'middle' }, tick(value)));
  fill($('forest'), make('h3', {}, `Differences of ${m.name}`), svg, make('p', { class: 'note' }, `Differences of corpus scores with 95% bootstrap intervals; a full circle and a star where the corrected p is below 0.05${found.length > most ? `; ${most} of ${found.length} pairs, those of A and B first` : ''}.`));
}

function drawBuckets() {
  $('buckets-panel').hidden = !meta.buckets.length;
  const way = meta.buckets[state.way], m = metricOf(state.m);
  if (!way) return;
  const chosen = alone() ? [state.a] : [state.a, state.b], rowsOf = way.words || way.scores[m.name], scored = way.words ? { name: 'F1', digits: 3, higher: true } : m;
  const [low, high] = range(rowsOf.flatMap((row) => chosen.flatMap((s) => row[s].slice(0, 3)).filter((value) => value !== null)));
  const width = roomIn('buckets', 1100), narrow = width < 480, letters = narrow ? 18 : 40, names = shortened(way.labels, letters), left = Math.max(narrow ? 96 : 130, 12 + 6.4 * Math.max(...names.map((name) => [...name].length))), step = 32, end = way.labels.length * step, counts = way.n.map((own) => `n = ${[...new Set(chosen.map((s) => whole(own[s])))].join(' : ')}`), right = 16 + 6.2 * Math.max(...counts.map((text) => text.length)), x = scale(low, high, left + 8, width - right);
  const svg = make('svg:svg', { viewBox: `0 0 ${width} ${end + 42}`, class: 'chart wide', role: 'group', 'aria-label': `${scored.name} by ${way.title}` });
  const marks = ticks(low, high, narrow ? 5 : 10);
  for (const value of marks) svg.append(make('svg:line', { x1: x(value), x2: x(value), y1: 0, y2: end, class: 'grid' }), make('svg:text', { x: x(value), y: end + 16, 'text-anchor': 'middle' }, tick(value)));
  svg.append(make('svg:text', { x: (left + width - right) / 2, y: end + 36, 'text-anchor': 'middle', class: 'title' }, fitted(width - left, way.words ? 'F1 of words' : m.name)));
  way.labels.forEach((label, k) => {
    const y = k * step + 7, on = state.bucket === k;
    const group = make('svg:g', { class: 'bucket' + (on ? ' on' : ''), tabindex: 0, role: 'button', 'aria-pressed': String(on), 'data-bucket': k, onclick: () => set({ bucket: on ? -1 : k }), onkeydown: (event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); set({ bucket: on ? -1 : k }); } } },
      make('svg:rect', { x: 0, y: y - 6, width, height: step - 2, class: 'back' }),
      make('svg:text', { x: left - 6, y: y + 14, 'text-anchor': 'end' }, names[k], make('svg:title', {}, label)),
      make('svg:text', { x: width - 4, y: y + 14, 'text-anchor': 'end', class: 'quiet' }, counts[k]));
    chosen.forEach((s, place) => {
      if (rowsOf[k][s][0] === null) return;
      const [score, from, to] = rowsOf[k][s], at = y + 6 + place * 11, name = place ? 'b' : 'a';
      group.append(make('svg:line', { x1: x(from), x2: x(to), y1: at, y2: at, class: 'whisker ' + name }), make('svg:circle', { cx: x(score), cy: at, r: 4, class: 'dot ' + name }, make('svg:title', {}, `${meta.systems[s]}, ${label}: ${scored.name} ${show(score, scored)}, 95% interval ${show(from, scored)} to ${show(to, scored)}${way.words ? `, precision ${show(rowsOf[k][s][3], scored)}, recall ${show(rowsOf[k][s][4], scored)}` : ''}, n = ${whole(way.n[k][s])}`)));
    });
    svg.append(group);
  });
  const pick = make('select', { id: 'way', onchange: (event) => set({ way: Number(event.target.value), bucket: -1 }) }, meta.buckets.map((w, k) => make('option', { value: k, selected: k === state.way }, w.title + (w.unit ? ` (${w.unit})` : ''))));
  const key = chosen.map((s, place) => make('span', { class: 'key' }, make('b', { class: 'tag ' + (place ? 'b' : 'a') }, place ? 'B' : 'A'), ' ', meta.systems[s]));
  const about = way.words ? `Words that outputs and references have in common: F1 of precision and recall of the words in a bucket, each output against the reference with which it shares most words, with 95% bootstrap intervals (${meta.bucketSamples} resamples); n: words of the references. Click a bucket to see the segments in which ${alone() ? 'the output' : 'A or B'} lacks such a word of the reference.` : '';
  fill($('buckets'), make('div', { class: 'bar' }, make('label', {}, 'by ', pick), key), svg, make('p', { class: 'note' }, about || `${m.name} of the segments in a bucket together, with 95% bootstrap intervals (${meta.bucketSamples} resamples). Click a bucket to filter the segments.`));
}

function drawItems() {
  $('items-panel').hidden = !meta.items.length;
  const group = meta.items[state.group];
  if (!group) return;
  const gap = (k) => (alone() ? group.counts[k][state.a] : group.counts[k][state.a] - group.counts[k][state.b]);
  const ratio = (k) => (group.counts[k][state.a] + 1) / (group.counts[k][state.b] + 1), byCount = alone() || state.rank === 'count';
  const order = group.texts.map((_, k) => k).sort((i, j) => (byCount ? 0 : ratio(j) - ratio(i)) || gap(j) - gap(i) || i - j);
  const choose = (k) => { const on = state.item !== k; set({ item: on ? k : -1 }); if (on) $('segments-panel').scrollIntoView({ block: 'start' }); };
  const side = (list, title, id) => make('div', {}, make('h3', {}, title), table(['Item', ...(alone() ? [make('th', { class: 'number' }, 'matches')] : ['A', 'B', byCount ? 'A − B' : 'ratio'].map((t) => make('th', { class: 'number' }, t))), make('th', { class: 'number' }, 'segments')],
    list.map((k) => [make('td', {}, make('button', { type: 'button', class: 'item', 'data-item': k, 'aria-pressed': String(state.item === k), onclick: (event) => { event.stopPropagation(); choose(k); } }, picture(group, k))),
      ...(alone() ? [make('td', { class: 'number' }, whole(gap(k)))] : [whole(group.counts[k][state.a]), whole(group.counts[k][state.b]), byCount ? (gap(k) > 0 ? '+' : '') + minus(whole(gap(k))) : `× ${ratio(k) < 1 ? (1 / ratio(k)).toFixed(1) : ratio(k).toFixed(1)}`].map((v) => make('td', { class: 'number' }, v))),
      make('td', { class: 'number' }, whole(group.sizes[k]))]), { id, class: 'clickable' }, (row) => choose(Number(row.querySelector('.item').dataset.item))));
  const more = order.filter((k) => gap(k) > 0).slice(0, 15), fewer = alone() ? [] : order.filter((k) => gap(k) < 0).reverse().slice(0, 15);
  const pick = make('select', { id: 'group', onchange: (event) => set({ group: Number(event.target.value), item: -1 }) }, meta.items.map((g, k) => make('option', { value: k, selected: k === state.group }, `${g.metric}: ${g.name}`)));
  fill($('items'), make('div', { class: 'bar' }, make('label', {}, 'items ', pick), alone() ? null : make('label', {}, 'ranked by ', make('select', { id: 'rank', onchange: (event) => set({ rank: event.target.value }) }, [['', 'ratio of matches'], ['count', 'difference of matches']].map(([value, text]) => make('option', { value, selected: value === state.rank }, text))))), make('div', { class: 'columns' }, more.length ? side(more, alone() ? 'Matched most often' : `More matches in A, ${meta.systems[state.a]}`, 'items-more') : make('p', {}, 'None that A matches more often.'), alone() ? null : fewer.length ? side(fewer, `More matches in B, ${meta.systems[state.b]}`, 'items-fewer') : make('p', {}, 'None that B matches more often.')),
    make('p', { class: 'note' }, `Counted (clipped) matches over all ${whole(meta.n)} segments.${byCount ? '' : ' The ratio is smoothed: one is added to both counts.'} Click an item to see the segments in which any system matches it.`));
}

// a subtree as a small drawing, other items as text
function picture(group, k) {
  const text = group.texts[k];
  if (group.kind !== 'subtree' || !text.startsWith('(') || text.length > 120) return text;
  const root = parseBrackets(text);
  if (!root) return text;
  let next = 0;
  const place = (node, depth) => {
    node.y = depth;
    const wide = node.label.length * 7 + 10;
    if (!node.children.length) { node.x = next + wide / 2; next += wide; return; }
    const before = next;
    node.children.forEach((child) => place(child, depth + 1));
    node.x = (node.children[0].x + node.children.at(-1).x) / 2;
    if (next < before + wide) next = before + wide;
  };
  place(root, 0);
  let deepest = 0;
  const parts = [];
  const draw = (node) => {
    deepest = Math.max(deepest, node.y);
    node.children.forEach((child) => { parts.unshift(make('svg:line', { x1: node.x, y1: node.y * 24 + 14, x2: child.x, y2: child.y * 24 + 4, class: 'edge' })); draw(child); });
    parts.push(make('svg:text', { x: node.x, y: node.y * 24 + 12, 'text-anchor': 'middle' }, node.label));
  };
  draw(root);
  return make('svg:svg', { width: next, height: deepest * 24 + 18, class: 'mini', role: 'img', 'aria-label': text }, parts);
}

function parseBrackets(text) {
  const parts = text.match(/\(|\)|[^\s()]+/g) || [], stack = [{ label: '', children: [] }];
  for (let i = 0; i < parts.length; i++) {
    if (parts[i] === '(') { const node = { label: parts[++i] ?? '', children: [] }; stack.at(-1).children.push(node); stack.push(node); }
    else if (parts[i] === ')') { if (stack.length < 2) return null; stack.pop(); }
    else stack.at(-1).children.push({ label: parts[i], children: [] });
  }
  return stack.length === 1 ? stack[0].children[0] : null;
}

function drawMetrics() {
  const c = meta.correlations;
  const heat = (value) => { const cell = make('td', { class: 'number heat' }, value === null ? '–' : minus(value.toFixed(2))); cell.style.setProperty('--heat', Math.abs(value ?? 0) * 70 + '%'); return cell; };
  const map = (title, rows) => make('div', {}, make('h3', {}, title), table(['', ...c.metrics.map((name) => make('th', { class: 'number' }, name))], rows.map((row, k) => [make('th', { scope: 'row' }, c.metrics[k]), ...row.map(heat)])));
  fill($('correlations'), c.metrics.length > 1 ? [make('div', { class: 'columns' }, map("Pearson's r of segment scores", c.pearson), map("Spearman's ρ of segment scores", c.spearman)), make('p', { class: 'note' }, `n = ${whole(c.n)} scores: ${meta.systems.length} systems × ${whole(meta.n)} segments${lacking() ? `, less ${whole(lacking())} missing outputs` : ''}.`)] : [make('p', { class: 'note' }, 'One metric: nothing to correlate.')]);
  const q = meta.qarla, f = (v) => (v === null ? '–' : minus(v.toFixed(3)));
  fill($('qarla'), q ? [make('h3', {}, 'QARLA, without human scores'), make('div', { class: 'columns' }, table(['Metric', make('th', { class: 'number' }, 'KING')], [...Object.entries(q.kings).map(([name, v]) => [name, make('td', { class: 'number' }, f(v))]), [`best set: ${q.best.metrics.join(' + ')}`, make('td', { class: 'number best' }, f(q.best.king))]]), table(['System', make('th', { class: 'number' }, 'QUEEN')], Object.entries(q.queens).map(([name, v]) => [name, make('td', { class: 'number' }, f(v))]))), make('p', { class: 'note' }, `n = ${q.cases} segments with three references or more; QUEEN with the best set; JACK (reliability of the test set) ${f(q.jack)}.`)] : []);
  fill($('people'), meta.people.length ? [make('h3', {}, 'Agreement with people'), table(['Human score', 'Metric', ...['pairs ordered alike', 'of pairs', "segments' r", 'n', "systems' r", 'systems'].map((t) => make('th', { class: 'number' }, t))], meta.people.map((r) => [r.human, r.metric, ...[r.share === null ? '–' : (100 * r.share).toFixed(1) + ' %', whole(r.pairs), f(r.pearson), whole(r.n), f(r.system), r.systems].map((v) => make('td', { class: 'number' }, String(v)))]), { id: 'people-table' }), make('p', { class: 'note' }, 'Pairs: two outputs of one source that people scored differently; a tie of the metric counts half.' + (meta.metrics.every((m) => m.higher) ? '' : ' Error rates are negated.'))] : []);
}
