import type { HookName } from '../src/domain/config.js';

/** What a hook that fails or runs out of time does to what it belongs to. */
const ON_FAILURE = {
  after_create: 'abort',
  before_run: 'abort',
  after_run: 'ignore',
  before_remove: 'ignore',
} as const satisfies { readonly [name in HookName]: 'abort' | 'ignore' };

/** Otherwise the failure is logged, and nothing else changes. */
export function abortsOnFailure(name: HookName): boolean {
  return ON_FAILURE[name] === 'abort';
}
