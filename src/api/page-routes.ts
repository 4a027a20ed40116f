import type { PageFile, PageFiles } from '../status/page-files.js';
import { type Answer, type Route, refusal } from './route.js';

/** What the page may do: talk to us, and nothing else. */
const PAGE_POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** Whoever may connect may have the page: it holds nothing, and asks for everything itself. */
export function pageRoutes(files: PageFiles): readonly Route[] {
  const routes = [...files].map(([path, file]): Route => {
    return { method: 'GET', path, needs: 'public', answer: () => fileAnswer(path, file) };
  });
  return files.has('/') ? routes : [{ method: 'GET', path: '/', needs: 'public', answer: () => NOT_BUILT }];
}

function fileAnswer(path: string, { type, bytes }: PageFile): Answer {
  // The name of an asset changes with its content.
  const caching = path === '/' ? 'no-cache' : 'public, max-age=31536000, immutable';
  return {
    status: 200,
    text: bytes,
    headers: { 'content-type': type, 'content-security-policy': PAGE_POLICY, 'cache-control': caching },
  };
}

const NOT_BUILT = refusal(503, 'not_built', 'The page was not built: run npm run build. The API is there.');
