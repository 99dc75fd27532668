// Segments: filters and order in one list, drawn by window; words that differ are marked.
const rows = { order: new Uint32Array(0) };
const rowHeight = () => 17 + 25 * Math.max(alone() ? 2 : 3, (alone() ? 1 : 2) + (meta.refTexts.length ? 1 : 0) + (meta.sourceTexts ? 1 : 0));

async function passes() {
  const pass = new Uint8Array(meta.n).fill(1);
  if (state.lo !== null && state.hi !== null) {
    const gaps = await differences(state.m);
    for (let i = 0; i < pass.length; i++) if (!(gaps[i] >= state.lo && gaps[i] <= state.hi)) pass[i] = 0;
  }
  if (state.bucket >= 0) {
    const way = meta.buckets[state.way], columns = await Promise.all(way.missed ? [state.a, state.b].map((s) => meta.bucketsRead[state.way][s]()) : [meta.bucketsRead[state.way][0]()]);
    const holds = way.missed ? (i) => columns.some((missed) => (missed[i] >>> state.bucket) & 1) : (i) => columns[0][i] === state.bucket + 1;
    for (let i = 0; i < pass.length; i++) if (!holds(i)) pass[i] = 0;
  }
  if (state.item >= 0) {
    const held = new Uint8Array(meta.n), steps = await meta.stepsRead[state.group](), sizes = meta.items[state.group].sizes;
    let from = 0, at = 0;
    for (let k = 0; k < state.item; k++) from += sizes[k];
    for (let k = from; k < from + sizes[state.item]; k++) held[(at += steps[k])] = 1;
    for (let i = 0; i < pass.length; i++) if (!held[i]) pass[i] = 0;
  }
  if (state.q) {
    const streams = [...meta.refTexts, ...meta.hypTexts, ...(meta.sourceTexts ? [meta.sourceTexts] : [])], wanted = state.q.toLowerCase(), each = meta.hyps[0].each;
    for (let k = 0; k < streams[0].blocks.length; k++) {
      const first = k * each, last = Math.min(meta.n, first + each);
      let some = false;
      for (let i = first; i < last && !some; i++) some = pass[i] === 1;
      if (!some) continue;
      const texts = await Promise.all(streams.map((stream) => stream.blocks[k]()));
      for (let i = first; i < last; i++) if (pass[i] && !texts.some((lines) => lines[i - first].toLowerCase().includes(wanted))) pass[i] = 0;
    }
  }
  return pass;
}

// sort keys: a number of a column; 'd' difference, 'a' and 'b' scores of the metric; 'n' segment number
async function sortValues() {
  if (state.sort === '0') return null;
  const kind = state.sort[0], m = state.sort.length > 1 ? Number(state.sort.slice(1)) : state.m;
  if (m >= meta.columns.length) return differences(state.m);
  return kind === 'd' ? differences(m) : scores(m, kind === 'a' ? state.a : state.b);
}

// segments that pass, by value; equal ones by number, those without a value last. A float's bits, as a
// number that rises with it, and the segment in one key: keys sort without a comparison of ours
function ordered(pass, values, up) {
  const keys = new Float64Array(pass.length), step = 2 ** Math.ceil(Math.log2(pass.length + 1));
  let size = 0;
  if (!values) for (let i = 0; i < pass.length; i++) { if (pass[i]) keys[size++] = up ? pass.length - 1 - i : i; }
  else {
    const bits = new Uint32Array(Float32Array.from(values, (value) => value + 0).buffer);
    for (let i = 0; i < pass.length; i++) {
      if (!pass[i]) continue;
      let rank = bits[i] >>> 31 ? ~bits[i] >>> 0 : (bits[i] | 0x80000000) >>> 0;
      rank = Number.isNaN(values[i]) ? 2 ** 32 - 1 : up ? rank : 2 ** 32 - 1 - rank;
      keys[size++] = rank * step + i;
    }
  }
  const sorted = keys.subarray(0, size).sort();
  return Uint32Array.from(sorted, values ? (key) => key % step : up ? (key) => pass.length - 1 - key : (key) => key);
}

let turn = 0;
async function arrange() {
  const mine = ++turn, [pass, values] = await Promise.all([passes(), sortValues()]);
  if (mine !== turn) return; // a later choice is under way
  rows.order = ordered(pass, values, state.up);
  const order = rows.order;
  $('space').style.height = order.length * rowHeight() + 'px';
  $('count').textContent = order.length === meta.n ? `${whole(meta.n)} segments` : `${whole(order.length)} of ${whole(meta.n)} segments`;
  drawFilters();
  drawNone();
  drawHeads();
  $('table').scrollTop = 0;
  await drawRows();
  document.body.dataset.ready = String(mine);
  drawScatter();
}

