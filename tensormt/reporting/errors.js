// Errors that people marked: in the text of a segment beside what the metric did not match, and in numbers.
const severe = (severity) => severity === 'major' || severity === 'critical';

// where words stand in a text (letters of it), as in tensormt.reporting.error_agreement
function wordPlaces(letters, words) {
  const lower = letters.map((letter) => letter.toLowerCase()), text = lower.join(''), starts = [];
  let at = 0, from = 0;
  for (const letter of lower) { for (let k = 0; k < letter.length; k++) starts.push(at); at++; }
  starts.push(at);
  return words.map((word) => {
    const own = word.toLowerCase(), place = own ? text.indexOf(own, from) : -1;
    if (place < 0 || place - from > 40) return null;
    from = place + own.length;
    return [starts[place], starts[from] ?? letters.length];
  });
}

// letters of an output that the chosen metric did not match, with the name of the metric or member
function unmatched(shown, stream, letters) {
  const k = textView(shown) ?? viewsOf(state.m).find((own) => meta.views[own].kind === 'chain'), lacks = new Uint8Array(letters.length);
  if (!card || k === undefined) return null;
  const part = partOf(k), R = meta.refs.length, name = meta.views[k].name;
  if (part.kind === 'character') {
    const figure = part.h[stream - R], spaced = figure.length === letters.length;
    let at = 0;
    letters.forEach((letter, i) => { if (spaced || letter.trim()) { if (figure[at] === '0' && letter.trim()) lacks[i] = 1; at++; } });
    return { name, lacks };
  }
  const own = card.views[part.v].s[stream], words = own.w ?? own.l, places = wordPlaces(letters, words), matched = part.a ? linksOf(part, stream - R) : pairsOf(part.k[stream - R][0]);
  places.forEach((place, word) => { if (place && !matched.has(word)) lacks.fill(1, ...place); });
  return { name, lacks };
}

async function drawErrors(segment, lines, shown) {
  if (!meta.errorTexts) return fill($('marked-errors'));
  const R = meta.refs.length, systems = alone() ? [state.a] : [state.a, state.b], found = await Promise.all(systems.map((s) => meta.errorTexts[s].at(segment)));
  if (segment !== state.seg) return;
  let name = '';
  const made = systems.map((system, k) => {
    const text = lines.find(([, stream]) => stream === R + system)?.[2], tag = make('b', { class: 'tag ' + 'ab'[k] }, 'AB'[k]);
    if (text === null || text === undefined || !found[k]) return make('p', {}, tag, ' ', make('i', { class: 'quiet' }, text === null ? 'no output' : 'not rated'));
    const spans = JSON.parse(found[k]), letters = [...text].slice(0, 4000), missed = unmatched(shown, R + system, letters), marks = letters.map(() => '');
    name = missed?.name ?? name;
    const titles = letters.map(() => []);
    for (const [start, end, severity, category, rater] of spans) for (let i = Math.max(0, start); i < Math.min(end, letters.length); i++) { marks[i] = severe(severity) || marks[i] === 'error major' ? 'error major' : 'error'; titles[i].push([severity, category, rater].filter(Boolean).join(' · ')); }
    const body = [], key = (i) => `${marks[i]}${missed?.lacks[i] ? ' miss' : ''}|${titles[i].join('; ')}`;
    for (let i = 0; i < letters.length; ) {
      let j = i;
      while (j < letters.length && key(j) === key(i)) j++;
      const name = `${marks[i]}${missed?.lacks[i] ? ' miss' : ''}`.trim(), piece = letters.slice(i, j).join('');
      body.push(name ? make('span', { class: name, title: [...titles[i], ...(missed?.lacks[i] ? [`not matched in ${missed.name}`] : [])].join('; ') }, piece) : piece);
      i = j;
    }
    const list = spans.map(([start, end, severity, category, rater]) => make('li', {}, [severity, category].filter(Boolean).join(' · ') || 'error', start >= 0 ? `: “${letters.slice(start, end).join('').slice(0, 200)}”` : ' (not in the output)', rater ? make('span', { class: 'quiet' }, ` ${rater}`) : null));
    return [make('p', { 'data-errors': system }, tag, ' ', make('bdi', { dir: 'auto' }, body)), spans.length ? make('ul', {}, list) : make('p', { class: 'note' }, 'No error was marked.')];
  });
  fill($('marked-errors'), make('div', { class: 'spans' }, make('h3', {}, 'Errors marked by people'), made.flat(), make('p', { class: 'note' }, make('span', { class: 'error major' }, 'major'), ' ', make('span', { class: 'error' }, 'minor or other'), ...(name ? [' ', make('span', { class: 'miss' }, `not matched in ${name}`)] : []))));
}

// of all rated outputs: how often marked words and unmatched words are the same
function drawAgreement() {
  $('errors-panel').hidden = !meta.errorTexts;
  if (!meta.errorTexts) return;
  const share = (part, all) => (all ? (100 * part / all).toFixed(1) + ' %' : '–'), number = (text) => make('td', { class: 'number' }, text), sum = (row, head) => ['critical', 'major', 'minor', 'other'].map((name) => row[`${head}_${name}`] || 0);
  const severities = ['critical', 'major', 'minor', 'other'].filter((name) => meta.agreement.some((row) => row[`spans_${name}`]));
  const head = ['Metric', ...['words in errors', 'of these unmatched', 'unmatched words', 'of these in errors', 'by chance', ...severities.map((name) => `${name} errors met`)].map((text) => make('th', { class: 'number' }, text))];
  const body = meta.agreement.map((row) => [make('th', { scope: 'row' }, row.metric), number(whole(row.errors)), number(share(row.both, row.errors)), number(whole(row.unmatched)), number(share(row.both, row.unmatched)), number(share(row.errors, row.words)), ...severities.map((name) => number(`${share(row[`met_${name}`] || 0, row[`spans_${name}`])} of ${whole(row[`spans_${name}`] || 0)}`))]);
  const omissions = Math.max(0, ...meta.agreement.map((row) => row.omissions));
  fill($('agreement'), meta.agreement.length ? table(head, body, { id: 'agreement-table' }) : make('p', {}, 'None of the metrics says which words it matched: the errors are in the texts of the segments.'), meta.agreement.length ? make('p', { class: 'note' }, `n = ${whole(Math.max(...meta.agreement.map((row) => row.words)))} words of rated outputs. A word is in an error if it shares a character with a marked span. “By chance” is the share of all words in errors: if unmatched words were drawn at random, as many of them would be in errors. An error is met if one of its words is not matched.${omissions ? ` ${whole(omissions)} omissions and errors of the source have no place in the outputs.` : ''}`) : null);
}
