import { useEffect, useState } from 'preact/hooks';

/** One timer for everything on the page that says how long ago something was. It rests while nobody can see it. */
const listeners = new Set<() => void>();
let aheadMs = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** How far the daemon's clock is ahead of this one: times are told by its clock. */
export function setClock(ms: number): void {
  aheadMs = ms;
}

/** By the daemon's clock. */
export function nowMs(): number {
  return Date.now() + aheadMs;
}

/** The value of `compute` at every moment; draws again only when it has become another. */
export function useTicking<T extends string | number | null>(compute: (now: number) => T): T {
  const value = compute(nowMs());
  const [, draw] = useState(0);
  useEffect(() => {
    const look = () => {
      if (compute(nowMs()) !== value) draw((count) => count + 1);
    };
    listeners.add(look);
    arrange();
    return () => {
      listeners.delete(look);
      arrange();
    };
  });
  return value;
}

/** Called once, when the page begins. */
export function rest(isHidden: boolean): void {
  if (isHidden) stop();
  else {
    tick();
    arrange();
  }
}

function tick(): void {
  for (const look of [...listeners]) look();
}

function arrange(): void {
  if (listeners.size === 0 || document.hidden) stop();
  else timer ??= setInterval(tick, 1_000);
}

function stop(): void {
  clearInterval(timer);
  timer = undefined;
}