function drawFilters() {
  const chips = [];
  const chip = (text, changes) => chips.push(make('button', { type: 'button', class: 'chip', title: 'Remove this filter', onclick: () => set(changes) }, text, ' ✕'));
  const m = metricOf(state.m);
  if (state.lo !== null && state.hi !== null) chip(`${show(state.lo, m)} to ${show(state.hi, m)}`, { lo: null, hi: null });
  if (state.bucket >= 0) chip(`${meta.buckets[state.way].missed ? 'lacks a word, ' : ''}${meta.buckets[state.way].title}: ${meta.buckets[state.way].labels[state.bucket]}`, { bucket: -1 });
  if (state.item >= 0) chip(`holds ${meta.items[state.group].texts[state.item].slice(0, 60)}`, { item: -1 });
  fill($('filters'), chips);
}

// no segment left: say why, and offer the way back
function drawNone() {
  $('none').hidden = rows.order.length > 0;
  $('table').hidden = !rows.order.length;
  if (rows.order.length) return;
  const others = state.bucket >= 0 || state.item >= 0 || (state.lo !== null && state.hi !== null);
  const clear = make('button', { type: 'button', id: 'clear', onclick: () => { $('search').value = ''; set({ q: '', lo: null, hi: null, bucket: -1, item: -1 }); } }, 'Show all segments');
  fill($('none'), make('p', {}, state.q ? `No segment contains “${clip(state.q)}”${others ? ' and passes the other filters' : ''}. ` : 'No segment passes all filters. ', clear));
}

// columns beside the chosen metric: human scores, scores of other tools, then the other metrics
function extraColumns() {
  const all = [...meta.columns.keys()].filter((k) => k !== state.m), rank = (k) => (k >= meta.metrics.length ? 0 : meta.columns[k].stored ? 1 : 2);
  const most = innerWidth < 640 ? 0 : innerWidth < 1000 ? 2 : 5;
  return all.sort((i, j) => rank(i) - rank(j) || i - j).slice(0, most);
}
const sortedBy = (k) => (/^[abd]$/.test(state.sort) ? k === state.m : Number(state.sort.slice(1)) === k && state.sort !== '0');
function drawHeads() {
  const extra = extraColumns(), head = (k, name) => make('button', { type: 'button', class: 'head' + (sortedBy(k) ? ' on' : ''), 'data-column': k, title: `Sort by ${meta.columns[k].name}${alone() ? '' : ', A − B'}`, onclick: () => set(sortedBy(k) ? { up: state.up ? 0 : 1 } : { sort: (alone() ? 'a' : 'd') + k }) }, name, sortedBy(k) ? (state.up ? ' ↑' : ' ↓') : '');
  fill($('heads'), head(state.m, metricOf(state.m).name), extra.map((k) => head(k, meta.columns[k].name)), make('span', {}, meta.texts ? [...(meta.sourceTexts ? ['source'] : []), ...(meta.refTexts.length ? ['reference'] : []), 'A', ...(alone() ? [] : ['B'])].join(', ').replace(/^./, (letter) => letter.toUpperCase()) : ''));
  for (const box of [$('heads'), $('space')]) box.style.setProperty('--extra', extra.length ? `repeat(${extra.length}, 74px)` : '');
}

