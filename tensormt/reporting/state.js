// What is chosen, kept in the address behind the #: START has the names and first values, checkState
// mends what does not exist on this page.
const state = {};
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
