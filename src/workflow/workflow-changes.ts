import type { Config } from '../domain/config.js';
import type { Json } from '../domain/json.js';
import type { Workflow } from '../domain/workflow.js';

const RESTART_ONLY =
  /^(tracker\.kind|tracker\.provider\..*|workspace\.root|server\..*|webhooks\..*|runtime\.isolation)$/;

/** What agents may do, and what runs on this machine: a change of these is worth a second look. */
const SECURITY =
  /^(hooks\.(after_create|before_run|after_run|before_remove|env_allow)|codex\.(command|approval_policy|thread_sandbox|turn_sandbox_policy|on_approval_request)|runtime\.(env|env_allow|isolation)|capabilities\.modules|notify\.(url|command)|server\.token|webhooks\.secret|tracker\.(trust|required_labels))$/;

/** Scripts, commands and provider settings may hold secrets: that they changed is told, never what they are. */
const NAME_ONLY =
  /^(hooks\.(after_create|before_run|after_run|before_remove)|codex\.command|tracker\.provider\..*|notify\.(url|command)|server\.token|webhooks\.secret)$/;

/**
 * What of `next` can take effect while the daemon runs. `running` is what is in effect now. A key that needs a restart keeps its
 * running value; another `tracker.kind` keeps the whole tracker section, since states of one tracker mean nothing in another.
 */
export function withoutRestart(running: Workflow, next: Workflow): { effective: Workflow; restartRequired: string[] } {
  const restartRequired = changedKeys(running.config, next.config).filter((key) => RESTART_ONLY.test(key));
  if (restartRequired.length === 0) return { effective: next, restartRequired };
  const isSameKind = running.config.tracker.kind === next.config.tracker.kind;
  const config: Config = {
    ...next.config,
    tracker: isSameKind
      ? { ...next.config.tracker, provider: running.config.tracker.provider }
      : running.config.tracker,
    workspace: { ...next.config.workspace, root: running.config.workspace.root },
    server: running.config.server,
    webhooks: running.config.webhooks,
    runtime: { ...next.config.runtime, isolation: running.config.runtime.isolation },
  };
  // Both: the running provider needs the old names, and the new ones are secrets already.
  const secretNames = [...new Set([...running.secretNames, ...next.secretNames])];
  return { effective: { ...next, config, secretNames }, restartRequired };
}

/** One line for each changed key, for the log: `agent.max_turns: 20 → 30`, `hooks.before_run changed (security)`. */
export function describeChanges(old: Workflow, next: Workflow): string[] {
  const before = settingsOf(old.config);
  const after = settingsOf(next.config);
  const lines = changedKeys(old.config, next.config).map((key) => {
    const change = NAME_ONLY.test(key)
      ? `${key} ${changeWord(before.get(key), after.get(key))}`
      : `${key}: ${show(before.get(key))} → ${show(after.get(key))}`;
    return SECURITY.test(key) ? `${change} (security)` : change;
  });
  if (old.prompt.text !== next.prompt.text) lines.push('prompt changed');
  return [...lines, ...planChanges(old, next)];
}

/** By name only: steps hold code and prompts, services tokens. What runs code is marked. */
function planChanges(old: Workflow, next: Workflow): string[] {
  const changed = (part: (workflow: Workflow) => Json) => canonical(part(old)) !== canonical(part(next));
  return [
    ...(changed(stepsOf) ? ['steps changed (security)'] : []),
    ...(changed(({ plan }) => plan.executors as unknown as Json) ? ['executors changed (security)'] : []),
    ...(changed(({ plan }) => plan.services as unknown as Json) ? ['services changed'] : []),
    ...(changed(({ plan }) => plan.inputs) ? ['inputs changed'] : []),
  ];
}

const PLACES = ['place', 'startLine', 'startColumn', 'isFolded'];

/** The steps without their places, which move with every line above them, and without the prompt below, which is told apart. */
function stepsOf({ plan, prompt }: Workflow): Json {
  if (plan.isImplied) return null;
  const strip = (value: Json): Json => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(strip);
    const kept = Object.entries(value).filter(([key]) => !PLACES.includes(key));
    return Object.fromEntries(
      kept.map(([key, item]) => [key, key === 'text' && item === prompt.text ? null : strip(item)]),
    );
  };
  return strip(plan.steps as unknown as Json);
}

function changedKeys(old: Config, next: Config): string[] {
  const before = settingsOf(old);
  const after = settingsOf(next);
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (key) => canonical(before.get(key)) !== canonical(after.get(key)),
  );
}

/** Every setting under the name that it has in WORKFLOW.md. */
function settingsOf(config: Config): Map<string, Json> {
  const settings = new Map<string, Json>();
  for (const [section, keys] of Object.entries(config as unknown as { [section: string]: { [key: string]: Json } })) {
    for (const [key, value] of Object.entries(keys)) {
      if (key === 'scripts') addAll(settings, section, value);
      else if (key === 'provider') addAll(settings, `${section}.provider`, value);
      else settings.set(`${section}.${snakeCase(key)}`, value);
    }
  }
  return settings;
}

function addAll(settings: Map<string, Json>, prefix: string, values: Json): void {
  for (const [key, value] of Object.entries(values ?? {})) settings.set(`${prefix}.${key}`, value);
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function changeWord(before: Json | undefined, after: Json | undefined): string {
  if (before === undefined || before === null) return 'added';
  return after === undefined || after === null ? 'removed' : 'changed';
}

function show(value: Json | undefined): string {
  const shown = value === undefined || value === null ? 'none' : typeof value === 'string' ? value : canonical(value);
  return shown.length > 200 ? `${shown.slice(0, 197)}…` : shown;
}

/** JSON text that does not depend on the order of keys. */
function canonical(value: Json | undefined): string {
  if (value === undefined) return 'undefined';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`;
}