let shown = 0;
async function drawRows() {
  const HEIGHT = rowHeight(), extra = extraColumns();
  const box = $('table'), mine = ++shown, first = Math.max(0, Math.floor(box.scrollTop / HEIGHT) - 3);
  const last = Math.min(rows.order.length, first + Math.ceil(box.clientHeight / HEIGHT) + 7);
  const chosen = [...rows.order.subarray(first, last)], read = (stream) => Promise.all(chosen.map(stream.at));
  const [ref, a, b, sa, sb, source, more] = await Promise.all([Promise.all(meta.refTexts.map(read)), read(meta.hypTexts[state.a]), read(meta.hypTexts[state.b]), scores(state.m, state.a), scores(state.m, state.b), meta.sourceTexts ? read(meta.sourceTexts) : null, Promise.all(extra.map((k) => Promise.all([scores(k, state.a), scores(k, state.b)])))]);
  if (mine !== shown) return;
  const m = metricOf(state.m), made = [];
  for (let k = first; k < last; k++) {
    const i = chosen[k - first], textA = a[k - first], textB = alone() ? '' : b[k - first], reference = ref.map((lines) => lines[k - first]).find(Boolean) || '';
    const both = !alone() && !Number.isNaN(sa[i]) && !Number.isNaN(sb[i]), plain = (text, score) => (Number.isNaN(score) ? [absent()] : [clip(text)]);
    const [wordsA, wordsB] = both ? marked(clip(textA), clip(textB)) : [plain(textA, sa[i]), plain(textB, sb[i])];
    const row = make('div', { class: 'row' + (i === state.seg ? ' on' : ''), role: 'option', 'aria-selected': String(i === state.seg), 'data-segment': i, id: 'row-' + i, onclick: () => set({ seg: i }) },
      make('div', { class: 'figures' }, make('b', {}, String(i + 1)), alone() ? null : make('span', { class: sideOf(sa[i] - sb[i], m) }, show(Math.fround(sa[i] - sb[i]), m, true)), make('span', {}, make('b', { class: 'tag a' }, 'A'), ' ' + show(sa[i], m)), alone() ? null : make('span', {}, make('b', { class: 'tag b' }, 'B'), ' ' + show(sb[i], m))),
      extra.map((c, at) => figuresOf(meta.columns[c], more[at][0][i], more[at][1][i])),
      make('div', { class: 'lines' }, source ? make('p', { class: 'quiet source', dir: 'auto' }, clip(source[k - first])) : null, meta.refTexts.length ? make('p', { class: 'quiet', dir: 'auto' }, clip(reference)) : null, make('p', { dir: 'auto' }, wordsA), alone() ? null : make('p', { dir: 'auto' }, wordsB)));
    row.style.top = k * HEIGHT + 'px';
    row.style.height = HEIGHT + 'px';
    made.push(row);
  }
  fill($('space'), made);
  const place = rows.order.indexOf(state.seg);
  if (place >= 0) box.setAttribute('aria-activedescendant', 'row-' + state.seg); else box.removeAttribute('aria-activedescendant');
}
const figuresOf = (column, a, b) => make('div', { class: 'figures extra', title: column.name }, make('b', {}, '\u00a0'), alone() ? null : make('span', { class: sideOf(a - b, column) }, show(Math.fround(a - b), column, true)), make('span', {}, show(a, column)), alone() ? null : make('span', {}, show(b, column)));
const absent = () => make('i', { class: 'quiet' }, 'no output');
const clip = (text) => (text.length > 400 ? text.slice(0, 400) + '…' : text);

// words as the browser finds them, also in scripts without spaces; a sign of punctuation is a word
const finder = Intl.Segmenter ? new Intl.Segmenter('und', { granularity: 'word' }) : null;
const wordsOf = (text) => (finder ? [...finder.segment(text)].map((part) => part.segment) : text.split(/(\s+)/));

// words of two texts that the other has not, by the longest common sequence of words
function marked(one, two) {
  const texts = [wordsOf(one), wordsOf(two)], [a, b] = texts.map((all) => all.filter((word) => word.trim())), n = a.length, m = b.length;
  const best = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  for (let i = n - 1; i >= 0; i--) for (let j = m - 1; j >= 0; j--) best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  const common = [new Uint8Array(n), new Uint8Array(m)];
  for (let i = 0, j = 0; i < n && j < m; ) {
    if (a[i] === b[j]) common[0][i++] = common[1][j++] = 1;
    else if (best[i + 1][j] >= best[i][j + 1]) i++;
    else j++;
  }
  return texts.map((all, side) => { let at = 0; return all.map((word) => (!word.trim() || common[side][at++] ? word : make('mark', {}, word))); });
}

function drawSort() {
  const options = [['0', 'segment number']];
  meta.columns.forEach((m, k) => {
    if (!alone()) options.push(['d' + k, `${m.name}: A − B`]);
    options.push(['a' + k, alone() ? m.name : `${m.name}: A`]);
    if (!alone()) options.push(['b' + k, `${m.name}: B`]);
  });
  const now = /^[abd]$/.test(state.sort) ? (alone() ? 'a' : state.sort) + state.m : state.sort;
  fill($('sort'), options.map(([value, text]) => make('option', { value, selected: value === now }, text)));
  $('direction').textContent = state.up ? '↑ rising' : '↓ falling';
}

function moveBy(step) {
  const place = rows.order.indexOf(state.seg), next = Math.max(0, Math.min(rows.order.length - 1, place < 0 ? 0 : place + step));
  if (!rows.order.length) return;
  const box = $('table'), height = rowHeight(), top = next * height;
  if (top < box.scrollTop || top + height > box.scrollTop + box.clientHeight) box.scrollTop = Math.max(0, top - height);
  set({ seg: rows.order[next] });
}

function startSegments() {
  let waiting = 0;
  $('table').addEventListener('scroll', () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(drawRows); });
  $('table').addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 5, PageUp: -5, Home: -1e9, End: 1e9 }[event.key];
    if (step) { event.preventDefault(); moveBy(step); }
  });
  let typed = 0;
  $('search').value = state.q;
  $('search').addEventListener('input', (event) => { clearTimeout(typed); typed = setTimeout(() => set({ q: event.target.value }), 200); });
  $('sort').addEventListener('change', (event) => set({ sort: event.target.value }));
  $('direction').addEventListener('click', () => set({ up: state.up ? 0 : 1 }));
  addEventListener('resize', () => { drawHeads(); drawRows(); });
}
