import { judgeHooks } from './judge-hooks.mjs';
import { judgeRetries } from './judge-retries.mjs';

/** Returns the violations of a trial as sentences. It reads only what was written to disk. */
export function judge(evidence) {
  const broken = evidence.broken === null ? [] : [evidence.broken];
  const laws = [
    nothingLeft,
    neverTwice,
    noneLost,
    numbersGrow,
    cleanedUp,
    storeWhole,
    noCrash,
    noFalseStall,
    workSaved,
    questionKept,
  ];
  return [...broken, ...[...laws, judgeHooks, judgeRetries].flatMap((law) => law(evidence))];
}

function nothingLeft({ lives, end }) {
  return [
    ...lives.flatMap(({ leftovers }, index) => leftovers.map((one) => `alive after restart ${index}: ${one}`)),
    ...end.living.map((one) => `alive at the end: ${one}`),
  ];
}

/** Judged by the lock that every process of an issue holds, by the order of the runs' marks, and by the log. */
function neverTwice({ marks, lives }) {
  const found = marks
    .filter(({ what }) => what === 'overlap')
    .map(({ where, issue, run }) => `${issue}: ${where} of ${run} met another process of the issue`);
  const last = new Map();
  const over = new Set();
  for (const { issue, run, what, where } of marks) {
    if (run === '-') continue;
    if (over.has(run)) found.push(`${issue}: ${run} was at ${what} ${where} after a later run had begun`);
    if (last.has(issue) && last.get(issue) !== run) over.add(last.get(issue));
    last.set(issue, run);
  }
  for (const { lines } of lives) {
    const running = new Map();
    for (const { msg, issue_id: issue, run_id: run } of lines) {
      if (msg === 'run ended' && running.get(issue) === run) running.delete(issue);
      if (msg !== 'run started') continue;
      if (running.has(issue)) found.push(`${issue}: ${run} started while ${running.get(issue)} was running`);
      running.set(issue, run);
    }
  }
  return found;
}

function noneLost({ end, lives, expectParked }) {
  const parked = lives
    .flatMap(({ lines }, index) => lines.filter((line) => !isDeadly(line, lives.slice(0, index))))
    .filter(({ msg, issue_id: issue }) => msg === 'issue parked' && issue !== expectParked);
  return [
    ...Object.entries(end.statuses)
      .filter(([, status]) => status !== 'Done')
      .map(([issue, status]) => `${issue} is ${status}, not Done`),
    ...Object.entries(end.store?.claims ?? {}).map(
      ([issue, { status }]) => `${issue} is still claimed: ${status.kind}`,
    ),
    ...parked.map(({ issue_id: issue, reason }) => `${issue} was parked: ${reason}`),
  ];
}

/** Parked because the daemon was killed during three runs of the issue. */
function isDeadly({ reason, issue_id: issue }, before) {
  const active = before.flatMap(({ wasKilled, after }) => {
    const status = after?.store?.claims[issue]?.status;
    return wasKilled && status?.kind === 'running' ? [status.run.runId] : [];
  });
  return reason === 'daemon_died' && new Set(active).size >= 3;
}

/** Over all lives: no number twice, none that goes back, and the store knows the last. */
function numbersGrow({ lives, end }) {
  const found = [];
  const last = new Map();
  const ids = new Set();
  for (const { msg, issue_id: issue, run_number: number, run_id: run } of lives.flatMap(({ lines }) => lines)) {
    if (msg !== 'run started') continue;
    if (number <= (last.get(issue) ?? 0)) found.push(`${issue}: run number ${number} after ${last.get(issue)}`);
    if (ids.has(run)) found.push(`${issue}: run id ${run} twice`);
    ids.add(run);
    last.set(issue, number);
  }
  for (const [issue, number] of last) {
    const stored = end.store?.records[issue]?.runs;
    if (stored !== number) found.push(`${issue}: the last run was number ${number}, the store says ${stored}`);
  }
  return found;
}

function cleanedUp({ end }) {
  const kept = { workspace: end.workspaces, 'note of a half-made workspace': end.creating, trash: end.trash };
  const others = {
    'temporary folder': end.tmp,
    'owner record': end.owners,
    'open run in the store': Object.keys(end.store?.openRuns ?? {}),
  };
  return Object.entries({ ...kept, ...others }).flatMap(([what, names]) =>
    names.map((name) => `left behind, ${what}: ${name}`),
  );
}

function storeWhole({ lives, end }) {
  const stores = [...lives.map(({ after }) => after?.store), end.store].filter((store) => store != null);
  const lost = lives.flatMap(({ lines }) => lines).filter(({ msg }) => msg === 'part of the stored state is lost');
  return [
    ...(end.store === null ? ['there is no store'] : []),
    ...stores
      .filter(({ integrity }) => integrity !== 'ok')
      .map(({ integrity }) => `the store is damaged: ${integrity}`),
    ...stores
      .filter(({ unreadable }) => unreadable > 0)
      .map(({ unreadable }) => `${unreadable} rows of the store are unreadable`),
    ...lost.map(({ detail }) => `stored state was lost: ${detail}`),
  ];
}

function noCrash({ lives }) {
  return lives.flatMap(({ exit, wasKilled, mayRefuse, lines }, index) => {
    const isFine =
      (wasKilled && exit.signal === 'SIGKILL') || exit.code === 0 || (mayRefuse && [1, 2].includes(exit.code));
    const fatal = lines.filter(({ level }) => level === 'fatal');
    return [
      ...(isFine ? [] : [`life ${index + 1} ended with ${exit.code ?? exit.signal}`]),
      ...fatal.map(({ msg, err }) => `life ${index + 1} said: ${msg} (${err?.message})`),
    ];
  });
}

/** The agents are never silent for long, so a reported stall was the daemon's own sleep. */
function noFalseStall({ lives }) {
  return lives
    .flatMap(({ lines }) => lines)
    .filter(({ code, reason }) => code === 'stall_timeout' || reason === 'stalled')
    .map(({ issue_id: issue, msg }) => `${issue} was called stalled: ${msg}`);
}

function workSaved({ plan, end }) {
  if (!plan.withGit) return [];
  const isSaved = (issue) => end.saved.some((name) => name.startsWith(`${issue}@`));
  return [
    ...Object.keys(end.statuses)
      .filter((issue) => !isSaved(issue))
      .map((issue) => `the work of ${issue} was not saved`),
    ...end.saved.filter((name) => name.startsWith('.partial')).map((name) => `half-saved work was left: ${name}`),
  ];
}

function questionKept({ expectParked, parked, broken }) {
  if (expectParked === null || broken !== null) return [];
  const { kind, reason, question } = parked?.status ?? {};
  if (kind === 'parked' && reason === 'input_required' && question) return [];
  return [`${expectParked} asked a person and was not parked with its question: ${kind ?? 'no claim'} ${reason ?? ''}`];
}
