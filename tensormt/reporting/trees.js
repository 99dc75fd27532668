// The tree panel: one segment's trees with their matches, and what each match adds to the score.
const TREE_KINDS = ['subtree', 'chain', 'pair'];
let card = null;

async function readCard(segment) {
  const list = await meta.drawnRead(), place = find(list, segment);
  if (place < 0) return null;
  const block = Math.floor(place / meta.drawn.each);
  const cards = await (meta.cards[block] ??= readJson('b' + meta.drawn.blocks[block]));
  return cards[place % meta.drawn.each];
}
function find(sorted, value) {
  let low = 0, high = sorted.length - 1;
  while (low <= high) { const mid = (low + high) >> 1; if (sorted[mid] === value) return mid; if (sorted[mid] < value) low = mid + 1; else high = mid - 1; }
  return -1;
}

const pairsOf = (flat) => { const map = new Map(); for (let i = 0; i < flat.length; i += 2) map.set(flat[i], flat[i + 1]); return map; };
const partOf = (k) => card.m[meta.views[k].name];
const onTrees = (k) => TREE_KINDS.includes(meta.views[k].kind);
const treeKind = (k) => card.views[partOf(k).v]?.kind;
const KIND_NAMES = { alignment: 'alignment', constituency: 'constituents', dependency: 'dependencies' };

// whose matches are shown: those of the chosen metric, or of the chosen member of a mean; trees come first
const viewsOf = (m) => [...meta.views.keys()].filter((k) => meta.views[k].metric === m);
function shownView() {
  const own = viewsOf(state.m);
  if (own.includes(state.view)) return state.view;
  return own.filter(onTrees).sort((i, j) => meta.views[j].orders.length - meta.views[i].orders.length || i - j)[0] ?? own[0] ?? -1;
}

async function drawSegment() {
  if (state.seg < 0 || !meta.texts) { $('trees-panel').hidden = true; return; }
  $('trees-panel').hidden = false;
  const segment = state.seg, found = await readCard(segment), m = metricOf(state.m);
  const doc = meta.docTexts ? await meta.docTexts.at(segment) : null, [sa, sb] = await Promise.all([scores(state.m, state.a), scores(state.m, state.b)]);
  const texts = await Promise.all([...meta.refTexts, meta.hypTexts[state.a], meta.hypTexts[state.b]].map((stream) => stream.at(segment)));
  const source = meta.sourceTexts ? await meta.sourceTexts.at(segment) : '', judged = await judgements(segment);
  if (segment !== state.seg) return;
  card = found;
  $('which').textContent = `${whole(segment + 1)}${doc === null ? '' : ' of document ' + doc}: ${m.name} A ${show(sa[segment], m)}${alone() ? '' : `, B ${show(sb[segment], m)}, A − B ${show(Math.fround(sa[segment] - sb[segment]), m, true)}`}`;
  const R = meta.refs.length, present = [...Array(R).keys()].filter((r) => texts[r]);
  const lines = [...present.map((r) => [R > 1 ? `Reference ${r + 1}` : 'Reference', r, texts[r]]), ['A', R + state.a, Number.isNaN(sa[segment]) ? null : texts[R]]];
  if (!alone()) lines.push(['B', R + state.b, Number.isNaN(sb[segment]) ? null : texts[R + 1]]);
  const shown = card ? shownView() : -1;
  drawSegmentBar(present, shown);
  drawTexts(lines, shown);
  if (source) $('texts').prepend(make('p', { id: 'source' }, make('b', { class: 'tag' }, 'Source'), ' ', make('bdi', { dir: 'auto' }, source.length > 4000 ? source.slice(0, 4000) + '…' : source)));
  await drawErrors(segment, lines, shown);
  if (judged.length) $('texts').append(make('p', { class: 'note', id: 'judged' }, 'Human scores: ', judged.join('; '), '.'));
  if (!card) {
    fill($('trees'), make('p', { class: 'note' }, `Trees were kept for the ${whole(meta.drawn.segments.n)} segments with the largest differences; make the report with --trees-for all to have them all.`));
    return fill($('waterfall'));
  }
  drawTrees(present, shown);
  fitTrees();
  drawWaterfall();
}

