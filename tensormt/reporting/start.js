// Start: read what the first look needs, draw, and listen.
const setTheme = () => applyTheme(state.theme);

function drawPickers() {
  fill($('metric'), meta.metrics.map((m, k) => make('option', { value: k, selected: k === state.m }, m.name)));
  for (const key of ['a', 'b']) fill($(key), meta.systems.map((name, k) => make('option', { value: k, selected: k === state[key] }, name)));
  $('versus').hidden = alone();
}

async function start() {
  meta = await readJson('meta');
  meta.columns = [...meta.metrics, ...meta.human];
  meta.columnsRead = meta.columns.map((m) => m.columns.map((column) => once(() => readArray(column))));
  meta.refTexts = meta.refs.map(textsOf);
  meta.hypTexts = meta.hyps.map(textsOf);
  meta.sourceTexts = meta.sources && textsOf(meta.sources);
  meta.errorTexts = meta.errors && meta.errors.map(textsOf);
  meta.docTexts = meta.docs && textsOf(meta.docs);
  meta.bucketsRead = meta.buckets.map((way) => (way.missed ?? [way.index]).map((column) => once(() => readArray(column))));
  meta.stepsRead = meta.items.map((group) => once(() => readArray(group.steps)));
  meta.drawnRead = once(() => readArray(meta.drawn.segments));
  meta.cards = {};
  readHash();
  setTheme();
  $('title').textContent = meta.title;
  $('facts').textContent = [many(meta.n, 'segment'), many(meta.systems.length, 'system'), ...(meta.refs.length ? [many(meta.refs.length, 'reference')] : []), many(meta.metrics.length, 'metric'), ...(lacking() ? [many(lacking(), 'output') + ' missing and left out'] : [])].join(' · ');
  $('footer').textContent = `Made by tensormt ${meta.version}. This file loads nothing from elsewhere.`;
  $('metric').addEventListener('change', (event) => set({ m: Number(event.target.value), lo: null, hi: null }));
  for (const key of ['a', 'b']) $(key).addEventListener('change', (event) => set({ [key]: Number(event.target.value), lo: null, hi: null }));
  $('swap').addEventListener('click', () => set({ a: state.b, b: state.a, lo: null, hi: null }));
  $('theme').addEventListener('click', () => set({ theme: document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark' }));
  $('differences-panel').querySelector('h2').textContent = alone() ? 'Segment scores' : 'Where they differ';
  $('search').parentElement.hidden = !meta.texts;
  startSegments();
  lightUp($('texts'));
  lightUp($('trees'));
  startZoom();
  when('m a b', () => { drawPickers(); drawSystems(); drawMatrix(); drawForest(); });
  when('m a b lo hi', drawHistogram);
  when('x y theme', drawScatter);
  when('m a b way bucket', drawBuckets);
  when('a b group item rank', drawItems);
  when('m sort up', drawSort);
  when('m a b lo hi bucket way item group q sort up', arrange);
  when('seg', drawRows);
  when('m a b seg view d ref draw', drawSegment);
  when('zoom', fitTrees);
  when('theme', setTheme);
  let wide = innerWidth, resized = 0;
  const redraw = () => { if (innerWidth !== wide) { wide = innerWidth; drawForest(); drawHistogram(); drawScatter(); drawBuckets(); drawSegment(); } };
  addEventListener('resize', () => { clearTimeout(resized); resized = setTimeout(redraw, 150); });
  addEventListener('hashchange', () => { readHash(); $('search').value = state.q; tell(new Set(Object.keys(START))); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { setTheme(); drawScatter(); });
  drawPickers();
  drawSystems();
  drawMatrix();
  drawForest();
  drawBuckets();
  drawItems();
  drawSort();
  drawMetrics();
  drawAgreement();
  await Promise.all([drawHistogram(), arrange()]);
  if (state.seg < 0 && rows.order.length) state.seg = rows.order[0];
  drawRows();
  await drawSegment();
  document.body.dataset.done = 'yes';
}
start().catch((error) => { $('facts').textContent = 'The page could not be drawn: ' + error.message; throw error; });
