import type { Config } from '../domain/config.js';
import { assertNever, isMap, type Json } from '../domain/json.js';
import type { Action, Step } from '../domain/steps/plan.js';
import type { Workflow } from '../domain/workflow.js';
import { SETTINGS, type Setting, settingValue } from './schema.js';

/**
 * The part of `next` that can take effect at once. `running` is in effect now. A setting for which the daemon must be opened again keeps
 * its running value. Another `tracker.kind` keeps the whole tracker section, because states of one tracker mean nothing in another.
 */
export function effectiveNow(running: Workflow, next: Workflow): { effective: Workflow; waitingKeys: string[] } {
  const changed = changesBetween(running.config, next.config).filter(({ setting }) => setting.whenIdle);
  const waitingKeys = changed.map(({ key }) => key);
  if (waitingKeys.length === 0) return { effective: next, waitingKeys };
  const config: { [section: string]: Json } = structuredClone(asJson(next.config));
  for (const { setting } of changed) assign(config, setting.configPath, settingValue(running.config, setting));
  if (running.config.tracker.kind !== next.config.tracker.kind)
    assign(config, ['tracker'], asJson(running.config.tracker));
  // The running provider still uses the old names, and the new ones are secrets already.
  const secretNames = [...new Set([...running.secretNames, ...next.secretNames])];
  return { effective: { ...next, config: config as unknown as Config, secretNames }, waitingKeys };
}

/** One line for each changed setting, for the log: `agent.max_turns: 20 → 30`, `hooks.before_run changed (security)`. */
export function describeChanges(old: Workflow, next: Workflow): string[] {
  const lines = changesBetween(old.config, next.config).map(({ key, setting, before, after }) => {
    const isHidden = setting.hidden || setting.secret;
    const change = isHidden
      ? `${key} ${changeWord(before, after)}`
      : `${key}: ${formatValue(before)} → ${formatValue(after)}`;
    return setting.security ? `${change} (security)` : change;
  });
  if (old.prompt.text !== next.prompt.text) lines.push('prompt changed');
  return [...lines, ...planChanges(old, next)];
}

/** Names only: steps hold code and prompts, services hold tokens. All of them decide what runs. */
function planChanges(old: Workflow, next: Workflow): string[] {
  const [before, after] = [planParts(old), planParts(next)];
  return Object.keys(before)
    .filter((part) => canonical(before[part] ?? null) !== canonical(after[part] ?? null))
    .map((part) => `${part} changed (security)`);
}

/** What a plan consists of, as it is compared. */
export function planParts({ plan, prompt, files = {} }: Workflow): { readonly [part: string]: Json } {
  return {
    steps: plan.isImplied ? null : comparableSteps(plan.steps, prompt.text),
    executors: asJson(plan.executors),
    services: asJson(plan.services),
    inputs: plan.inputs,
    'files that it runs': { ...files },
  };
}

/** Without positions, which move with every line above, and without the prompt, whose change is a line of its own. */
function comparableSteps(steps: readonly Step[], body: string): Json {
  return steps.map(({ place: _, ...step }): Json => {
    switch (step.shape) {
      case 'action':
        return { ...asJson(step), action: comparableAction(step.action, body) };
      case 'parallel':
        return { ...asJson(step), branches: step.branches.map((branch) => comparableSteps(branch, body)) };
      case 'fan_out':
      case 'loop':
        return { ...asJson(step), steps: comparableSteps(step.steps, body) };
      default:
        return assertNever(step);
    }
  });
}

function comparableAction(action: Action, body: string): Json {
  if (action.kind !== 'agent') return asJson(action);
  const { text } = action.prompt;
  return { ...asJson(action), prompt: text === body ? null : text };
}

interface SettingChange {
  /** Names the entry of a map whose keys the user chooses: `tracker.provider.token`. */
  readonly key: string;
  readonly setting: Setting;
  readonly before: Json;
  readonly after: Json;
}

function changesBetween(old: Config, next: Config): SettingChange[] {
  return SETTINGS.flatMap((setting) => {
    const [before, after] = [entriesOf(old, setting), entriesOf(next, setting)];
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].map((key) => ({
      key,
      setting,
      before: before[key] ?? null,
      after: after[key] ?? null,
    }));
  }).filter(({ before, after }) => canonical(before) !== canonical(after));
}

/** The value of a setting under its key, or each entry of a map whose keys the user chooses. */
export function entriesOf(config: Config, setting: Setting): { readonly [key: string]: Json } {
  const value = settingValue(config, setting);
  if (!setting.eachKey || !isMap(value)) return { [setting.key]: value };
  const entries = Object.entries(value).map(([name, one]): [string, Json] => [`${setting.key}.${name}`, one ?? null]);
  // Symphony's flat form switches the raw tool on, although the provider has the same settings then.
  if (setting.key === PROVIDER && config.tracker.isFlatForm) entries.push([`${PROVIDER}.raw_tool (flat form)`, true]);
  return Object.fromEntries(entries);
}

const PROVIDER = 'tracker.provider';

function assign(target: { [key: string]: Json }, path: readonly string[], value: Json): void {
  const [key = '', ...inner] = path;
  if (inner.length === 0) target[key] = value;
  else assign(target[key] as { [key: string]: Json }, inner, value);
}

/** Config and plan are plain JSON. */
function asJson<T extends object>(value: T): { [key: string]: Json } {
  return value as { [key: string]: Json };
}

function changeWord(before: Json, after: Json): string {
  if (before === null) return 'added';
  return after === null ? 'removed' : 'changed';
}

/** A value in one short line. */
export function formatValue(value: Json): string {
  const text = value === null ? 'none' : typeof value === 'string' ? value : canonical(value);
  return text.length > 200 ? `${text.slice(0, 197)}…` : text;
}

/** JSON text that does not depend on the order of keys. */
export function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`;
}
