// Segments: filters and order in one list, drawn by window; words that differ are marked.
const rows = { order: new Uint32Array(0) };
const HEIGHT = 92;

async function passes() {
  const pass = new Uint8Array(meta.n).fill(1);
  if (state.lo !== null && state.hi !== null) {
    const gaps = await differences(state.m);
    for (let i = 0; i < pass.length; i++) if (!(gaps[i] >= state.lo && gaps[i] <= state.hi)) pass[i] = 0;
  }
  if (state.bucket >= 0) {
    const index = await meta.bucketsRead[state.way]();
    for (let i = 0; i < pass.length; i++) if (index[i] !== state.bucket + 1) pass[i] = 0;
  }
  if (state.item >= 0) {
    const held = new Uint8Array(meta.n), steps = await meta.stepsRead[state.group](), sizes = meta.items[state.group].sizes;
    let from = 0, at = 0;
    for (let k = 0; k < state.item; k++) from += sizes[k];
    for (let k = from; k < from + sizes[state.item]; k++) held[(at += steps[k])] = 1;
    for (let i = 0; i < pass.length; i++) if (!held[i]) pass[i] = 0;
  }
  if (state.q) {
    const streams = [...meta.refTexts, ...meta.hypTexts], wanted = state.q.toLowerCase(), each = meta.refs[0].each;
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
  if (m >= meta.metrics.length) return differences(state.m);
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
  $('space').style.height = order.length * HEIGHT + 'px';
  $('count').textContent = order.length === meta.n ? `${whole(meta.n)} segments` : `${whole(order.length)} of ${whole(meta.n)} segments`;
  drawFilters();
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
  if (state.bucket >= 0) chip(`${meta.buckets[state.way].title}: ${meta.buckets[state.way].labels[state.bucket]}`, { bucket: -1 });
  if (state.item >= 0) chip(`holds ${meta.items[state.group].texts[state.item].slice(0, 60)}`, { item: -1 });
  fill($('filters'), chips);
}

let shown = 0;
async function drawRows() {
  const box = $('table'), mine = ++shown, first = Math.max(0, Math.floor(box.scrollTop / HEIGHT) - 3);
  const last = Math.min(rows.order.length, first + Math.ceil(box.clientHeight / HEIGHT) + 7);
  const chosen = [...rows.order.subarray(first, last)], read = (stream) => Promise.all(chosen.map(stream.at));
  const [ref, a, b, sa, sb] = await Promise.all([Promise.all(meta.refTexts.map(read)), read(meta.hypTexts[state.a]), read(meta.hypTexts[state.b]), scores(state.m, state.a), scores(state.m, state.b)]);
  if (mine !== shown) return;
  const m = metricOf(state.m), made = [];
  for (let k = first; k < last; k++) {
    const i = chosen[k - first], textA = a[k - first], textB = alone() ? '' : b[k - first], reference = ref.map((lines) => lines[k - first]).find(Boolean) || '';
    const both = !alone() && !Number.isNaN(sa[i]) && !Number.isNaN(sb[i]), plain = (text, score) => (Number.isNaN(score) ? [absent()] : [clip(text)]);
    const [wordsA, wordsB] = both ? marked(clip(textA), clip(textB)) : [plain(textA, sa[i]), plain(textB, sb[i])];
    const row = make('div', { class: 'row' + (i === state.seg ? ' on' : ''), role: 'option', 'aria-selected': String(i === state.seg), 'data-segment': i, id: 'row-' + i, onclick: () => set({ seg: i }) },
      make('div', { class: 'figures' }, make('b', {}, String(i + 1)), alone() ? null : make('span', { class: sideOf(sa[i] - sb[i], m) }, show(Math.fround(sa[i] - sb[i]), m, true)), make('span', {}, make('b', { class: 'tag a' }, 'A'), ' ' + show(sa[i], m)), alone() ? null : make('span', {}, make('b', { class: 'tag b' }, 'B'), ' ' + show(sb[i], m))),
      make('div', { class: 'lines' }, make('p', { class: 'quiet', dir: 'auto' }, clip(reference)), make('p', { dir: 'auto' }, wordsA), alone() ? null : make('p', { dir: 'auto' }, wordsB)));
    row.style.top = k * HEIGHT + 'px';
    made.push(row);
  }
  fill($('space'), made);
  const place = rows.order.indexOf(state.seg);
  if (place >= 0) box.setAttribute('aria-activedescendant', 'row-' + state.seg); else box.removeAttribute('aria-activedescendant');
}
const absent = () => make('i', { class: 'quiet' }, 'no output');
const clip = (text) => (text.length > 400 ? text.slice(0, 400) + '…' : text);

// words of two texts that the other has not, by the longest common sequence; within words that were
// exchanged one for one, only the letters between the common beginning and end
function marked(one, two) {
  const a = one.split(/(\s+)/), b = two.split(/(\s+)/), n = a.length, m = b.length;
  const best = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  for (let i = n - 1; i >= 0; i--) for (let j = m - 1; j >= 0; j--) best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  const outA = [], outB = [];
  let i = 0, j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && a[i] === b[j]) { outA.push(a[i++]); outB.push(b[j++]); continue; }
    const onlyA = [], onlyB = [];
    while (i < n && (j >= m || best[i + 1][j] >= best[i][j + 1]) && !(j < m && a[i] === b[j])) onlyA.push(a[i++]);
    while (j < m && (i >= n || best[i][j + 1] > best[i + 1][j]) && !(i < n && a[i] === b[j])) onlyB.push(b[j++]);
    const single = onlyA.length === 1 && onlyB.length === 1 && onlyA[0].trim() && onlyB[0].trim();
    const [p, q] = single ? common(onlyA[0], onlyB[0]) : [0, 0];
    for (const [words, out] of [[onlyA, outA], [onlyB, outB]])
      for (const word of words) {
        if (!word.trim()) { out.push(word); continue; }
        const letters = [...word];
        out.push(letters.slice(0, p).join(''), make('mark', {}, letters.slice(p, letters.length - q).join('')), letters.slice(letters.length - q).join(''));
      }
  }
  return [outA, outB];
}
function common(one, two) {
  const a = [...one], b = [...two], least = Math.min(a.length, b.length);
  let p = 0, q = 0;
  while (p < least && a[p] === b[p]) p++;
  while (q < least - p && a[a.length - 1 - q] === b[b.length - 1 - q]) q++;
  return p + q >= 2 ? [p, q] : [0, 0];
}

function drawSort() {
  const options = [['0', 'segment number']];
  meta.metrics.forEach((m, k) => {
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
  const box = $('table'), top = next * HEIGHT;
  if (top < box.scrollTop || top + HEIGHT > box.scrollTop + box.clientHeight) box.scrollTop = Math.max(0, top - HEIGHT);
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
  addEventListener('resize', drawRows);
}