// the human scores of A and B in a segment, as text
async function judgements(segment) {
  const found = [];
  for (let k = meta.metrics.length; k < meta.columns.length; k++) {
    const column = meta.columns[k], [a, b] = await Promise.all([scores(k, state.a), scores(k, state.b)]);
    if (Number.isNaN(a[segment]) && Number.isNaN(b[segment])) continue;
    found.push(`${column.name} A ${show(a[segment], column)}${alone() ? '' : `, B ${show(b[segment], column)}`}`);
  }
  return found;
}

function orderOf(part) {
  const most = part.c ? part.c[0].length : 1;
  return Math.min(most, state.d || Math.min(2, most));
}

// the reference that gave A its counts: the best one, or the one that holds most counted items
function giver(part, order) {
  if (part.b) return part.b[state.a];
  const R = meta.refs.length, numbers = pairsOf(part.c[R + state.a][order - 1]), counted = [...pairsOf(part.k[state.a][order - 1]).keys()];
  let best = -1, most = 0;
  for (let r = 0; r < R; r++) {
    const held = new Set(pairsOf(part.c[r][order - 1]).values()), count = counted.filter((place) => held.has(numbers.get(place))).length;
    if (count > most) { best = r; most = count; }
  }
  return best;
}

function drawSegmentBar(present, shown) {
  const part = shown >= 0 ? partOf(shown) : null, children = [], drawn = card && drawnKind(shown);
  // a choice of another metric's matches is a choice of that metric: all of the panel speaks of it
  const choose = (k) => set({ view: k, m: meta.views[k].metric, ...(meta.views[k].metric === state.m ? {} : { lo: null, hi: null }) });
  if (card && meta.views.length) children.push(make('label', {}, 'matches of ', make('select', { id: 'view', onchange: (event) => choose(Number(event.target.value)) }, part ? null : make('option', { value: -1, selected: true, disabled: true }, '–'), meta.views.map((view, k) => make('option', { value: k, selected: k === shown }, view.name)))));
  const own = part && onTrees(shown) ? part : null;
  if (own?.c && own.c[0].length > 1) {
    const order = orderOf(own), slider = make('input', { type: 'range', id: 'depth', min: 1, max: own.c[0].length, step: 1, oninput: (event) => set({ d: Number(event.target.value) }) });
    slider.value = order;
    children.push(make('label', {}, meta.views[shown].orders[0].replace(/ *1$/, '') + ' ', slider, make('output', {}, ` ${order}`)));
  }
  if (drawn) {
    const kinds = drawnKinds(shown);
    if (kinds.length > 1) children.push(make('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Drawing' }, kinds.map((kind) => make('button', { type: 'button', role: 'tab', id: 'draw-' + kind, 'aria-selected': String(kind === drawn), onclick: () => chooseKind(kind, shown) }, KIND_NAMES[kind]))));
    if (drawn !== 'alignment' && present.length > 1) {
      const best = own ? giver(own, orderOf(own)) : -1;
      children.push(make('div', { role: 'tablist', class: 'tabs', 'aria-label': 'References' }, present.map((r) => make('button', { type: 'button', role: 'tab', 'data-ref': r, 'aria-selected': String(r === refShown(present, own)), title: r === best ? 'This reference holds most of what was counted for A' : '', onclick: () => set({ ref: r }) }, `Reference ${r + 1}${r === best ? ' ★' : ''}`))));
    }
  }
  if (drawn) children.push(zoomButtons());
  children.push(make('button', { type: 'button', id: 'previous', onclick: () => moveBy(-1) }, '← previous'), make('button', { type: 'button', id: 'next', onclick: () => moveBy(1) }, 'next →'));
  const before = document.activeElement?.id;
  fill($('segment-bar'), children);
  if (before && $(before) && $('segment-bar').contains($(before))) $(before).focus();
}

