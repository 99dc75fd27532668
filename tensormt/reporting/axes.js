// Scales, ticks and titles of charts.
function scale(low, high, from, to) {
  const span = high - low || 1;
  return Object.assign((value) => from + ((value - low) / span) * (to - from), { back: (x) => low + ((x - from) / (to - from)) * span });
}

function ticks(low, high, count) {
  const step = 10 ** Math.floor(Math.log10((high - low || 1) / count));
  const wide = [1, 2, 5, 10].map((k) => k * step).find((k) => (high - low) / k <= count) || step;
  const found = [];
  for (let k = Math.ceil(low / wide - 1e-9); k * wide <= high + wide * 1e-9; k++) found.push(Number((k * wide).toPrecision(10)));
  return found;
}

const tick = (value) => minus(String(Number(value.toPrecision(6))));
// a title that fits: with the names of systems, else with A and B, else cut
const fitted = (width, ...titles) => { const most = Math.floor(width / 6.2), found = titles.find((title) => [...title].length <= most) ?? titles.at(-1); return [...found].length > most ? [...found].slice(0, most - 1).join('') + '…' : found; };

function range(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) { if (value < low) low = value; if (value > high) high = value; }
  return low <= high ? [low, high === low ? low + 1 : high] : [0, 1];
}

// as wide as there is room, so that letters keep their size in a narrow window
const roomIn = (id, most) => Math.max(320, Math.min(most, $(id).clientWidth || most));
