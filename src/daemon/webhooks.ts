import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.js';
import type { Config } from '../domain/config.js';
import { BatonError } from '../domain/errors.js';
import type { TrackerEntry } from '../tracker/registry.js';
import { serveWebhooks } from '../tracker/serve-webhooks.js';
import { resolveSecret } from '../workflow/provider-secrets.js';

/** A tracker sends one for every click: several in a row lead to one poll. */
const GATHER_MS = 2_000;
/** Of a busy workspace they come all day, and its quota is for more than polls. */
const APART_MS = 10_000;
/** Whoever knocks all night is told of once in a while. */
const TOLD_EVERY_MS = 60_000;

export interface WebhookParts {
  readonly config: Pick<Config, 'webhooks' | 'tracker'>;
  readonly entry: TrackerEntry;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly log: Logger;
  announce(): void;
}

/** Listens where `webhooks.port` says; `null`: nowhere. Throws `BatonError` when it cannot. */
export async function openWebhooks(parts: WebhookParts): Promise<{ close(): Promise<void> } | null> {
  const { config, entry, clock, log } = parts;
  const settings = webhookSettings(parts);
  if (settings === null) return null;
  let cancel: (() => void) | null = null;
  let announcedAtMs = Number.NEGATIVE_INFINITY;
  let refused = 0;
  let toldAtMs = Number.NEGATIVE_INFINITY;
  const server = await serveWebhooks({
    ...{ kind: entry.kind, host: config.webhooks.host, ...settings },
    nowMs: () => clock.now().wallMs,
    onValid() {
      const sinceMs = clock.now().awakeMs - announcedAtMs;
      cancel ??= clock.after(Math.max(GATHER_MS, APART_MS - sinceMs), () => {
        cancel = null;
        announcedAtMs = clock.now().awakeMs;
        parts.announce();
      });
    },
    onRefused(detail) {
      refused++;
      const { awakeMs } = clock.now();
      if (awakeMs - toldAtMs < TOLD_EVERY_MS) return;
      log.warn({ detail, count: refused }, 'webhook refused');
      toldAtMs = awakeMs;
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

/** `null`: they are off. Throws `invalid_workflow_config`; `baton check` asks, too. */
export function webhookSettings({ config, entry, env }: Pick<WebhookParts, 'config' | 'entry' | 'env'>) {
  const { port, secret } = config.webhooks;
  if (port === null) return null;
  const { kind, verifyWebhook: verify } = entry;
  if (verify !== undefined) return { port, verify, secret: secretOf(secret, env) };
  const message = `webhooks.port is set, and Baton knows no webhooks of ${kind}. Take webhooks out of WORKFLOW.md: polls see every change anyway.`;
  throw new BatonError('invalid_workflow_config', message);
}

function secretOf(written: string | null, env: NodeJS.ProcessEnv): string {
  const value = written === null ? '' : (resolveSecret(written, env)?.trim() ?? '');
  if (value.length >= 16) return value;
  const advice =
    'It is what the tracker signs its webhooks with: take a random one (openssl rand -hex 32), or the one that the tracker gave you.';
  const problem =
    written === null
      ? 'is missing'
      : value === ''
        ? `is ${written}, and that variable is not set`
        : 'has less than 16 characters';
  throw new BatonError('invalid_workflow_config', `webhooks.secret ${problem}. ${advice}`);
}
