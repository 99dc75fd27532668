// Data: blocks of the page unpacked when they are asked for, elements made without markup, the state.
const $ = (id) => document.getElementById(id);
const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array };

function bytesOf(id) {
  const text = $(id).textContent;
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

async function unpack(id) {
  const stream = new Blob([bytesOf(id)]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const decode = (bytes) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
const readJson = async (id) => JSON.parse(decode(await unpack(id)));

// numbers lie by bytes: all lowest ones first
async function readArray(column) {
  const planes = await unpack('b' + column.b), kind = KINDS[column.t], width = kind.BYTES_PER_ELEMENT;
  const bytes = new Uint8Array(planes.length);
  for (let k = 0; k < width; k++)
    for (let i = 0, from = k * column.n; i < column.n; i++) bytes[i * width + k] = planes[from + i];
  return new kind(bytes.buffer);
}

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

const once = (make) => { let made; return () => (made ??= make()); };

// --- elements: attributes and text only, so that data never becomes markup
const SVG = 'http://www.w3.org/2000/svg';
function make(name, attributes = {}, ...children) {
  const [kind, space] = name.startsWith('svg:') ? [name.slice(4), SVG] : [name, null];
  const element = space ? document.createElementNS(space, kind) : document.createElement(kind);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}
const fill = (target, ...children) => { target.replaceChildren(...children.flat().filter(Boolean)); return target; };

function tip(text, event) {
  const box = $('tip');
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  const x = Math.min(event.clientX + 12, innerWidth - box.offsetWidth - 8);
  const y = event.clientY + 16 + box.offsetHeight > innerHeight ? event.clientY - box.offsetHeight - 8 : event.clientY + 16;
  box.style.left = Math.max(4, x) + 'px';
  box.style.top = y + 'px';
}

// --- numbers
let meta;
const metricOf = (k) => meta.metrics[k];
const minus = (text) => text.replaceAll('-', '−');
function show(value, metric, sign = false) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  const size = Math.abs(value), tiny = size && size < 1e-3 && metric.digits >= 4;
  const text = tiny ? value.toExponential(2) : value.toFixed(metric.digits);
  return (sign && value > 0 ? '+' : '') + minus(text);
}
// a difference as a gain: of error rates, less is better
const gain = (difference, metric) => (metric.higher ? difference : -difference);
const sideOf = (difference, metric) => (gain(difference, metric) > 0 ? 'plus' : gain(difference, metric) < 0 ? 'minus' : '');
const showP = (p) => (p < 0.00005 ? '< 0.0001' : '= ' + p.toFixed(4)); // as tensormt compare prints it
const whole = (value) => value.toLocaleString('en');

// --- state: what is chosen, kept in the address behind the #
const START = { m: 0, a: 0, b: 1, sort: 'd', up: 0, q: '', seg: -1, lo: null, hi: null, way: 0, bucket: -1, group: 0, item: -1, d: 0, ref: -1, x: 0, y: 1, view: -1, zoom: 0, draw: '', rank: '', theme: '' };
const state = { ...START };
const listeners = [];
function readHash() {
  const given = new URLSearchParams(location.hash.slice(1));
  Object.assign(state, START);
  for (const key of Object.keys(START)) {
    if (!given.has(key)) continue;
    const text = given.get(key), kind = START[key];
    if (typeof kind === 'string') state[key] = text;
    else if (text !== '' && Number.isFinite(Number(text))) state[key] = Number(text);
  }
  checkState();
}
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
function set(changes) {
  const before = { ...state };
  Object.assign(state, changes);
  checkState();
  const kept = new URLSearchParams();
  for (const [key, value] of Object.entries(state))
    if (value !== START[key] && value !== null && value !== '') kept.set(key, value);
  if (location.protocol !== 'about:') history.replaceState(null, '', '#' + kept); // a frame in a notebook has no address
  const changed = new Set(Object.keys(state).filter((key) => state[key] !== before[key]));
  if (changed.size) tell(changed);
}
function tell(changed) { for (const [keys, action] of listeners) if (keys.some((key) => changed.has(key))) action(changed); }
const when = (keys, action) => listeners.push([keys.split(' '), action]);

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
