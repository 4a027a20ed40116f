/** The top of a chart, a round number above all values, and its grid lines. */
export interface Scale {
  readonly top: number;
  readonly ticks: readonly number[];
}

export function scaleFor(values: readonly number[]): Scale {
  const most = Math.max(0, ...values.filter(Number.isFinite));
  if (most === 0) return { top: 1, ticks: [0] };
  const step = roundStep(most / 2);
  const top = Math.ceil(most / step) * step;
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, at) => at * step);
  return { top, ticks };
}

/** `18 Nov` for `2026-11-18`, without a conversion of time zones. */
export function dayLabel(day: string): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date).toLocaleDateString(undefined, { day: 'numeric', month: 'short' });
}

/** 1, 2 or 5 times a power of ten, at least 1, because charts show whole numbers. */
function roundStep(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, atLeast)));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= atLeast) ?? 10;
  return step * power;
}
