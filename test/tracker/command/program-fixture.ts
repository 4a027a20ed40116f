import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { startTrackerProgram } from '../../../src/daemon/tracker.js';
import type { TrackerConfig } from '../../../src/domain/config.js';
import { BatonError } from '../../../src/domain/errors.js';
import type { JsonObject } from '../../../src/domain/json.js';
import type { Tracker } from '../../../src/domain/ports.js';
import { shellWord } from '../../../src/domain/shell-word.js';
import { createRedactor } from '../../../src/logging/redact.js';
import { commandTracker } from '../../../src/tracker/command/tracker.js';
import { livingWith, realClock } from '../../runner/contain/workbench.js';
import { config } from '../../support/builders.js';

export const NEVER = new AbortController().signal;

export interface Opened {
  readonly tracker: Tracker;
  /** A line for each start of the program and each question that it read. */
  log(): readonly string[];
  /** Processes of the program that live. */
  living(): number;
}

export interface OpenOptions {
  readonly args?: readonly string[];
  readonly provider?: JsonObject;
  readonly env?: { readonly [name: string]: string };
  readonly settings?: () => Partial<TrackerConfig>;
}

export function programFile(name: string): string {
  return fileURLToPath(new URL(`../../support/trackers/programs/${name}.mjs`, import.meta.url));
}

export function commandOf(name: string, ...args: readonly string[]): string {
  return [process.execPath, programFile(name), ...args].map(shellWord).join(' ');
}

/** The real adapter with a real process, in a folder of its own. Nothing of it may live after the test. */
export function open(name: string, { args = [], provider = {}, env = {}, settings }: OpenOptions = {}): Opened {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-program-')));
  const file = join(dir, 'log');
  const tracker = openCommand(commandOf(name, ...args, dir), {
    dir,
    provider: { env: { LOG: file, ...(provider.env as JsonObject | undefined) }, ...without(provider, 'env') },
    env,
    ...(settings ? { settings } : {}),
  });
  onTestFinished(async () => {
    await tracker.close();
    const left = livingWith(dir);
    rmSync(dir, { recursive: true, force: true });
    expect(left).toEqual([]);
  });
  const log = () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);
  return { tracker, log, living: () => livingWith(dir).length };
}

export interface CommandOptions extends Omit<OpenOptions, 'args'> {
  readonly dir: string;
}

export function openCommand(command: string, { dir, provider = {}, env: own = {}, settings }: CommandOptions): Tracker {
  const env: NodeJS.ProcessEnv = { PATH: process.env.PATH, HOME: dir, ...own };
  const redactor = createRedactor();
  const tracker: TrackerConfig = {
    kind: 'command',
    provider: { command, ...provider },
    ...commandTracker.defaults,
    requiredLabels: [],
    trust: null,
    mentions: false,
  };
  const workflow = { dir, config: config({ tracker }), secretNames: Object.keys(own) };
  return commandTracker.create({
    config: tracker,
    settings: () => ({ ...tracker, ...settings?.() }),
    env,
    dir,
    secret: (name) => {
      const value = env[name] ?? '';
      if (value === '') return null;
      redactor.add(value);
      return value;
    },
    mask: (text) => redactor.mask(text),
    nowMs: () => performance.now(),
    start: async (program) => {
      const containment = await detectContainment({ isolation: 'none', hide: [], clock: realClock });
      return startTrackerProgram(program, { workflow, env, containment });
    },
  });
}

export async function errorOf(promise: Promise<unknown>): Promise<BatonError> {
  const error = await promise.then(
    () => new Error('nothing was thrown'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof BatonError) return error;
  throw error;
}

function without(object: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
}
