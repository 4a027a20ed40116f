import { onTestFinished } from 'vitest';
import type { LiveTimeline } from '../../src/api/activity.js';
import { readPageFiles } from '../../src/api/page-files.js';
import type { StatusSource } from '../../src/api/routes.js';
import type { IssueView, StateView, Stats } from '../../src/api/schemas.js';
import { type HttpServer, startHttp } from '../../src/api/server.js';
import { StateStream } from '../../src/api/stream.js';
import { Core } from '../support/core.js';
import { statusSource } from '../support/status-samples.js';
import { sampleStats, timelineOf } from './sample-issue.js';

export const TOKEN = 'page-test-token';

export interface Script {
  state: StateView;
  /** By identifier. */
  issues: Map<string, (state: StateView) => IssueView>;
  timelines: Map<string, LiveTimeline>;
  stats: Stats;
}

export interface ScriptOptions {
  readonly source?: Partial<StatusSource>;
}

export interface ScriptedServer {
  readonly script: Script;
  readonly url: string;
  /** With the token, as `baton open` prints it. */
  readonly openUrl: string;
  /** Sets the next state of the page. */
  show(state: StateView): void;
  close(): Promise<void>;
  /** The connections break, and the daemon lives on. */
  cut(): Promise<void>;
  /** Again, on the same port. `token`: of a daemon that was started again. */
  reopen(token?: string): Promise<void>;
}

/** The real server of page and API, with scripted data. */
export async function scriptedServer(state: StateView, options: ScriptOptions = {}): Promise<ScriptedServer> {
  const page = await readPageFiles();
  if (!page.has('/')) throw new Error('The page was not built: npm run build.');
  const script: Script = { state, issues: new Map(), timelines: new Map(), stats: sampleStats() };
  let server: HttpServer;
  let stream = streamOf(script);
  const listen = (port: number, token = TOKEN) => {
    const source = statusSource(new Core(), { ...reads(script), stream, page, ...options.source });
    return startHttp({
      host: '127.0.0.1',
      port,
      allowedHosts: [],
      token,
      fixedToken: null,
      source: async () => source,
      onError: source.onError,
    });
  };
  server = await listen(0);
  const { port, url } = server;
  const close = async () => {
    stream.close();
    await server.close();
  };
  onTestFinished(close);
  return {
    script,
    url,
    openUrl: `${url}/#token=${TOKEN}`,
    show(next) {
      script.state = next;
    },
    close,
    async cut() {
      await server.close();
      server = await listen(port);
    },
    async reopen(token) {
      stream = streamOf(script);
      server = await listen(port, token);
    },
  };
}

function streamOf(script: Script): StateStream {
  return new StateStream({
    snapshot: () => script.state,
    timeline: (identifier) => script.timelines.get(identifier) ?? null,
    clean: (json) => json,
    limits: { tickMs: 30 },
  });
}

function reads(script: Script): Partial<StatusSource> {
  return {
    stateText: () => JSON.stringify(script.state),
    issue: async (name) => script.issues.get(name)?.(script.state) ?? null,
    timeline: async (_, runId) => timelineOf(runId ?? '', false),
    stats: async () => script.stats,
  };
}
