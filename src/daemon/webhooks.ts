import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.js';
import type { Config } from '../domain/config.js';
import { BatonError } from '../domain/errors.js';
import type { TrackerEntry } from '../tracker/registry.js';
import { serveWebhooks } from '../tracker/serve-webhooks.js';
import { resolveSecret } from '../workflow/secrets.js';

/** A tracker sends a webhook for every click. Webhooks within this time lead to one poll. */
const GATHER_MS = 2_000;
/** The minimum time between two polls: a busy project sends webhooks all day, and polls use up the tracker's quota. */
const MIN_INTERVAL_MS = 10_000;
/** Limits the rate of the warning about rejected requests. */
const WARNING_INTERVAL_MS = 60_000;

export interface WebhookOptions {
  readonly config: Pick<Config, 'webhooks' | 'tracker'>;
  readonly entry: TrackerEntry;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly log: Logger;
  announce(): void;
}

/** Listens on `webhooks.port`. Returns null when it is not set. Throws `BatonError` when the port cannot be used. */
export async function openWebhooks(options: WebhookOptions): Promise<{ close(): Promise<void> } | null> {
  const { config, entry, clock, log } = options;
  const settings = webhookSettings(options);
  if (settings === null) return null;
  let cancel: (() => void) | null = null;
  let announcedAtMs = Number.NEGATIVE_INFINITY;
  let refused = 0;
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  const server = await serveWebhooks({
    ...{ kind: entry.kind, host: config.webhooks.host, ...settings },
    nowMs: () => clock.now().wallMs,
    onValid() {
      const sinceMs = clock.now().awakeMs - announcedAtMs;
      cancel ??= clock.after(Math.max(GATHER_MS, MIN_INTERVAL_MS - sinceMs), () => {
        cancel = null;
        announcedAtMs = clock.now().awakeMs;
        options.announce();
      });
    },
    onRefused(detail) {
      refused++;
      const { awakeMs } = clock.now();
      if (awakeMs - warnedAtMs < WARNING_INTERVAL_MS) return;
      log.warn({ detail, count: refused }, 'webhook refused');
      warnedAtMs = awakeMs;
      refused = 0;
    },
  });
  log.info({ url: server.url }, 'listening for webhooks');
  return {
    async close() {
      cancel?.();
      await server.close();
    },
  };
}

/** Returns null when webhooks are off. Throws `invalid_workflow_config`. `baton check` uses it too. */
export function webhookSettings({ config, entry, env }: Pick<WebhookOptions, 'config' | 'entry' | 'env'>) {
  const { port, secret } = config.webhooks;
  if (port === null) return null;
  const { kind, verifyWebhook: verify } = entry;
  if (verify !== undefined) return { port, verify, secret: secretOf(secret, env) };
  const message = `webhooks.port is set, but Baton does not support webhooks of ${kind}. Remove webhooks from WORKFLOW.md: polls find every change anyway.`;
  throw new BatonError('invalid_workflow_config', message);
}

function secretOf(written: string | null, env: NodeJS.ProcessEnv): string {
  const value = written === null ? '' : (resolveSecret(written, env)?.trim() ?? '');
  if (value.length >= 16) return value;
  const advice =
    'The tracker signs its webhooks with it: use a random one (openssl rand -hex 32), or the one from the tracker.';
  const problem =
    written === null
      ? 'is missing'
      : value === ''
        ? `is ${written}, and that variable is not set`
        : 'has less than 16 characters';
  throw new BatonError('invalid_workflow_config', `webhooks.secret ${problem}. ${advice}`);
}
