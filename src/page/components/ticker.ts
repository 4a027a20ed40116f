import { Component, type ComponentChildren, type FunctionComponent, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** One timer for all relative times on the page. It stops while the page is hidden. */
const listeners = new Set<() => void>();
let aheadMs = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** How far the clock of the daemon is ahead of the clock of the browser. */
export function setClock(ms: number): void {
  aheadMs = ms;
}

/** The current time on the clock of the daemon. */
export function nowMs(): number {
  return Date.now() + aheadMs;
}

/** The current value of `compute`; renders again only when it changes. */
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

/** Called when the page is hidden or shown. */
export function pauseTicker(isHidden: boolean): void {
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

/** A component that renders again only when a property changes, so that long lists stay fast. */
export function memo<P extends object>(render: (props: P) => ComponentChildren, name: string): FunctionComponent<P> {
  class Memo extends Component<P> {
    static override displayName = name;

    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const keys = new Set([...Object.keys(this.props), ...Object.keys(next)]) as Set<keyof P>;
      return [...keys].some((key) => this.props[key] !== next[key]);
    }

    override render() {
      return h(render as FunctionComponent<P>, this.props as P);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
