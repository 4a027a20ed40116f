import type { Logger } from 'pino';
import type { State } from '../orchestrator/state.js';
import { type CapabilityFinder, capabilityApi } from './daemon-capability-api.js';
import type { Clock } from './domain/clock.js';
import type { Workflow } from './domain/config.js';
import { neutraliseJson } from './domain/neutralise.js';
import type { Redactor } from './logging/redact.js';
import type { HttpServer } from './status/http-server.js';
import { issueView } from './status/issue-view.js';
import { snapshotOf } from './status/snapshot.js';
import { whyNotReady } from './status/why-idle.js';
import { workflowFacts } from './status/workflow-facts.js';

export interface StatusParts {
  readonly server: { readonly host: string; readonly allowedHosts: readonly string[] };
  /** Its path: token and address are kept there. */
  readonly stateDir: string;
  /** `null`: there is no `/api/capability`. */
  readonly capabilities: CapabilityFinder | null;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly log: Logger;
  state(): State;
  /** In force now. */
  workflow(): Workflow;
}

/** The HTTP side of the daemon. Loaded only when asked for: most daemons have no port. */
export async function serveStatus(port: number, parts: StatusParts): Promise<HttpServer> {
  const { stateDir, log } = parts;
  const [{ startHttp }, { openHttpToken }, { removeHttpAddress, writeHttpAddress }] = await Promise.all([
    import('./status/http-server.js'),
    import('./status/http-token.js'),
    import('./status/http-address.js'),
  ]);
  const token = await openHttpToken(stateDir, (detail) => log.warn({ detail }, 'HTTP token was replaced by a new one'));
  parts.redactor.add(token);
  const http = await startHttp({
    host: parts.server.host,
    port,
    allowedHosts: parts.server.allowedHosts,
    token,
    snapshot: () => snapshotOf(parts.state(), parts.clock.now(), workflowFacts(parts.workflow())),
    issue: (identifier) => issueView(parts.state(), parts.clock.now(), identifier),
    notReady: () => whyNotReady(parts.state()),
    capabilities: parts.capabilities && capabilityApi(parts.capabilities, () => parts.workflow().dir),
    clean: (json) => neutraliseJson(parts.redactor.maskJson(json)),
    onError: (error) => log.error({ err: error }, 'status could not be served'),
  });
  // Only commands look for it: they say that they found no daemon, and this says why.
  await writeHttpAddress(stateDir, { url: http.url, pid: process.pid }).catch((error: Error) =>
    log.warn({ detail: error.message }, 'HTTP address could not be written down, commands will not find this daemon'),
  );
  log.info({ url: http.url }, 'serving status over HTTP');
  return {
    ...http,
    async close() {
      await removeHttpAddress(stateDir).catch((error: Error) =>
        log.warn({ detail: error.message }, 'HTTP address could not be removed'),
      );
      await http.close();
    },
  };
}
