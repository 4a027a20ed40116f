import type { Logger } from 'pino';
import type { State } from '../orchestrator/state.js';
import type { Clock } from './domain/clock.js';
import { neutraliseJson } from './domain/neutralise.js';
import type { Redactor } from './logging/redact.js';
import type { HttpServer } from './status/http-server.js';
import { issueView } from './status/issue-view.js';
import { snapshotOf } from './status/snapshot.js';
import { whyNotReady } from './status/why-idle.js';

export interface StatusParts {
  readonly server: { readonly host: string; readonly allowedHosts: readonly string[] };
  readonly workflowPath: string;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly log: Logger;
  state(): State;
}

/** The HTTP side of the daemon. Loaded only when asked for: most daemons have no port. */
export async function serveStatus(port: number, parts: StatusParts): Promise<HttpServer> {
  const { startHttp } = await import('./status/http-server.js');
  const http = await startHttp({
    host: parts.server.host,
    port,
    allowedHosts: parts.server.allowedHosts,
    snapshot: () => snapshotOf(parts.state(), parts.clock.now(), parts.workflowPath),
    issue: (identifier) => issueView(parts.state(), parts.clock.now(), identifier),
    notReady: () => whyNotReady(parts.state()),
    clean: (json) => neutraliseJson(parts.redactor.maskJson(json)),
    onError: (error) => parts.log.error({ err: error }, 'status could not be served'),
  });
  parts.log.info({ url: http.url }, 'serving status over HTTP');
  return http;
}
