// Drawings of trees: one scale for all of a segment, zoom, and panning; all of them scroll together.
const LEGIBLE = 0.62; // smallest scale at the start: below it, words cannot be read
const STEP = 1.25;
const zoomed = { scale: 1, fit: 1, room: 0 };

const frames = () => [...document.querySelectorAll('#trees .tree')];
const naturalSize = (svg) => { const [, , width, height] = svg.getAttribute('viewBox').split(' ').map(Number); return [width, height]; };

// zoom 0: as large as fits, but legible; -1: fit in any case; else a scale
function fitTrees() {
  const boxes = frames().filter((box) => box.querySelector('svg.drawing'));
  if (!boxes.length) return;
  const widest = Math.max(...boxes.map((box) => naturalSize(box.querySelector('svg.drawing'))[0]));
  zoomed.room = boxes[0].clientWidth - 14;
  zoomed.fit = Math.min(1, zoomed.room / widest);
  zoomed.scale = state.zoom > 0 ? state.zoom : state.zoom < 0 ? zoomed.fit : Math.max(zoomed.fit, Math.min(1, LEGIBLE));
  for (const box of boxes) {
    const svg = box.querySelector('svg.drawing'), [width, height] = naturalSize(svg);
    svg.setAttribute('width', Math.round(width * zoomed.scale));
    svg.setAttribute('height', Math.round(height * zoomed.scale));
  }
  $('zoom').textContent = `${Math.round(100 * zoomed.scale)} %`;
  if (!state.zoom) showDifference(boxes);
}

// where not all fits: the place of the first node that A (or else B) does not match
function showDifference(boxes) {
  for (const box of boxes.slice(1)) {
    const other = [...box.querySelectorAll('.node')].find((node) => node.getAttribute('class') === 'node' && node.querySelector('rect'));
    if (!other || box.scrollWidth <= box.clientWidth) continue;
    const at = Number(other.querySelector('rect').getAttribute('x')) * zoomed.scale;
    box.scrollLeft = Math.max(0, at - box.clientWidth / 2);
    return scrollTogether(box);
  }
}

function scrollTogether(moved) {
  const reach = moved.scrollWidth - moved.clientWidth, share = reach > 0 ? moved.scrollLeft / reach : 0;
  for (const box of frames()) {
    if (box === moved) continue;
    const left = Math.round(share * (box.scrollWidth - box.clientWidth));
    if (Math.abs(box.scrollLeft - left) > 1) { box.dataset.follows = 'yes'; box.scrollLeft = left; }
  }
}

// zoom about a point of a drawing, which stays where it is; without one, about the middle
function zoomBy(factor, box = frames()[0], from = box ? box.clientWidth / 2 : 0) {
  if (!box) return;
  const before = zoomed.scale, at = (box.scrollLeft + from) / before;
  set({ zoom: Number(Math.min(3, Math.max(Math.min(0.2, zoomed.fit), before * factor)).toFixed(3)) });
  box.scrollLeft = at * zoomed.scale - from;
  scrollTogether(box);
}

function zoomButtons() {
  const button = (id, text, label, action) => make('button', { type: 'button', id, 'aria-label': label, title: label, onclick: action }, text);
  return make('span', { class: 'tabs', role: 'group', 'aria-label': 'Zoom' }, button('zoom-out', '−', 'Smaller', () => zoomBy(1 / STEP)), make('output', { id: 'zoom' }), button('zoom-in', '+', 'Larger', () => zoomBy(STEP)), button('zoom-fit', 'Fit', 'Fit into the window', () => set({ zoom: -1 })));
}

function startZoom() {
  const area = $('trees'), over = (event) => event.target.closest?.('.tree');
  area.addEventListener('scroll', (event) => {
    const box = over(event);
    if (!box) return;
    if (box.dataset.follows) delete box.dataset.follows; else scrollTogether(box);
  }, true);
  area.addEventListener('wheel', (event) => {
    const box = over(event);
    if (!box || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    zoomBy(2 ** (-event.deltaY / 240), box, event.clientX - box.getBoundingClientRect().left);
  }, { passive: false });
  let held = null;
  area.addEventListener('pointerdown', (event) => {
    const box = over(event);
    if (box && event.pointerType === 'mouse' && event.button === 0 && box.scrollWidth > box.clientWidth) held = { box, x: event.clientX, left: box.scrollLeft };
  });
  addEventListener('pointermove', (event) => {
    if (!held) return;
    held.box.classList.add('held');
    held.box.scrollLeft = held.left - (event.clientX - held.x);
  });
  addEventListener('pointerup', () => { held?.box.classList.remove('held'); held = null; });
  area.addEventListener('keydown', (event) => {
    const factor = { '+': STEP, '=': STEP, '-': 1 / STEP }[event.key];
    if (factor && over(event) && !event.ctrlKey && !event.metaKey) { event.preventDefault(); zoomBy(factor, over(event)); }
    if (event.key === '0' && over(event)) set({ zoom: -1 });
  });
}
