import { randomInt, randomUUID } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import type { ContainedProcess, Containment, SpawnSpec } from '../../../runner/contain/process.js';
import { spawnContained } from '../../../runner/contain/spawn-contained.js';
import type { Clock } from '../../../src/domain/clock.js';
import { at } from '../../support/fake-clock.js';

/** Real time, for tests whose processes take real time. */
export const realClock: Clock = {
  now: () => at(performance.now()),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

export const isRoot = process.geteuid?.() === 0;
export const childScript = (name: string) => fileURLToPath(new URL(`../../support/children/${name}`, import.meta.url));

const detected = await detectContainment({ isolation: 'auto', hide: [], clock: realClock });

/** Set by test/security/every-user.sh where namespaces are forbidden on purpose. */
const isForbidden = process.env.BATON_TEST_NAMESPACES === 'forbidden';
// Tests that need namespaces are skipped without them. In CI that must not count as a success.
const mustHave = Boolean(process.env.CI) && process.platform === 'linux' && !isForbidden;
if (mustHave && detected.kind !== 'pidns')
  throw new Error(`CI must show what namespaces guarantee. ${detected.reason}`);
if (isForbidden && detected.kind !== 'none') throw new Error('namespaces work, although they are to be forbidden');

/** The forms of containment that can be had here; `pidns` is missing where the system does not allow it. */
export const forms: readonly Containment['kind'][] = detected.kind === 'pidns' ? ['pidns', 'none'] : ['none'];

/** A workspace, a state directory with a token, and all that was started in them; gone with `close()`. */
export class Bench {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-contain-')));
  readonly workspace = join(this.root, 'workspace');
  readonly state = join(this.root, 'state');
  /** Found in the command line of every process that a test's children leave. */
  readonly nonce = String(randomInt(100_000_000, 999_999_999));
  readonly marker = randomUUID();
  readonly #started: ContainedProcess[] = [];

  constructor() {
    mkdirSync(this.workspace);
    mkdirSync(this.state);
    writeFileSync(join(this.state, 'token'), 'secret-token');
    // A new home, so that the profile of the user does not change results.
    writeFileSync(join(this.workspace, '.profile'), '');
  }

  containment(isolation: 'auto' | 'pidns' | 'none', clock: Clock = realClock): Promise<Containment> {
    return detectContainment({ isolation, hide: [this.state], clock });
  }

  spec(script: string, changes: Partial<SpawnSpec> = {}): SpawnSpec {
    const { dev, ino } = statSync(this.workspace);
    return {
      marker: this.marker,
      script,
      cwd: this.workspace,
      identity: { dev, ino },
      env: { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: this.workspace },
      unset: [],
      stdin: 'pipe',
      ...changes,
    };
  }

  async spawn(containment: Containment, script: string, changes: Partial<SpawnSpec> = {}): Promise<ContainedProcess> {
    const child = await spawnContained(this.spec(script, changes), containment);
    this.#started.push(child);
    return child;
  }

  /** Runs one of test/support/children and waits until it prints `ready`. */
  async spawnChild(containment: Containment, name: string): Promise<ContainedProcess> {
    const child = await this.spawn(containment, `bash ${childScript(name)} ${this.nonce}`);
    await nextLine(child, 'ready');
    return child;
  }

  living(): readonly number[] {
    return livingWith(this.nonce);
  }

  async close(): Promise<void> {
    await Promise.all(this.#started.map((child) => child.stop({ eofMs: 0, termMs: 0 })));
    // One at a time: the end of one may be the end of others.
    for (let left = this.living(); left.length > 0; left = this.living()) killIfThere(left[0]);
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** Resolves after the child printed this line. Reading continues. */
export function nextLine(child: ContainedProcess, line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
      if (text.includes(`${line}\n`)) resolve();
    });
    child.stdout.once('close', () => reject(new Error(`no line ${line}, only: ${text}`)));
  });
}

/** Living processes with this text in their command line, whatever their environment: a look independent of the product's. */
export function livingWith(text: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => read(`/proc/${pid}/cmdline`).includes(text))
    .filter((pid) => !/\) [ZX] /.test(read(`/proc/${pid}/stat`)))
    .map(Number);
}

function killIfThere(pid = 0): void {
  try {
    if (pid > 1) process.kill(pid, 'SIGKILL');
  } catch {
    // Ended meanwhile.
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return ''; // Ended while we looked.
  }
}
