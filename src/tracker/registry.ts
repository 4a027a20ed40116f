import type { TrackerConfig } from '../domain/config.js';
import { BatonError } from '../domain/errors.js';
import type { Tracker } from '../domain/ports.js';

/** One kind of tracker that `tracker.kind` can name. */
export interface TrackerEntry {
  readonly kind: string;
  /** Used for states that WORKFLOW.md does not name. */
  readonly defaults: Tracker['defaults'];
  /** Throws `BatonError`: `invalid_tracker_config` or `missing_tracker_secret`. Does not talk to the tracker yet. */
  create(options: TrackerOptions): Tracker;
}

interface TrackerOptions {
  readonly config: TrackerConfig;
  /** The states that count right now: WORKFLOW.md may name others while the tracker lives. */
  states(): Pick<TrackerConfig, 'activeStates' | 'terminalStates'>;
  readonly env: { readonly [name: string]: string | undefined };
  /** The folder of WORKFLOW.md: relative paths of the provider's settings start there. */
  readonly dir: string;
  /** The value of the environment variable `name`; `null` when it is missing or empty. Whatever is read here gets masked in logs. */
  secret(name: string): string | null;
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
