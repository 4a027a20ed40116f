import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { tokenIn } from '../live/access-token.js';
import { isSameRoute, issueHref, parseRoute, type Route } from '../model/route.js';

/** Where on the page one is. Whoever comes back to the board finds the place again where they left it. */
export function useRoute(onToken: () => void): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  const left = useRef<{ readonly scrollY: number; readonly identifier: string } | null>(null);
  const tokenCame = useRef(onToken);
  tokenCame.current = onToken;
  // At once: an address that changes before the first picture is an address too.
  useLayoutEffect(() => {
    const look = () => {
      // A new address of `baton open` in a page that is open already.
      if (tokenIn(location.hash) !== null) tokenCame.current();
      const next = parseRoute(location.hash);
      setRoute((before) => {
        if (isSameRoute(before, next)) return before;
        if (before.name === 'board' && next.name === 'issue') {
          left.current = { scrollY: window.scrollY, identifier: next.identifier };
        }
        return next;
      });
    };
    window.addEventListener('hashchange', look);
    return () => window.removeEventListener('hashchange', look);
  }, []);
  useEffect(() => {
    if (route.name !== 'board' || left.current === null) return;
    const { scrollY, identifier } = left.current;
    left.current = null;
    window.scrollTo(0, scrollY);
    const link = document.querySelector<HTMLElement>(`a[href="${CSS.escape(issueHref(identifier))}"]`);
    (link ?? document.querySelector<HTMLElement>('h1'))?.focus({ preventScroll: true });
  }, [route]);
  return route;
}
