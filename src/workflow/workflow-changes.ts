import type { Config } from '../domain/config.js';
import { isMap, type Json } from '../domain/json.js';
import type { Workflow } from '../domain/workflow.js';
import { SETTINGS, type Setting, settingValue } from './schema.js';

/**
 * The part of `next` that can take effect at once. `running` is in effect now. A setting for which the daemon must be opened again keeps
 * its running value. Another `tracker.kind` keeps the whole tracker section, because states of one tracker mean nothing in another.
 */
export function withoutRestart(running: Workflow, next: Workflow): { effective: Workflow; restartRequired: string[] } {
  const changed = changesBetween(running.config, next.config).filter(({ setting }) => setting.restart);
  const restartRequired = changed.map(({ key }) => key);
  if (restartRequired.length === 0) return { effective: next, restartRequired };
  const config: { [section: string]: Json } = structuredClone(asJson(next.config));
  for (const { setting } of changed) assign(config, setting.configPath, settingValue(running.config, setting));
  if (running.config.tracker.kind !== next.config.tracker.kind)
    assign(config, ['tracker'], asJson(running.config.tracker));
  // The running provider still uses the old names, and the new ones are secrets already.
  const secretNames = [...new Set([...running.secretNames, ...next.secretNames])];
  return { effective: { ...next, config: config as unknown as Config, secretNames }, restartRequired };
}

/** One line for each changed setting, for the log: `agent.max_turns: 20 → 30`, `hooks.before_run changed (security)`. */
export function describeChanges(old: Workflow, next: Workflow): string[] {
  const lines = changesBetween(old.config, next.config).map(({ key, setting, before, after }) => {
    const isHidden = setting.hidden || setting.secret;
    const change = isHidden ? `${key} ${changeWord(before, after)}` : `${key}: ${format(before)} → ${format(after)}`;
    return setting.security ? `${change} (security)` : change;
  });
  if (old.prompt.text !== next.prompt.text) lines.push('prompt changed');
  return [...lines, ...planChanges(old, next)];
}

/** Names only: steps hold code and prompts, services hold tokens. Changes of code are marked. */
function planChanges(old: Workflow, next: Workflow): string[] {
  const isChanged = (part: (workflow: Workflow) => Json) => canonical(part(old)) !== canonical(part(next));
  return [
    ...(isChanged(comparableSteps) ? ['steps changed (security)'] : []),
    ...(isChanged(({ plan }) => asJson(plan.executors)) ? ['executors changed (security)'] : []),
    ...(isChanged(({ plan }) => asJson(plan.services)) ? ['services changed'] : []),
    ...(isChanged(({ plan }) => plan.inputs) ? ['inputs changed'] : []),
  ];
}

const POSITION_KEYS = ['place', 'startLine', 'startColumn', 'isFolded'];

/** Without positions, which move with every line above, and without the prompt, whose change is a line of its own. */
function comparableSteps({ plan, prompt }: Workflow): Json {
  if (plan.isImplied) return null;
  const strip = (value: Json): Json => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(strip);
    const compared = Object.entries(value).filter(([key]) => !POSITION_KEYS.includes(key));
    return Object.fromEntries(
      compared.map(([key, item]) => [key, key === 'text' && item === prompt.text ? null : strip(item)]),
    );
  };
  return strip(asJson(plan.steps));
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
    const [before, after] = [settingValue(old, setting), settingValue(next, setting)];
    if (!setting.eachKey || !isMap(before) || !isMap(after)) return [{ key: setting.key, setting, before, after }];
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].map((name) => ({
      key: `${setting.key}.${name}`,
      setting,
      before: before[name] ?? null,
      after: after[name] ?? null,
    }));
  }).filter(({ before, after }) => canonical(before) !== canonical(after));
}

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

function format(value: Json): string {
  const text = value === null ? 'none' : typeof value === 'string' ? value : canonical(value);
  return text.length > 200 ? `${text.slice(0, 197)}…` : text;
}

/** JSON text that does not depend on the order of keys. */
function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`;
}
