import type { IncomingMessage } from 'node:http';

/** Who a connection says it is, or why it is not even asked. */
export type UpgradeRequest = Connection | { readonly kind: 'refused'; readonly status: string };

export interface Connection {
  readonly kind: 'asked';
  readonly token: string;
  readonly sideExecutionId: string;
  readonly threadId: string;
  readonly parentAgentId: string;
}

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;

/** Pure. */
export function readUpgrade(request: Pick<IncomingMessage, 'headers' | 'url' | 'method'>): UpgradeRequest {
  const { host = '', origin } = request.headers;
  // A browser that was led here by another name, or by some page: executors send no origin.
  if (!LOOPBACK.test(host) || origin !== undefined) return { kind: 'refused', status: '403 Forbidden' };
  const url = urlOf(request.url ?? '');
  if (url?.pathname !== '/codebolt') return { kind: 'refused', status: '404 Not Found' };
  const { searchParams } = url;
  if (searchParams.get('IS_SIDE_EXECUTION') !== 'true') return { kind: 'refused', status: '401 Unauthorized' };
  return {
    kind: 'asked',
    token: searchParams.get('threadToken') ?? '',
    sideExecutionId: searchParams.get('SIDE_EXECUTION_ID') ?? '',
    threadId: searchParams.get('THREAD_ID') ?? '',
    parentAgentId: searchParams.get('PARENT_AGENT_ID') ?? '',
  };
}

function urlOf(path: string): URL | null {
  const base = 'ws://127.0.0.1';
  return path.startsWith('/') && !path.startsWith('//') && URL.canParse(path, base) ? new URL(path, base) : null;
}
