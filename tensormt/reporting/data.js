// The state of the report, and its columns and texts.
const metricOf = (k) => meta.metrics[k];
// a difference as a gain: of error rates, less is better
const gain = (difference, metric) => (metric.higher ? difference : -difference);
const sideOf = (difference, metric) => (gain(difference, metric) > 0 ? 'plus' : gain(difference, metric) < 0 ? 'minus' : '');

// lines lie in blocks of `each`, unpacked when one of them is shown or searched
function textsOf(column) {
  const blocks = column.blocks.map((b, k) => once(async () => {
    const bytes = await unpack('b' + b), size = Math.min(column.each, meta.n - k * column.each), lines = new Array(size);
    const sizes = new Uint32Array(bytes.buffer, 0, size), text = decode(bytes.subarray(4 * size));
    for (let i = 0, at = 0; i < size; i++) lines[i] = text.slice(at, (at += sizes[i]));
    return lines;
  }));
  return { blocks, at: async (i) => (await blocks[Math.floor(i / column.each)]())[i % column.each] };
}

// --- what can be chosen
const START = { m: 0, a: 0, b: 1, sort: 'd', up: 0, q: '', seg: -1, lo: null, hi: null, way: 0, bucket: -1, group: 0, item: -1, d: 0, ref: -1, x: 0, y: 1, view: -1, zoom: 0, draw: '', rank: '', theme: '' };
// what an address asks for may not exist on this page
function checkState() {
  const within = (key, size, other) => { if (!(Number.isInteger(state[key]) && state[key] >= 0 && state[key] < size)) state[key] = other; };
  within('m', meta.metrics.length, 0);
  within('a', meta.systems.length, 0);
  within('b', meta.systems.length, meta.systems.length > 1 ? 1 : 0);
  within('seg', meta.n, -1);
  if (!meta.buckets[state.way]) Object.assign(state, { way: 0, bucket: -1 });
  if (!meta.items[state.group]) Object.assign(state, { group: 0, item: -1 });
  within('bucket', meta.buckets[state.way]?.labels.length ?? 0, -1);
  within('item', meta.items[state.group]?.texts.length ?? 0, -1);
  within('x', meta.metrics.length, 0);
  within('y', meta.metrics.length, Math.min(1, meta.metrics.length - 1));
  within('view', meta.views.length, -1);
  if (state.rank !== 'count') state.rank = '';
  within('d', 1e6, 0);
  if (!(state.zoom === -1 || (state.zoom > 0 && state.zoom <= 3))) state.zoom = 0;
  if (!/^(\d+|[ab]\d*|d\d*)$/.test(state.sort)) state.sort = 'd';
}

const alone = () => meta.systems.length < 2;
const lacking = () => meta.outputs.reduce((sum, count) => sum + meta.n - count, 0);
// metrics, and behind them human scores
const scores = (m, s) => meta.columnsRead[m][s]();
async function differences(m) {
  const a = await scores(m, state.a);
  if (alone()) return a;
  const b = await scores(m, state.b), gaps = new Float32Array(a.length);
  for (let i = 0; i < a.length; i++) gaps[i] = a[i] - b[i];
  return gaps;
}
