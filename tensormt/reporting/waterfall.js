// What each match adds to the score of a segment, or to the difference of A and B.

// an order's part of the score, shared evenly by its matches; of characters an order's matches together;
// where a metric does not say what a match adds, its score as a whole
function additions(k, system) {
  const R = meta.refs.length, found = new Map(), part = partOf(k), orders = meta.views[k].orders;
  const member = meta.views[k].name.startsWith(metricOf(state.m).name + ': ') ? meta.views[k].name.slice(metricOf(state.m).name.length + 2) : '';
  const add = (key, text, kind, value, count = 1) => { const entry = found.get(key) || { text, kind: [member, kind].filter(Boolean).join(' · '), value: 0, count: 0 }; entry.value += value; entry.count += count; found.set(key, entry); };
  if (part.score) { add(`${k}`, `${member || meta.views[k].name} as a whole`, 'what a match adds is not known', part.score[system], 0); return [0, found]; }
  if (part.p) {
    const tree = card.views[part.v].s[R + system], below = childrenOf(tree);
    for (const [r, x, , value] of part.p[system]) if (r === part.b[system]) { const text = itemText('pair', tree, below, 2, x); add(`${k} ${text}`, text, 'productions', value); }
    return [0, found];
  }
  const view = card.views[part.v], stream = view?.s[R + system];
  if (part.adds) {
    for (let i = 0; i < part.adds[system].length; i += 2) { const [place, value] = part.adds[system].slice(i, i + 2), text = stream.w[place]; if (value) add(`${k} ${text}`, text, orders[0], value); }
    return [0, found];
  }
  if (part.kind === 'character') {
    part.n[system].forEach((count, order) => { if (count) add(`${k} ${order}`, `all matched ${orders[order]}`, '', part.gain[system][order + 1], count); });
    return [part.gain[system][0], found];
  }
  const below = stream.p ? childrenOf(stream) : null, tokens = (place, order) => (part.kind === 'skip-bigram' ? (order ? [stream.w[place], stream.w[place + order]] : [stream.w[place]]).join(' … ') : stream.w.slice(place, place + order + 1).join(' '));
  part.k[system].forEach((flat, order) => {
    const places = [...pairsOf(flat).keys()];
    for (const place of places) {
      const text = below ? itemText(part.kind, stream, below, order + 1, place) : tokens(place, order);
      add(`${k} ${order} ${text}`, text, orders[order], part.gain[system][order + 1] / places.length);
    }
  });
  return [part.gain[system][0], found];
}

