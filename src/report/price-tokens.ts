import type { ModelPrice, PricingConfig } from '../domain/config.js';
import type { RunRecord } from '../domain/run-record.js';
import type { TokenTotals } from '../domain/runtime-event.js';
import type { Cost, TokenSums, UnpricedModel } from './report.js';

const PER = 1_000_000;

/**
 * What runs cost. Tokens are added up by model first and priced once: however many runs there are, nothing is lost on the way.
 * `null` where there are no prices.
 */
export function costOf(runs: readonly RunRecord[], pricing: PricingConfig | null): Cost | null {
  if (pricing === null || Object.keys(pricing.models).length === 0) return null;
  let millionths = 0;
  let isPartial = false;
  for (const [model, tokens] of tokensByModel(runs)) {
    const price = priceOf(model, pricing);
    if (price !== null) millionths += priced(tokens, price);
    else isPartial ||= spentAny(tokens);
  }
  return { amount: millionths / PER, isPartial };
}

/** Those that spent something, the most expensive guess first. */
export function unpricedModels(runs: readonly RunRecord[], pricing: PricingConfig | null): UnpricedModel[] {
  if (pricing === null || Object.keys(pricing.models).length === 0) return [];
  return [...tokensByModel(runs)]
    .filter(([model, tokens]) => priceOf(model, pricing) === null && spentAny(tokens))
    .map(([model, tokens]) => ({ model, tokens: tokens.billable }))
    .sort((a, b) => b.tokens - a.tokens || compareNames(a.model, b.model));
}

export function tokensOf(runs: readonly RunRecord[]): TokenSums {
  let [input, cached, output] = [0, 0, 0];
  for (const { tokens } of runs) {
    input += tokens.input;
    cached += cachedOf(tokens);
    output += tokens.output;
  }
  return { input, cached, output, billable: input - cached + output };
}

/** Names in a fixed order of their own, whatever the language of the machine; none comes last. */
export function compareNames(a: string | null, b: string | null): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? 1 : -1;
  return a < b ? -1 : 1;
}

function tokensByModel(runs: readonly RunRecord[]): Map<string | null, TokenSums> {
  const byModel = new Map<string | null, RunRecord[]>();
  for (const run of runs) {
    const known = byModel.get(run.model);
    if (known) known.push(run);
    else byModel.set(run.model, [run]);
  }
  return new Map([...byModel].map(([model, some]) => [model, tokensOf(some)]));
}

function priceOf(model: string | null, { models }: PricingConfig): ModelPrice | null {
  return model !== null && Object.hasOwn(models, model) ? (models[model] ?? null) : null;
}

function priced({ input, cached, output }: TokenSums, price: ModelPrice): number {
  return (input - cached) * price.input + cached * price.cachedInput + output * price.output;
}

function spentAny({ input, output }: TokenSums): boolean {
  return input > 0 || output > 0;
}

/** A part is no more than the whole, whatever an agent counts. */
function cachedOf({ cached, input }: TokenTotals): number {
  return Math.min(cached, input);
}
