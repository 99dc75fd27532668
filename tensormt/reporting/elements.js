// What every page uses: blocks unpacked when they are asked for, elements made without markup, numbers.
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
const minus = (text) => (/^-0(\.0*)?$/.test(text) ? text.slice(1) : text.replaceAll('-', '−'));
function show(value, metric, sign = false) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  const size = Math.abs(value), tiny = size && size < 1e-3 && metric.digits >= 4;
  const text = tiny ? value.toExponential(2) : value.toFixed(metric.digits);
  return (sign && value > 0 ? '+' : '') + minus(text);
}
const showP = (p) => (p === null ? '–' : p < 0.00005 ? '< 0.0001' : '= ' + p.toFixed(4)); // as tensormt compare prints it
const whole = (value) => value.toLocaleString('en');
const many = (count, word) => `${whole(count)} ${word}${count === 1 ? '' : 's'}`;

// --- tables and names
function table(head, body, attributes = {}, choose = null) {
  const cells = (row, name) => row.map((cell) => (cell instanceof Element && /^T[HD]$/.test(cell.tagName) ? cell : make(name, {}, cell)));
  return make('div', { class: 'scroll' }, make('table', attributes, make('thead', {}, make('tr', {}, cells(head, 'th'))), make('tbody', {}, body.map((row) => make('tr', { onclick: choose && ((event) => choose(event.currentTarget)) }, cells(row, 'td'))))));
}

async function copy(text, button) {
  try { await navigator.clipboard.writeText(text); } catch {
    const area = make('textarea', {}); area.value = text; document.body.append(area); area.select(); document.execCommand('copy'); area.remove();
  }
  const before = button.textContent; button.textContent = 'Copied'; setTimeout(() => { button.textContent = before; }, 1200);
}

// a long name without its middle, so that names that begin or end alike can be told apart
function middleCut(text, most) {
  const letters = [...text];
  return letters.length <= most ? text : letters.slice(0, Math.ceil((most - 1) / 2)).join('') + '…' + letters.slice(letters.length - Math.floor((most - 1) / 2)).join('');
}

// names without what all of them begin and end with, where they are too long
function shortened(labels, most) {
  if (labels.length < 2 || labels.every((label) => [...label].length <= most)) return labels;
  const split = labels.map((label) => [...label]), least = Math.min(...split.map((label) => label.length));
  let head = 0, tail = 0;
  while (head < least && split.every((label) => label[head] === split[0][head])) head++;
  while (tail < least - head && split.every((label) => label[label.length - 1 - tail] === split[0][split[0].length - 1 - tail])) tail++;
  const inside = (letter) => letter !== undefined && /[\p{L}\p{N}]/u.test(letter); // names are cut between words
  while (head && inside(split[0][head - 1])) head--;
  while (tail && inside(split[0][split[0].length - tail])) tail--;
  if (head < 4) head = 0;
  if (tail < 4) tail = 0;
  return split.map((label) => middleCut((head ? '…' : '') + label.slice(head, label.length - tail).join('') + (tail ? '…' : ''), most));
}

// dark or light: what was chosen, or else what the browser prefers
function applyTheme(chosen) {
  const dark = chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  $('theme').textContent = dark ? 'Light' : 'Dark';
}