// the kind of trees that is drawn; trees that the metric does not compare are drawn without matches
function drawnKinds(shown) {
  const trees = [...new Set(card.views.map((view) => view.kind))].filter((kind) => kind in KIND_NAMES).sort();
  return shown >= 0 && partOf(shown).a ? ['alignment', ...trees] : trees;
}
function drawnKind(shown) {
  const kinds = drawnKinds(shown);
  if (kinds.includes(state.draw)) return state.draw;
  return kinds.includes('alignment') ? 'alignment' : shown >= 0 && onTrees(shown) ? treeKind(shown) : kinds[0];
}
// of a mean, the member that compares such trees, where there is one
function chooseKind(kind, shown) {
  const own = viewsOf(state.m).find((k) => onTrees(k) && treeKind(k) === kind);
  set(own === undefined || (shown >= 0 && onTrees(shown) && treeKind(shown) === kind) ? { draw: kind } : { draw: kind, view: own });
}

function refShown(present, part) {
  if (present.includes(state.ref)) return state.ref;
  const best = part && (part.k || part.b) ? giver(part, orderOf(part)) : -1;
  return present.includes(best) ? best : present[0];
}

// the text above: tokens coloured by the longest n-gram that they are part of and the chosen metric counts
function textView(shown) {
  const grams = card ? viewsOf(state.m).filter((k) => !onTrees(k)) : [], tokens = grams.filter((k) => meta.views[k].kind === 'n-gram');
  return [shown, ...tokens, ...grams].find((k) => grams.includes(k));
}
function drawTexts(lines, shown) {
  const chosen = textView(shown);
  if (chosen === undefined) return fill($('texts'), lines.map(([name, stream, text]) => textLine(name, stream, text === null ? absent() : text.length > 4000 ? text.slice(0, 4000) + '…' : text)));
  (meta.views[chosen].kind === 'character' ? drawLetters : drawTokens)(lines, partOf(chosen), meta.views[chosen]);
}
const textLine = (name, stream, ...body) => make('p', { 'data-stream': stream }, make('b', { class: name.length === 1 ? 'tag ' + name.toLowerCase() : 'tag' }, name), ' ', make('bdi', { dir: 'auto' }, ...body));
const textKey = (what, most) => make('p', { class: 'note' }, what, [1, 2, 3, 4].slice(0, most).flatMap((k) => [make('span', { class: 'token level' + k }, k === 4 && most > 4 ? '4 and more' : String(k)), ' ']));

// characters: a figure each, white space has none
function drawLetters(lines, part, view) {
  const R = meta.refs.length, systems = alone() ? [state.a] : [state.a, state.b], most = part.n[0].length;
  const rowsMade = lines.map(([title, stream, text]) => {
    if (text === null) return textLine(title, stream, absent());
    const figures = stream >= R ? [part.h[stream - R]] : systems.map((s) => part.r[stream][s]).filter(Boolean);
    const letters = [...text], spaced = figures.length && figures[0].length === letters.length, body = [];
    if (!figures.length || !(spaced || figures[0].length === letters.filter((letter) => letter.trim()).length)) return textLine(title, stream, text.slice(0, 4000));
    let at = 0, run = '', level = -1;
    const close = () => { if (run) body.push(make('span', { class: level > 0 ? `token level${Math.min(4, level)}` : 'token', title: level > 0 ? `in a matched ${level}-gram` : 'not matched' }, run)); run = ''; };
    for (const letter of letters.slice(0, 4000)) {
      if (!spaced && !letter.trim()) { close(); level = -1; body.push(letter); continue; }
      const now = Math.max(...figures.map((figure) => Number(figure[at])));
      at++;
      if (now !== level) { close(); level = now; }
      run += letter;
    }
    close();
    return textLine(title, stream, ...body);
  });
  fill($('texts'), rowsMade, textKey(`Characters by the longest n-gram matched in ${view.name} that holds them: `, most));
}

