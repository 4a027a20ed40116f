import type { TrackerConfig } from '../domain/config.js';
import { BatonError } from '../domain/errors.js';
import type { Tracker } from '../domain/ports.js';
import type { ProgramProcess, TrackerProgram } from './program.js';
import type { VerifyWebhook } from './verify-webhook.js';

/** One kind of tracker that `tracker.kind` can name. */
export interface TrackerEntry {
  readonly kind: string;
  /** Used for states that WORKFLOW.md does not name. */
  readonly defaults: Tracker['defaults'];
  /** Throws `BatonError`: `invalid_tracker_config` or `missing_tracker_secret`. Does not talk to the tracker yet. */
  create(options: TrackerOptions): Tracker;
  /** Absent: Baton knows no webhooks of this kind. */
  readonly verifyWebhook?: VerifyWebhook;
}

export interface TrackerOptions {
  readonly config: TrackerConfig;
  /** The settings in force right now: states, labels and trust may change while the tracker lives, the provider may not. */
  settings(): TrackerConfig;
  readonly env: { readonly [name: string]: string | undefined };
  /** The folder of WORKFLOW.md: relative paths of the provider's settings start there. */
  readonly dir: string;
  /** The value of the environment variable `name`; `null` when it is missing or empty. Whatever is read here gets masked in logs. */
  secret(name: string): string | null;
  /** Takes every known secret out of a text. */
  mask(text: string): string;
  /** A monotonic clock: adapters measure the age of what they cache with it. */
  nowMs(): number;
  /** Starts a program of the operator's, contained, in `dir`. Only for kinds that have one. */
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
      const message = `tracker.kind "${kind}" is not supported: this build of Baton ships no tracker adapter of that name.`;
      throw new BatonError('unsupported_tracker_kind', `${message} ${advice(kinds)}`, { kind, known: kinds });
    },
  };
}

function advice(kinds: readonly string[]): string {
  if (kinds.length === 0) return 'It ships no tracker adapter at all; install a build that has one.';
  return `Use one of: ${kinds.join(', ')}.`;
}
