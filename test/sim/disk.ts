import type { Durable, DurableChange, DurableClaim, Ledger, RunRecord } from '../../src/domain/durable.js';
import { finishedKey } from '../../src/domain/durable.js';
import type { WorkspaceOwner } from '../../src/domain/ports.js';
import { newestDays } from '../support/memory-store.js';

/** The remains of a killed daemon: its state, the workspaces and their owners, and the runs that still need an `after_run`. */
export class Disk {
  durable: Durable = { claims: {}, records: {}, holds: {}, pausedSinceMs: null, ledger: {}, finished: [] };
  /** The last stored change. */
  applied: DurableChange | null = null;
  readonly runs = new Map<string, RunRecord>();
  /** Run records that were closed and are open again. */
  readonly reopened: { readonly was: RunRecord; readonly is: RunRecord }[] = [];
  readonly owners = new Map<string, WorkspaceOwner>();
  /** Existing workspace folders by issue. */
  readonly folders = new Set<string>();
  /** The issues of runs whose `before_run` began and whose `after_run` has not ended. */
  readonly owing = new Map<string, string>();

  apply(change: DurableChange): void {
    const claims: { [id: string]: DurableClaim } = change.full ? {} : { ...this.durable.claims };
    for (const [id, claim] of Object.entries(change.claims)) {
      if (claim === null) delete claims[id];
      else claims[id] = claim;
    }
    const records = change.full ? change.records : { ...this.durable.records, ...change.records };
    const ledger = merged(this.durable.ledger, change.ledger);
    const { holds, pausedSinceMs } = change;
    const isNew = (key: string) => !change.finished.some((one) => finishedKey(one) === key);
    const finished = [...this.durable.finished.filter((one) => isNew(finishedKey(one))), ...change.finished];
    this.durable = { claims, records, holds, pausedSinceMs, ledger, finished };
    this.applied = change;
    for (const record of change.runs) {
      const known = this.runs.get(record.runId);
      if (record.end === null && known?.end) this.reopened.push({ was: known, is: record });
      this.runs.set(record.runId, record);
    }
  }

  /** Goes through JSON, so only serialisable data comes back. */
  load(): Durable {
    const durable = JSON.parse(JSON.stringify(this.durable)) as Durable;
    return { ...durable, ledger: newestDays(durable.ledger) };
  }
}

function merged(known: Ledger, change: Ledger): Ledger {
  const days = Object.entries(change).map(([day, { tokens, issues }]) => {
    return [day, { tokens, issues: { ...known[day]?.issues, ...issues } }] as const;
  });
  return days.length === 0 ? known : { ...known, ...Object.fromEntries(days) };
}
