// The table that people read, and one closing line.
export function printReport({ series, bounds }, { samples, daemon, end, seconds }) {
  const settled = samples[Math.floor(samples.length / 3)];
  const { runs } = samples.at(-1);
  console.log(`${seconds} s, ${samples.length} samples, ${runs} runs: ${counted(daemon.ended)}`);
  console.log(`told by the daemon: ${counted(daemon.warnings)}`);
  const { loopMs } = samples.toSorted((a, b) => b.loopMs.p99 - a.loopMs.p99)[0];
  console.log(`longest waits of its loop in one wave: p50 ${loopMs.p50}, p99 ${loopMs.p99}, max ${loopMs.max} ms\n`);

  console.log(row('', 'first', 'settled', 'last', 'grown', ''));
  for (const { name, values, level, grown, isBad } of series)
    console.log(row(name, values[0], level, values.at(-1), grown, isBad ? 'GROWS' : 'ok'));
  console.log(`\n${row('at most, at any quiet moment', 'most', 'bound', '', '', '')}`);
  for (const { name, values, most, isBad } of bounds)
    console.log(row(name, Math.max(...values), most, '', '', isBad ? 'TOO MANY' : 'ok'));
  const heap = series.find(({ name }) => name.startsWith('heap')).values;
  const perRun = ((heap.at(-1) - settled.heapMb) * 1e6) / Math.max(1, runs - settled.runs);
  console.log(`\nheap per run after the warm-up: ${perRun.toFixed(0)} bytes`);
  for (const { name, isBad } of series) if (isBad) console.log(kindsOf(name, samples));

  const ends = [
    ['the daemon exits with 0', end.code === 0, end.code],
    ['no process is left', end.processes.length === 0, end.processes.join('; ')],
    ['no temporary folder is left', end.temporary.length === 0, end.temporary.join(' ')],
  ];
  for (const [law, isKept, found] of ends) console.log(`${isKept ? 'ok' : 'NOT'}  ${law}${isKept ? '' : `: ${found}`}`);
  const bad = [...series, ...bounds].filter(({ isBad }) => isBad).length + ends.filter(([, isKept]) => !isKept).length;
  const all = series.length + bounds.length + ends.length;
  console.log(`${all - bad} passed, ${bad} failed`);
  return bad === 0;
}

/** Where to look first when something grows. */
function kindsOf(name, samples) {
  const [a, b] = [samples[Math.floor(samples.length / 3)], samples.at(-1)];
  const kinds = { 'open descriptors': 'descriptorKinds', 'active handles': 'resources' }[name];
  return kinds ? `${name}\n  before ${JSON.stringify(a[kinds])}\n  after  ${JSON.stringify(b[kinds])}` : '';
}

function row(name, ...cells) {
  return [name.padEnd(30), ...cells.map((cell) => shown(cell).padStart(9))].join(' ');
}

function shown(cell) {
  return typeof cell === 'number' && !Number.isInteger(cell) ? cell.toFixed(2) : String(cell);
}

function counted(counts) {
  return Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