async function drawWaterfall() {
  const m = metricOf(state.m), name = m.name, parts = viewsOf(state.m), segment = state.seg;
  if (!parts.length || parts.every((k) => partOf(k).score)) return fill($('waterfall'), parts.length ? make('p', { class: 'note' }, `What each match adds to ${name} is not known.`) : null);
  const together = (system) => { // all members of a mean
    const found = parts.map((k) => additions(k, system));
    return [found.reduce((sum, [base]) => sum + base, 0), new Map(found.flatMap(([, items]) => [...items]))];
  };
  const [baseA, mine] = together(state.a), [baseB, theirs] = alone() ? [0, new Map()] : together(state.b);
  const entries = [...new Set([...mine.keys(), ...theirs.keys()])].map((key) => ({ ...(mine.get(key) || theirs.get(key)), value: (mine.get(key)?.value || 0) - (theirs.get(key)?.value || 0), a: mine.get(key)?.count || 0, b: theirs.get(key)?.count || 0 })).filter((entry) => Math.abs(entry.value) > 1e-12);
  entries.sort((one, two) => Math.abs(two.value) - Math.abs(one.value));
  const most = Math.abs(entries[0]?.value ?? 0), kept = entries.slice(0, 14).filter((entry) => Math.abs(entry.value) > most / 500), rest = entries.slice(kept.length);
  const [sa, sb] = await Promise.all([scores(state.m, state.a), scores(state.m, state.b)]);
  if (segment !== state.seg || m !== metricOf(state.m)) return; // a later choice is under way
  const total = alone() ? sa[segment] : sa[segment] - sb[segment], base = baseA - baseB;
  if (Number.isNaN(total)) return fill($('waterfall'));
  const bars = Math.abs(base) > most / 500 ? [{ text: 'without any match', kind: '', value: base }] : [];
  bars.push(...kept);
  const left = total - bars.reduce((sum, bar) => sum + bar.value, 0);
  if (Math.abs(left) > Math.max(1e-7, Math.abs(total) * 1e-5)) bars.push({ text: rest.length ? `${rest.length} other item${rest.length > 1 ? 's' : ''}` : 'other items', kind: 'together', value: left });
  let at = 0;
  for (const bar of bars) { bar.from = at; at += bar.value; bar.to = at; }
  bars.push({ text: alone() ? 'score' : 'A − B', kind: name, from: 0, to: total, value: total, sum: true });
  const [low, high] = range([0, ...bars.flatMap((bar) => [bar.from, bar.to])]), width = roomIn('waterfall', 1100), narrow = width < 560, label = narrow ? 150 : Math.round(width * 0.36), step = 36;
  const x = scale(low, high, label + 14, width - 64), cut = (text, size) => { const letters = Math.floor(label / size); return [...text].length > letters ? [...text].slice(0, letters - 1).join('') + '…' : text; };
  const svg = make('svg:svg', { viewBox: `0 0 ${width} ${bars.length * step + 8}`, class: 'chart wide', role: 'img', 'aria-label': `Waterfall of ${name}` });
  bars.forEach((bar, k) => {
    const y = k * step + 4, colour = bar.sum ? 'even' : sideOf(bar.value, m), [one, two] = [x(bar.from), x(bar.to)].sort((p, q) => p - q);
    const times = !(bar.a || bar.b) ? '' : alone() ? (bar.a > 1 ? `${bar.a} matches` : '') : `${bar.a} : ${bar.b}`, about = [bar.kind, times].filter(Boolean).join(' · ');
    svg.append(make('svg:g', { class: 'fall', 'data-kind': bar.kind }, make('svg:title', {}, `${bar.text.slice(0, 500)} (${about}): ${show(bar.value, { digits: Math.max(4, m.digits) }, true)}`),
      make('svg:text', { x: label, y: y + 13, 'text-anchor': 'end', class: bar.sum ? 'strong item' : 'item' }, cut(bar.text, 6.6)), make('svg:text', { x: label, y: y + 27, 'text-anchor': 'end', class: 'quiet kind' }, cut(about, 5.4)),
      make('svg:rect', { x: one, y: y + 5, width: Math.max(1.5, two - one), height: 18, class: 'bin ' + colour }),
      make('svg:text', { x: two + 5, y: y + 18, class: bar.sum ? 'strong value' : 'value' }, show(bar.value, { digits: Math.max(m.digits, 3) }, true)),
      k < bars.length - 1 && !bars[k + 1].sum ? make('svg:line', { x1: x(bar.to), x2: x(bar.to), y1: y + 23, y2: y + step + 5, class: 'axis' }) : null));
  });
  const kinds = parts.map(partOf), how = [...(kinds.some((part) => part.p) ? ["a pair of nodes adds its share of the kernel with the best reference"] : []), ...(kinds.some((part) => part.gain) ? ["an order's matches share evenly what the order adds (its Shapley value over the orders)"] : []), ...(kinds.some((part) => part.adds) ? ['an aligned word adds its share of the similarities'] : [])].join('; ');
  fill($('waterfall'), make('h3', {}, alone() ? `What each match adds to ${name}` : `What each match adds to ${name}, A − B`), make('div', { class: 'scroll' }, svg), make('p', { class: 'note' }, `Segment ${whole(segment + 1)}; ${how}${alone() ? '' : '; behind the kind, counted matches as A : B'}.`));
}
