import type { RunView } from '../../status/shapes/issue-shape.js';
import { counted, shortCount } from './numbers.js';

/** `3 turns, 120k tokens`: as budgets count them, so what came from a cache is free. */
export function runCost({ turns, tokens }: Pick<RunView, 'turns' | 'tokens'>): string {
  const spent = tokens.input_tokens - tokens.cached_input_tokens + tokens.output_tokens;
  return `${counted(turns, 'turn')}, ${shortCount(spent)} tokens`;
}
