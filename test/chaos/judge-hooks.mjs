/** The laws about hooks, judged by the marks that the hooks wrote. */
export function judgeHooks(evidence) {
  return [...afterRunOnce(evidence), ...removedAfterRun(evidence), ...createdOnce(evidence)];
}

/** A run whose before_run began gets its after_run: in its own life, or once in the next life as interrupted. */
function afterRunOnce({ marks, lives, point }) {
  const found = [];
  const given = givenUp(lives, point);
  const runs = new Map(
    marks.filter(({ what, where }) => what === 'begin' && where === 'before_run').map((mark) => [mark.run, mark]),
  );
  for (const [run, began] of runs) {
    const ofHook = marks.filter((mark) => mark.run === run && mark.where === 'after_run');
    if (!ofHook.some(({ what }) => what === 'end') && !given.has(run))
      found.push(`${began.issue}: after_run of ${run} never came to its end`);
    const seenIn = new Set();
    let ended = null;
    for (const mark of ofHook) {
      const life = lifeAt(lives, mark.atMs);
      if (mark.what === 'end') ended = life;
      if (mark.what !== 'begin') continue;
      if (seenIn.has(life)) found.push(`${began.issue}: after_run of ${run} twice in one life`);
      seenIn.add(life);
      if (life !== lifeAt(lives, began.atMs) && mark.outcome !== 'interrupted')
        found.push(`${began.issue}: after_run of ${run} in a later life was told "${mark.outcome}"`);
      // It ended, but the daemon was killed before it could record that. Only then it runs once more.
      if (ended !== null && !isOpenIn(ended.after?.store, began.issue, run))
        found.push(`${began.issue}: after_run of ${run} again, though it had ended`);
    }
  }
  return found;
}

function isOpenIn(store, issue, run) {
  return store?.claims[issue]?.status.run?.runId === run || store?.openRuns[run] !== undefined;
}

/** A workspace goes only after every after_run that is owed in it. */
function removedAfterRun({ marks, lives, point }) {
  const owed = new Map();
  const given = givenUp(lives, point);
  return marks.flatMap(({ what, where, issue, run }) => {
    if (what === 'begin' && where === 'before_run') owed.set(issue, run);
    if (what === 'end' && where === 'after_run' && owed.get(issue) === run) owed.delete(issue);
    const isEarly = what === 'begin' && where === 'before_remove' && owed.has(issue) && !given.has(owed.get(issue));
    return isEarly ? [`${issue}: its workspace was being removed before after_run of ${owed.get(issue)}`] : [];
  });
}

/** after_create runs until it has succeeded once, and not again. */
function createdOnce({ marks, lives }) {
  const found = [];
  const created = new Map();
  const cancelled = unfinished(lives, 'after_create');
  for (const { what, where, issue, run, atMs } of marks) {
    if (where === 'after_create' && what === 'begin') {
      const before = created.get(issue);
      // Its end may have come too late to be noted, or after the daemon had given it up.
      const isNoted = before?.life.after && !before.life.after.creating.includes(issue) && !cancelled.has(before.run);
      if (isNoted) found.push(`${issue}: after_create again, though it had ended`);
      created.delete(issue);
    }
    if (where === 'after_create' && what === 'end') created.set(issue, { run, life: lifeAt(lives, atMs) });
    if (where === 'before_run' && what === 'begin' && !created.has(issue))
      found.push(`${issue}: before_run without a finished after_create`);
  }
  return found;
}

/** Without file descriptors no hook can start; the daemon logs that and continues. */
function givenUp(lives, point) {
  return point === 'out_of_files' ? unfinished(lives, 'after_run') : new Set();
}

/** Runs whose hook failed according to the log. */
function unfinished(lives, hook) {
  const lines = lives.flatMap((life) => life.lines);
  return new Set(
    lines.filter((line) => line.msg === 'hook did not finish well' && line.hook === hook).map((line) => line.run_id),
  );
}

function lifeAt(lives, atMs) {
  return lives.findLast(({ startedAtMs }) => startedAtMs <= atMs) ?? lives[0];
}
