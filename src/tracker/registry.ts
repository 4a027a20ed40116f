import type { TrackerConfig } from '../domain/config.js';
import { BatonError } from '../domain/errors.js';
import type { Tracker } from '../domain/ports.js';
import type { ProgramProcess, TrackerProgram } from './program.js';
import type { VerifyWebhook } from './verify-webhook.js';

/** One kind of tracker that `tracker.kind` can name. */
export interface TrackerEntry {
  readonly kind: string;
  /** Used when WORKFLOW.md does not list the states. */
  readonly defaults: Tracker['defaults'];
  /** Throws `invalid_tracker_config` and `missing_tracker_secret`. Sends no request yet. */
  create(options: TrackerOptions): Tracker | Promise<Tracker>;
  /** Absent when the adapter does not support webhooks. */
  readonly verifyWebhook?: VerifyWebhook;
}

/** What the module of a tracker exports. */
export interface TrackerAdapter extends TrackerEntry {
  create(options: TrackerOptions): Tracker;
}

export interface TrackerOptions {
  readonly config: TrackerConfig;
  /** The current settings. States, labels and trust may change while the tracker is open; the provider may not. */
  settings(): TrackerConfig;
  readonly env: { readonly [name: string]: string | undefined };
  /** The folder of WORKFLOW.md, where relative paths of settings start. */
  readonly dir: string;
  /** The environment variable `name`; `null` when it is missing or empty. Values that are read here are masked in logs. */
  secret(name: string): string | null;
  /** Removes every known secret from a text. */
  mask(text: string): string;
  /** A monotonic clock: adapters measure the age of what they cache with it. */
  nowMs(): number;
  /** Starts a program of the operator in `dir`, contained like a hook. For kinds that have one. */
  start(program: TrackerProgram): Promise<ProgramProcess>;
}

export interface TrackerRegistry {
  readonly kinds: readonly string[];
  /** Throws `unsupported_tracker_kind`. */
  entry(kind: string): TrackerEntry;
}

export function createTrackerRegistry(entries: readonly TrackerEntry[]): TrackerRegistry {
  const byKind = new Map(entries.map((entry) => [entry.kind, entry]));
  const kinds = [...byKind.keys()].sort();
  if (kinds.length < entries.length) {
    throw new BatonError(
      'internal_error',
      `Two tracker adapters have the same kind; the kinds are: ${kinds.join(', ')}.`,
    );
  }
  return {
    kinds,
    entry(kind) {
      const entry = byKind.get(kind);
      if (entry) return entry;
      const message = `tracker.kind "${kind}" is not supported: this build of Baton has no such tracker adapter.`;
      throw new BatonError('unsupported_tracker_kind', `${message} ${advice(kinds)}`, { kind, known: kinds });
    },
  };
}

function advice(kinds: readonly string[]): string {
  if (kinds.length === 0) return 'It has no tracker adapters; install a build that has one.';
  return `Use one of: ${kinds.join(', ')}.`;
}
