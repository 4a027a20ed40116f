// Judges the samples. After the warm-up (the first third), every sample is compared with every later one: a series grows when the median
// of these slopes, over the whole time, exceeds the normal variation, and most of them are positive. So neither a single odd
// sample nor one step, as of something that is loaded late, is taken for growth.
const MOSTLY = 0.7;
const relative = (share, more) => (level) => level * share + more;
const few = (more) => () => more;
/** Of every issue its run numbers and tokens are remembered for ever: so many objects and bytes are no leak. */
const remembered = (slack, each) => (level, issues) => slack(level) + each * issues;

/** The series that must not grow: name, place in a sample, and allowed variation. */
export const SERIES = [
  { name: 'open descriptors', of: (s) => s.descriptors, slack: few(1) },
  { name: 'active handles', of: (s) => s.handles, slack: few(1) },
  { name: 'child processes', of: (s) => s.children, slack: few(0) },
  { name: 'listeners on process', of: (s) => s.processListeners, slack: few(0) },
  { name: 'listeners on all emitters', of: (s) => s.objects.emitterListeners, slack: few(2) },
  { name: 'listeners on all signals', of: (s) => s.objects.abortListeners, slack: few(2) },
  { name: 'timers', of: (s) => s.objects.Timeout, slack: few(3) },
  { name: 'child process objects', of: (s) => s.objects.ChildProcess, slack: few(1) },
  { name: 'sockets', of: (s) => s.objects.Socket, slack: few(2) },
  { name: 'streams', of: (s) => s.objects.Stream, slack: few(2) },
  { name: 'emitters', of: (s) => s.objects.EventEmitter, slack: few(2) },
  { name: 'abort signals', of: (s) => s.objects.AbortSignal, slack: few(4) },
  { name: 'promises', of: (s) => s.objects.Promise, slack: relative(0.02, 20) },
  { name: 'maps', of: (s) => s.objects.Map, slack: relative(0.02, 10) },
  { name: 'sets', of: (s) => s.objects.Set, slack: relative(0.02, 10) },
  { name: 'objects of all kinds', of: (s) => s.objects.objects, slack: remembered(relative(0.1, 1000), 8) },
  { name: 'functions', of: (s) => s.objects.Function, slack: relative(0.01, 100) },
  { name: 'heap after collection, MB', of: (s) => s.heapMb, slack: remembered(relative(0.1, 2), 0.001) },
  { name: 'memory outside the heap, MB', of: (s) => s.externalMb, slack: relative(0.1, 2) },
  { name: 'resident memory, MB', of: (s) => s.rssMb, slack: relative(0.25, 32) },
];

/** The values that must stay below a bound at every quiet moment. */
export const BOUNDS = [
  { name: 'processes of runs', of: (s) => s.processes, most: 0 },
  { name: 'workspaces', of: (s) => s.workspaces, most: 0 },
  // One of the daemon, in which each run had its own.
  { name: 'temporary folders', of: (s) => s.temporary, most: 1 },
  // The 500 kept transcripts plus those of a wave.
  { name: 'transcripts', of: (s) => s.transcripts, most: 600 },
  { name: 'other files of the state', of: (s) => s.stateFiles, most: 10 },
  { name: 'log files', of: (s) => s.logFiles, most: 6 },
];

export const LEAST_SAMPLES = 9;

export function judge(samples) {
  const issues = samples.at(-1).issues - samples[Math.floor(samples.length / 3)].issues;
  const series = SERIES.map((one) => {
    const growth = growthOf(samples.map(one.of));
    return { ...one, ...growth, isBad: growth.isRising && growth.grown > one.slack(growth.level, issues) };
  });
  const bounds = BOUNDS.map((one) => {
    const values = samples.map(one.of);
    return { ...one, values, isBad: Math.max(...values) > one.most };
  });
  return { series, bounds };
}

function growthOf(values) {
  const settled = values.slice(Math.floor(values.length / 3));
  const slopes = settled.flatMap((from, i) => settled.slice(i + 1).map((to, more) => (to - from) / (more + 1)));
  const grown = median(slopes) * (settled.length - 1);
  const rising = slopes.filter((slope) => slope > 0).length / slopes.length;
  return { values, level: settled[0], grown, isRising: rising >= MOSTLY };
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
