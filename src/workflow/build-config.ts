import type { Config } from '../domain/config.js';
import { stateKey } from '../domain/issue.js';
import type { Json, JsonObject } from '../domain/json.js';
import type { Positions, Problem } from './positions.js';
import { FLAT_PROVIDER_KEYS, type Settings } from './schema.js';
import { positiveInteger } from './setting-types.js';

/** What an adapter takes for the states when the file names none. */
export interface TrackerDefaults {
  readonly activeStates: readonly string[];
  readonly terminalStates: readonly string[];
}

/** Turns validated settings into the typed config. `warn` gets what is odd but does no harm. */
export function buildConfig(
  settings: Settings,
  root: string,
  defaults: TrackerDefaults,
  positions: Positions,
  warn: (problem: Problem) => void,
): Config {
  const { polling, workspace, hooks, agent, codex, server, runtime, store, capabilities } = settings;
  const { webhooks, notify, pricing } = settings;
  return {
    tracker: trackerConfig(settings.tracker, defaults, positions, warn),
    polling: { intervalMs: polling.interval_ms },
    workspace: { root, minFreeMb: workspace.min_free_mb, keepDays: workspace.keep_days },
    hooks: {
      scripts: {
        after_create: hooks.after_create,
        before_run: hooks.before_run,
        after_run: hooks.after_run,
        before_remove: hooks.before_remove,
      },
      timeoutMs: hooks.timeout_ms,
      envAllow: hooks.env_allow,
    },
    agent: {
      maxConcurrentAgents: agent.max_concurrent_agents,
      maxConcurrentAgentsByState: stateLimits(agent.max_concurrent_agents_by_state, positions, warn),
      maxTurns: agent.max_turns,
      maxRetryBackoffMs: agent.max_retry_backoff_ms,
      maxAttempts: agent.max_attempts,
      maxRunsWithoutProgress: agent.max_runs_without_progress,
      maxTokensPerIssue: agent.max_tokens_per_issue || null,
      maxTokensPerDay: agent.max_tokens_per_day || null,
      finishGraceMs: agent.finish_grace_ms,
      inputTimeoutMs: agent.input_timeout_ms,
      onInputTimeout: agent.on_input_timeout,
    },
    codex: {
      command: codex.command,
      approvalPolicy: codex.approval_policy ?? (codex.on_approval_request === 'ask' ? 'on-request' : 'never'),
      threadSandbox: codex.thread_sandbox,
      turnSandboxPolicy: codex.turn_sandbox_policy,
      onApprovalRequest: codex.on_approval_request,
      turnTimeoutMs: codex.turn_timeout_ms,
      readTimeoutMs: codex.read_timeout_ms,
      stallTimeoutMs: codex.stall_timeout_ms,
    },
    server: { port: server.port, host: server.host, allowedHosts: server.allowed_hosts, token: server.token },
    runtime: {
      env: runtime.env,
      envAllow: runtime.env_allow,
      isolation: runtime.isolation,
      shutdownTimeoutMs: runtime.shutdown_timeout_ms,
      backend: runtime.backend,
      maxInlineOutputBytes: runtime.max_inline_output_bytes,
    },
    store: { keepDays: store.keep_days || null },
    capabilities: { connectTimeoutMs: capabilities.connect_timeout_ms, modules: capabilities.modules },
    webhooks: { port: webhooks.port, host: webhooks.host, secret: webhooks.secret },
    notify: { url: notify.url, command: notify.command, on: notify.on, reportAt: notify.report_at },
    pricing: {
      currency: pricing.currency,
      models: Object.fromEntries(
        Object.entries(pricing.models).map(([model, { input, cached_input = input, output }]) => [
          model,
          { input, cachedInput: cached_input, output },
        ]),
      ),
    },
  };
}

function trackerConfig(
  tracker: Settings['tracker'],
  defaults: TrackerDefaults,
  positions: Positions,
  warn: (problem: Problem) => void,
): Config['tracker'] {
  const activeStates = tracker.active_states ?? defaults.activeStates;
  const terminalStates = tracker.terminal_states ?? defaults.terminalStates;
  const at = positions.valueAt(['tracker', 'active_states']);
  if (activeStates.length === 0) warn({ at, text: 'tracker.active_states is empty: no issue will ever be started' });
  const terminalKeys = new Set(terminalStates.map(stateKey));
  for (const state of activeStates.filter((active) => terminalKeys.has(stateKey(active)))) {
    warn({ at, text: `${JSON.stringify(state)} is both an active and a terminal state; it counts as terminal` });
  }
  return {
    kind: tracker.kind.trim(),
    provider: providerOf(tracker, positions, warn),
    activeStates,
    terminalStates,
    requiredLabels: tracker.required_labels.map((label) => label.trim().toLowerCase()),
    trust: tracker.trust,
  };
}

function providerOf(tracker: Settings['tracker'], positions: Positions, warn: (problem: Problem) => void): JsonObject {
  const provider = new Map<string, Json>(Object.entries(tracker.provider));
  for (const key of FLAT_PROVIDER_KEYS) {
    const flat = tracker[key];
    if (flat === undefined || flat === null) continue;
    if ((provider.get(key) ?? null) === null) provider.set(key, flat);
    else {
      const text = `tracker.${key} has no effect: tracker.provider.${key} is set too`;
      warn({ at: positions.keyAt(['tracker', key]), text });
    }
  }
  return Object.fromEntries(provider);
}

function stateLimits(
  limits: Readonly<Record<string, Json>>,
  positions: Positions,
  warn: (problem: Problem) => void,
): { readonly [state: string]: number } {
  const valid = new Map<string, number>();
  for (const [state, limit] of Object.entries(limits)) {
    const path = ['agent', 'max_concurrent_agents_by_state', state];
    const parsed = positiveInteger.safeParse(limit);
    if (parsed.success && stateKey(state) !== '') valid.set(stateKey(state), parsed.data);
    else {
      const text = `agent.max_concurrent_agents_by_state: ${JSON.stringify(state)} is ignored, its limit must be a positive integer`;
      warn({ at: positions.valueAt(path), text });
    }
  }
  return Object.fromEntries(valid);
}
