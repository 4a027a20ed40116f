import { fullCount, shareOf, shortCount } from '../model/numbers.js';

interface Budget {
  readonly spent: number;
  readonly limit: number | null;
}

/** What is spent of what may be; without a cap only the number. */
export function BudgetBar({ budget, unit = 'tokens' }: { readonly budget: Budget; readonly unit?: string }) {
  const share = shareOf(budget);
  const { spent, limit } = budget;
  const full = limit === null ? `${fullCount(spent)} ${unit}` : `${fullCount(spent)} of ${fullCount(limit)} ${unit}`;
  return (
    <span class="budget" title={full}>
      <span class="budget-text">
        {shortCount(spent)}
        {limit === null ? '' : ` of ${shortCount(limit)}`} {unit}
      </span>
      {share === null ? null : <Bar share={share} />}
    </span>
  );
}

/** Only an echo of numbers that stand beside it as text. */
export function Bar({ share, isHarmless = false }: { readonly share: number; readonly isHarmless?: boolean }) {
  const tone = isHarmless || share < 0.8 ? 'bar' : share < 0.95 ? 'bar bar-warn' : 'bar bar-bad';
  return (
    <svg class={tone} viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
      <rect class="bar-back" width="100" height="1" />
      <rect class="bar-fill" width={share === 0 ? 0 : Math.max(1, share * 100)} height="1" />
    </svg>
  );
}