// places and numbers of an order's items in a stream that the count took; of a reference, of A or B
function* takenIn(part, stream, order, held) {
  if (part.a) return yield* linkedIn(part, stream);
  const flat = part.c[stream][order], R = meta.refs.length, counted = stream >= R ? pairsOf(part.k[stream - R][order]) : null;
  for (let i = 0; i < flat.length; i += 2) if (counted ? counted.has(flat[i]) : held.has(flat[i + 1])) yield [flat[i], flat[i + 1]];
}

function drawTokens(lines, part, view) {
  const R = meta.refs.length, held = part.a ? null : countedClasses(part), grams = view.kind === 'n-gram';
  const rowsMade = lines.map(([title, stream, text]) => {
    let body = [absent()];
    if (text !== null) {
      const words = card.views[part.v].s[stream].w, level = new Uint8Array(words.length), classes = words.map(() => []), partners = part.a && stream >= R ? linksOf(part, stream - R) : null;
      view.orders.forEach((_, k) => {
        for (const [place, number] of takenIn(part, stream, k, held)) {
          if (k === 0) classes[place].push('g' + number);
          if (grams) for (let i = place; i <= place + k; i++) level[i] = Math.max(level[i], k + 1);
          else for (const i of [place, place + k]) level[i] = 1; // both words of a pair
        }
      });
      const about = (i) => (partners?.has(i) ? partners.get(i).text : !level[i] ? 'not matched' : grams ? `in a matched ${level[i]}-gram` : 'matched');
      body = words.slice(0, 1500).flatMap((word, i) => [make('span', { class: level[i] ? `token level${Math.min(4, level[i])}` : 'token', 'data-class': classes[i].join(' ') || null, title: about(i) }, word.length > 200 ? word.slice(0, 200) + '…' : word), ' ']);
    }
    return textLine(title, stream, ...body);
  });
  fill($('texts'), rowsMade, grams ? textKey(`Tokens by the longest n-gram matched in ${view.name} that holds them: `, view.orders.length) : make('p', { class: 'note' }, 'Underlined: ', make('span', { class: 'token level1' }, `matched in ${view.name}`), '.'));
}

// numbers of items that the count took in A or B
function countedClasses(part) {
  const found = new Set();
  for (const system of alone() ? [state.a] : [state.a, state.b])
    part.k[system].forEach((flat, k) => { const numbers = pairsOf(part.c[meta.refs.length + system][k]); for (const place of pairsOf(flat).keys()) if (numbers.has(place)) found.add(numbers.get(place)); });
  return found;
}

function childrenOf(tree) {
  const below = tree.l.map(() => []);
  tree.p.forEach((parent, node) => { if (parent >= 0) below[parent].push(node); });
  return below;
}

// the nodes of an item: a subtree from its top node down, a chain from its lowest node up
function nodesOf(kind, tree, below, order, place) {
  if (kind === 'chain') { const nodes = [place]; while (nodes.length < order && tree.p[nodes.at(-1)] >= 0) nodes.push(tree.p[nodes.at(-1)]); return nodes; }
  const nodes = [place];
  let level = [place];
  for (let k = 1; k < (kind === 'pair' ? 2 : order); k++) { level = level.flatMap((node) => below[node]); nodes.push(...level); }
  return nodes;
}

function itemText(kind, tree, below, order, place) {
  if (kind === 'chain') return nodesOf(kind, tree, below, order, place).reverse().map((node) => tree.l[node]).join(' → ');
  const write = (node, depth) => (depth === 1 || !below[node].length ? tree.l[node] : `(${tree.l[node]} ${below[node].map((child) => write(child, depth - 1)).join(' ')})`);
  return write(place, kind === 'pair' ? 2 : order);
}

