// Contextual matching: each word of an output with the word of the reference that it is most similar to.
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
// whether most words are of a script that is read from the right: drawings then begin there
const fromRight = (words) => { const known = words.filter(Boolean); return known.filter((word) => RIGHT_TO_LEFT.test(word)).length > known.length / 2; };

// of a system, by word: the partner in the best reference, the cosine, and both as text
function linksOf(part, system) {
  const found = new Map(), R = meta.refs.length, { s } = card.views[part.v], own = s[R + system].w, other = s[part.b[system]].w;
  for (let i = 0; i < part.a[system].length; i += 3) {
    const [word, partner, cosine] = part.a[system].slice(i, i + 3);
    found.set(word, { partner, cosine, text: `${brief(own[word])} ~ ${brief(other[partner])} (${minus(cosine.toFixed(2))})` });
  }
  return found;
}

// words of a stream with a partner, each with the number of the link; of a reference, links of A and B
function* linkedIn(part, stream) {
  const R = meta.refs.length;
  for (const system of alone() ? [state.a] : [state.a, state.b]) {
    if (stream >= R ? stream - R !== system : part.b[system] !== stream) continue;
    for (const [word, { partner }] of linksOf(part, system)) yield [stream >= R ? word : partner, `${system}.${word}`];
  }
}

function drawAlignments(shown) {
  const part = partOf(shown), R = meta.refs.length, systems = alone() ? [state.a] : [state.a, state.b];
  const figures = systems.map((system, k) => {
    const links = linksOf(part, system), ref = part.b[system], { s } = card.views[part.v], figure = drawAlignment(s[ref].w, s[R + system].w, links);
    return make('figure', { 'data-stream': R + system }, make('figcaption', {}, make('b', { class: 'tag ' + 'ab'[k] }, `${'AB'[k]}: ${meta.systems[system]}`), ` ${links.size} of ${s[R + system].w.length} matched in ${R > 1 ? `reference ${ref + 1}, the best one` : 'the reference'} `, make('button', { type: 'button', class: 'copy', onclick: (event) => copy(svgText(figure), event.target) }, 'Copy as SVG')), make('div', { class: 'scroll tree', tabindex: 0, role: 'group', 'aria-label': `Alignment of ${meta.systems[system]}` }, figure));
  });
  fill($('trees'), figures, make('p', { class: 'note' }, 'Above the reference, below the output. Each word of the output is tied to the word of the reference that it was matched with: the thicker the line, the more similar they are in context (cosine of their vectors). Point at a word to see the number. Words without a line match nothing.'));
}

function drawAlignment(above, below, links) {
  const rows = [above, below].map((words) => words.slice(0, 1500)), gap = 14, top = 20, bottom = 128;
  const sizes = rows.map((words) => words.map((word) => widthOf(word) + gap)), totals = sizes.map((own) => own.reduce((sum, size) => sum + size, 0)), width = Math.max(40, ...totals) + 16;
  const back = rows.map(fromRight);
  const places = sizes.map((own, k) => { let at = (width - totals[k]) / 2; const found = own.map((size) => { at += size; return at - size / 2; }); return back[k] ? found.map((x) => width - x) : found; });
  const svg = make('svg:svg', { width, height: bottom + 20, viewBox: `0 0 ${width} ${bottom + 20}`, class: 'drawing', role: 'img', 'aria-label': 'Alignment of words' });
  const matched = new Map(); // words of the reference, with the links that end there
  for (const [word, { partner, cosine, text }] of links) {
    if (word >= rows[1].length || partner >= rows[0].length) continue;
    matched.set(partner, [...(matched.get(partner) || []), 'w' + word]);
    const size = Math.max(0, Math.min(1, cosine));
    svg.append(make('svg:path', { d: `M${places[0][partner]} ${top + 12} C${places[0][partner]} ${top + 55} ${places[1][word]} ${bottom - 60} ${places[1][word]} ${bottom - 14}`, class: 'link', 'data-class': 'w' + word, 'data-link': `${word},${partner}`, 'stroke-width': (0.8 + 3.2 * size ** 2).toFixed(2), 'stroke-opacity': (0.25 + 0.75 * size ** 2).toFixed(2) }, make('svg:title', {}, text)));
  }
  rows.forEach((words, side) => words.forEach((word, k) => {
    const classes = side ? (links.has(k) ? ['w' + k] : []) : matched.get(k) || [], y = side ? bottom : top, wide = sizes[side][k] - 4;
    const title = side ? links.get(k)?.text ?? 'not matched' : classes.map((name) => links.get(Number(name.slice(1))).text).join('; ') || 'not matched';
    svg.append(make('svg:g', { class: 'node' + (classes.length ? ' inside' : ''), 'data-class': classes.join(' ') || null, tabindex: classes.length ? 0 : null }, make('svg:title', {}, title), make('svg:rect', { x: places[side][k] - wide / 2, y: y - 12, width: wide, height: 21, rx: 6 }), make('svg:text', { x: places[side][k], y: y + 3, 'text-anchor': 'middle' }, brief(word))));
  }));
  return svg;
}
