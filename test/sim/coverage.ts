/** Every fault that the simulation can cause. A batch in which one of them never occurred proves less than it claims. */
export const FAULTS = [
  // The tracker
  'tracker: request fails',
  'tracker: refuses the login',
  'tracker: rate limit reached',
  'tracker: rate limit told',
  'tracker: names a reset that is over',
  'tracker: announces a change',
  'tracker: slow',
  'tracker: answers too late',
  'tracker: old news',
  'tracker: id unknown',
  'tracker: candidate that a refresh does not know',
  // Agents and hooks
  'agent: finishes its issue',
  'agent: moves its issue elsewhere',
  'agent: works on, issue changed',
  'agent: good run, nothing changed',
  'agent: crashes',
  'agent: turn fails',
  'agent: silent until stopped',
  'agent: chatters',
  'agent: slow to stop',
  'agent: outlives SIGKILL',
  'agent: asks',
  'agent: ends because nobody may answer',
  'agent: spends tokens',
  'agent: service refuses the login',
  'agent: quota with reset',
  'agent: service out of reach',
  'agent: prompt does not parse',
  'agent: speaks after its end',
  'run: another daemon has the issue',
  'run: cannot note down what it begins',
  'run: comments cannot be read',
  'run: comments never come',
  'run: the tracker refuses its comments',
  'run: the tracker limits its comments',
  'agent: the tracker limits the look after its turn',
  'hook: after_create fails',
  'hook: before_run fails',
  'hook: after_run slow',
  'hook: removal fails',
  // The disk
  'store: disk full',
  'store: write fails, but is there',
  'store: slow',
  'disk: low',
  // Time
  'clock: set back',
  'clock: set back a little',
  'clock: jumps forward',
  'machine: sleeps',
  // People
  'people: new issue',
  'people: move',
  'people: edit',
  'people: labels',
  'people: block',
  'people: delete',
  'people: reload of the workflow',
  'operator: pause',
  'operator: resume',
  'operator: stop',
  'operator: retry',
  'operator: answer',
  'operator: message',
  'operator: refresh',
  'operator: shutdown',
  'operator: second signal',
  // The end of a daemon
  'kill: at a random moment',
  'kill: processes survive',
  'kill: processes die with it',
  'kill: survivor goes on working',
  'close: survivor outlives SIGKILL',
] as const;
export type Fault = (typeof FAULTS)[number];

/** Counts how often each fault, kill point and place in the core occurred. */
export class Coverage {
  readonly counts = new Map<string, number>();

  mark(name: Fault | `kill: ${'before' | 'after' | 'at'} ${string}` | `core: ${string}`): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  add(others: Iterable<readonly [string, number]>): void {
    for (const [name, count] of others) this.counts.set(name, (this.counts.get(name) ?? 0) + count);
  }

  missing(names: readonly string[]): string[] {
    return names.filter((name) => !this.counts.has(name));
  }
}