function drawTrees(present, shown) {
  const name = shown >= 0 ? meta.views[shown].name : metricOf(state.m).name, kind = drawnKind(shown), some = viewsOf(state.m).length;
  const compares = !some ? `${name} does not say what it matched` : `${name} compares ${onTrees(shown) ? KIND_NAMES[treeKind(shown)] : partOf(shown).kind === 'character' ? 'characters' : 'tokens'}`;
  if (!kind) return fill($('trees'), make('p', { class: 'note' }, `${compares}${some ? ': see the text above' : ''}.`));
  if (kind === 'alignment') return drawAlignments(shown);
  const R = meta.refs.length, own = shown >= 0 && onTrees(shown), part = own ? partOf(shown) : { kind: kind === 'dependency' ? 'chain' : 'subtree' };
  const ref = refShown(present, part), order = orderOf(part), matched = own && kind === treeKind(shown), view = matched ? card.views[part.v] : card.views.find((other) => other.kind === kind);
  const streams = [[R > 1 ? `Reference ${ref + 1}` : 'Reference', ref, ''], [`A: ${meta.systems[state.a]}`, R + state.a, 'a']];
  if (!alone()) streams.push([`B: ${meta.systems[state.b]}`, R + state.b, 'b']);
  const held = part.c ? countedClasses(part) : null;
  const figures = streams.map(([title, stream, name]) => {
    const tree = view.s[stream], below = childrenOf(tree), roots = new Map(), spare = new Map();
    if (!matched) { /* no metric compares these trees */ }
    else if (part.c) {
      const counted = stream >= R ? pairsOf(part.k[stream - R][order - 1]) : null;
      for (const [place, number] of pairsOf(part.c[stream][order - 1])) (counted ? counted.has(place) : held.has(number)) ? roots.set(place, [number]) : spare.set(place, [number]);
    } else {
      const sides = stream >= R ? [stream - R] : alone() ? [state.a] : [state.a, state.b];
      for (const system of sides) for (const [r, x, y] of part.p[system]) if (r === ref) {
        const place = stream >= R ? x : y;
        if (!roots.has(place)) roots.set(place, []);
        roots.get(place).push(`${system}.${y}`);
        if (stream < R) continue;
      }
      if (stream < R) for (const [place, list] of roots) roots.set(place, [...new Set(list)]);
    }
    const figure = tree.l.length ? (kind === 'dependency' ? drawArcs : drawTree)(tree, below, roots, spare, part.kind, order) : make('p', { class: 'note' }, 'no tree');
    const size = !matched ? 0 : part.c ? tree.l.filter((_, node) => nodesOf(part.kind, tree, below, order, node).length && highest(part.kind, tree, below, node) >= order).length : tree.l.filter((_, node) => below[node].length).length;
    return make('figure', { 'data-stream': stream }, make('figcaption', {}, make('b', { class: name ? 'tag ' + name : 'tag' }, title), !matched ? ' ' : ` ${roots.size} of ${size} ${part.c ? meta.views[shown].orders[order - 1] : 'inner nodes'} ${name ? 'matched' : alone() ? 'matched by A' : 'matched by A or B'} `, tree.l.length ? make('button', { type: 'button', class: 'copy', onclick: (event) => copy(svgText(figure), event.target) }, 'Copy as SVG') : null), make('div', { class: 'scroll tree', tabindex: 0, role: 'group', 'aria-label': `Tree of ${title}` }, figure));
  });
  fill($('trees'), figures, make('p', { class: 'note' }, !matched ? `${compares}: these trees show no matches.` : 'Coloured: counted as matched. Dotted: found in a reference, but more often than the count allows. Grey: not matched. Point at a node to see its counterparts. Drag a tree to move it, turn the wheel with Ctrl to zoom; all trees move together.'));
}

