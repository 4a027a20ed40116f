import { randomUUID } from 'node:crypto';

/** `cap_<timestamp>_<uuid8>` for capabilities, `side_…` for the process behind them. */
export function executionId(kind: 'cap' | 'side', wallMs: number): string {
  return `${kind}_${Math.floor(wallMs)}_${randomUUID().slice(0, 8)}`;
}
