/** Clocks of two processes, and the log's whole milliseconds. */
const TOLERANCE_MS = 5;

/** The laws about what a restart must keep: failures, due times, and the reason of the next run. */
export function judgeRetries(evidence) {
  return [...failuresContinue(evidence), ...goesOnAsStored(evidence), ...waitsAsStored(evidence)];
}

/** Each consecutive failure counts one more than the previous one, across kills. */
function failuresContinue({ lives }) {
  const found = [];
  const counts = new Map();
  for (const { lines, after } of lives) {
    const before = new Map(counts);
    for (const { msg, issue_id: issue, failures, outcome } of lines) {
      if (msg === 'run ended' && outcome === 'success') remember(before, counts, issue, 0);
      if (msg !== 'run failed, retrying') continue;
      const expected = (counts.get(issue) ?? 0) + 1;
      if (failures !== expected) found.push(`${issue}: failure ${failures} where ${expected} was next`);
      remember(before, counts, issue, failures);
    }
    if (!after?.store) continue;
    for (const [issue, { failures }] of Object.entries(after.store.claims)) {
      // The last thing that happened may not have been stored yet, and on a full disk nothing was.
      const known = [counts.get(issue) ?? 0, before.get(issue) ?? 0];
      if (!known.includes(failures) && !couldNotStore(lines))
        found.push(`${issue}: ${failures} failures are stored, ${known[0]} happened`);
      counts.set(issue, failures);
    }
  }
  return found;
}

function remember(before, counts, issue, failures) {
  before.set(issue, counts.get(issue) ?? 0);
  counts.set(issue, failures);
}

/** The first run of an issue in a life is the one that the previous life stored, and not before it is due. */
function goesOnAsStored({ lives, expectParked }) {
  return pairs(lives).flatMap(({ store, next }) =>
    Object.entries(store.claims).flatMap(([issue, { status }]) => {
      const run = next.lines.find((line) => line.msg === 'run started' && line.issue_id === issue);
      const isFreed = next.lines.some((line) => line.msg === 'issue no longer parked' && line.issue_id === issue);
      if (!run || isFreed || issue === expectParked || status.kind === 'parked') return [];
      const reason = status.kind === 'waiting' ? status.reason : 'resumed';
      const early = status.kind === 'waiting' ? status.dueAtMs - Date.parse(run.time) : 0;
      return [
        ...(run.reason === reason ? [] : [`${issue}: went on as "${run.reason}", stored was "${reason}"`]),
        ...(early > TOLERANCE_MS ? [`${issue}: ran ${early} ms before its retry was due`] : []),
      ];
    }),
  );
}

/** An issue that waits and does not run keeps its due time. */
function waitsAsStored({ lives, expectParked }) {
  return pairs(lives).flatMap(({ store, next }) =>
    Object.entries(store.claims).flatMap(([issue, { status }]) => {
      const isRun = next.lines.some(
        (line) =>
          line.issue_id === issue &&
          /^(run started|issue released|issue is done|issue was handed over)$/.test(line.msg),
      );
      const now = next.after?.store?.claims[issue];
      if (isRun || status.kind !== 'waiting' || !next.after?.store || issue === expectParked) return [];
      if (!now) return [`${issue}: its claim was lost`];
      if (now.status.kind === 'waiting' && now.status.dueAtMs !== status.dueAtMs)
        return [`${issue}: was due at ${status.dueAtMs}, and is now at ${now.status.dueAtMs}`];
      return [];
    }),
  );
}

function pairs(lives) {
  return lives.slice(1).flatMap((next, index) => {
    const store = lives[index].after?.store;
    return store ? [{ store, next }] : [];
  });
}

function couldNotStore(lines) {
  return lines.some(({ msg, code }) => msg.startsWith('holding') && code === 'store_failed');
}