function highest(kind, tree, below, node) {
  if (kind === 'chain') { let depth = 1; while (tree.p[node] >= 0) { node = tree.p[node]; depth++; } return depth; }
  return 1 + Math.max(0, ...below[node].map((child) => highest(kind, tree, below, child)));
}

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\u{1f300}-\u{1faff}]/u;
const brief = (text) => ([...text].length > 24 ? [...text].slice(0, 23).join('') + '…' : text);
const widthOf = (text) => [...brief(text)].reduce((sum, letter) => sum + (WIDE.test(letter) ? 14 : 7.8), 0);

function nodeMark(node, tree, roots, spare, inside, text, title) {
  const list = roots.get(node) || spare.get(node);
  const kind = roots.has(node) ? ' root' : spare.has(node) ? ' spare' : inside.has(node) ? ' inside' : '';
  return make('svg:g', { class: 'node' + kind, 'data-node': node, 'data-class': list ? list.map((number) => 't' + number).join(' ') : null, tabindex: list ? 0 : null }, make('svg:title', {}, title), text);
}

function coverage(roots, tree, below, kind, order) {
  const inside = new Set(), edges = new Set();
  for (const place of roots.keys()) {
    const nodes = new Set(nodesOf(kind, tree, below, order, place));
    for (const node of nodes) { inside.add(node); if (nodes.has(tree.p[node])) edges.add(node); }
  }
  return [inside, edges];
}

function drawTree(tree, below, roots, spare, kind, order) {
  const [inside, edges] = coverage(roots, tree, below, kind, order), x = [], y = [], step = 40;
  let next = 8, deepest = 0;
  const depth = tree.l.map(() => 0);
  tree.p.forEach((parent, node) => { depth[node] = parent < 0 ? 0 : depth[parent] + 1; deepest = Math.max(deepest, depth[node]); });
  const words = tree.w && tree.w.some(Boolean);
  // children stand behind their parents, so leaves from left to right come first, then parents backwards
  tree.l.forEach((label, node) => {
    y[node] = depth[node] * step + 20;
    if (below[node].length) return;
    const wide = Math.max(widthOf(label), words ? widthOf(tree.w[node]) : 0) + 12;
    x[node] = next + wide / 2;
    next += wide;
  });
  for (let node = tree.l.length - 1; node >= 0; node--) if (below[node].length) x[node] = (x[below[node][0]] + x[below[node].at(-1)]) / 2;
  if (words && fromRight(tree.w)) x.forEach((at, node) => { x[node] = next - at; });
  const height = deepest * step + (words ? 50 : 36);
  const svg = make('svg:svg', { width: next + 8, height, viewBox: `0 0 ${next + 8} ${height}`, class: 'drawing', role: 'img', 'aria-label': 'Constituency tree' });
  tree.p.forEach((parent, node) => { if (parent >= 0) svg.append(make('svg:line', { x1: x[parent], y1: y[parent] + 8, x2: x[node], y2: y[node] - 11, class: edges.has(node) ? 'edge on' : 'edge' })); });
  tree.l.forEach((label, node) => {
    if (words && tree.w[node]) svg.append(make('svg:text', { x: x[node], y: y[node] + 22, 'text-anchor': 'middle', class: WIDE.test(tree.w[node]) ? 'word wide' : 'word' }, brief(tree.w[node]), make('svg:title', {}, tree.w[node].slice(0, 2000))));
    const wide = widthOf(label) + 10;
    svg.append(nodeMark(node, tree, roots, spare, inside, [make('svg:rect', { x: x[node] - wide / 2, y: y[node] - 11, width: wide, height: 20, rx: 6 }), make('svg:text', { x: x[node], y: y[node] + 4, 'text-anchor': 'middle' }, brief(label))], itemText(kind, tree, below, order, node).slice(0, 500)));
  });
  return svg;
}

