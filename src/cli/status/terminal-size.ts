import type { Io } from '../io.js';

const NARROWEST = 40;
/** Eyes do not follow a line over more. */
const WIDEST = 120;
/** Of a pipe or a file. */
const USUAL = 100;

/** Of sentences. */
export function widthOfOutput(io: Pick<Io, 'stdout'>): number {
  return Math.min(WIDEST, columnsOfOutput(io));
}

/** All that is there. */
export function columnsOfOutput({ stdout }: Pick<Io, 'stdout'>): number {
  return Math.max(NARROWEST, stdout.columns ?? USUAL);
}

export function isTerminal({ stdout }: Pick<Io, 'stdout'>): boolean {
  return (stdout as { readonly isTTY?: boolean }).isTTY === true;
}

/** `null` where it is not known. */
export function heightOfOutput({ stdout }: Pick<Io, 'stdout'>): number | null {
  return (stdout as { readonly rows?: number }).rows ?? null;
}