function drawArcs(tree, below, roots, spare, kind, order) {
  const [inside, edges] = coverage(roots, tree, below, kind, order), x = [];
  let next = 8;
  tree.l.forEach((word, node) => { const wide = widthOf(word) + 18; x[node] = next + wide / 2; next += wide; });
  if (fromRight(tree.l)) x.forEach((at, node) => { x[node] = next - at; });
  const reach = tree.p.map((parent, node) => (parent < 0 ? 0 : Math.abs(parent - node))), most = Math.max(1, ...reach), rise = (k) => 14 + 84 * Math.sqrt(k / most), base = 132;
  const svg = make('svg:svg', { width: next + 8, height: base + 36, viewBox: `0 0 ${next + 8} ${base + 36}`, class: 'drawing', role: 'img', 'aria-label': 'Dependency tree' });
  tree.p.forEach((parent, node) => {
    if (parent < 0) { svg.append(make('svg:line', { x1: x[node], x2: x[node], y1: 14, y2: base - 4, class: 'stem' }), make('svg:text', { x: x[node], y: 10, 'text-anchor': 'middle', class: 'quiet' }, 'root')); return; }
    const top = base - rise(reach[node]), side = x[parent] < x[node] ? 4 : -4, from = x[parent] + side, to = x[node] - side * 0.2, bend = Math.min(24, Math.abs(to - from) / 2) * Math.sign(to - from);
    if (tree.r && tree.r[node]) svg.append(make('svg:text', { x: (from + to) / 2, y: top - 3, 'text-anchor': 'middle', class: 'arc quiet' }, brief(tree.r[node])));
    svg.append(make('svg:path', { d: `M${from} ${base - 2} L${from} ${top + 10} Q${from} ${top} ${from + bend} ${top} L${to - bend} ${top} Q${to} ${top} ${to} ${top + 10} L${to} ${base - 2}`, class: edges.has(node) ? 'edge on' : 'edge' }), make('svg:path', { d: `M${to - 3.5} ${base - 8} L${to + 3.5} ${base - 8} L${to} ${base - 1} Z`, class: edges.has(node) ? 'head on' : 'head' }));
  });
  tree.l.forEach((word, node) => {
    const wide = widthOf(word) + 10;
    svg.append(nodeMark(node, tree, roots, spare, inside, [make('svg:rect', { x: x[node] - wide / 2, y: base + 3, width: wide, height: 22, rx: 6 }), make('svg:text', { x: x[node], y: base + 19, 'text-anchor': 'middle' }, brief(word))], itemText(kind, tree, below, order, node).slice(0, 500)));
  });
  return svg;
}

// pointing at an item lights up all equal ones
function lightUp(box) {
  const at = (event) => event.target.closest?.('[data-class]');
  const light = (element) => {
    for (const lit of box.querySelectorAll('.lit')) lit.classList.remove('lit');
    if (!element) return;
    const wanted = element.dataset.class.split(' ');
    for (const other of box.querySelectorAll('[data-class]')) if (other.dataset.class.split(' ').some((number) => wanted.includes(number))) other.classList.add('lit');
  };
  box.addEventListener('pointerover', (event) => light(at(event)));
  box.addEventListener('pointerleave', () => light(null));
  box.addEventListener('focusin', (event) => light(at(event)));
}

// an SVG that stands alone: colours and fonts of the page as attributes
function svgText(svg) {
  const clone = svg.cloneNode(true), own = svg.querySelectorAll('*'), other = clone.querySelectorAll('*');
  clone.setAttribute('xmlns', SVG);
  const [, , width, height] = svg.getAttribute('viewBox').split(' ');
  clone.setAttribute('width', width);
  clone.setAttribute('height', height);
  own.forEach((element, k) => {
    const style = getComputedStyle(element);
    for (const key of ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'font-size', 'font-family', 'font-weight', 'opacity']) { const value = style.getPropertyValue(key); if (value && value !== 'normal') other[k].setAttribute(key, value); }
  });
  return new XMLSerializer().serializeToString(clone);
}
