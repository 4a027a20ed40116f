import { z } from 'zod';
import {
  CAPABILITY_MODULES,
  type Config,
  type HookName,
  NOTICE_KINDS,
  type NoticeKind,
  PATH_ACTIONS,
} from '../domain/config.js';
import { isMap, type Json } from '../domain/json.js';
import {
  clockTime,
  countOrZero,
  cpuWeight,
  declare,
  factsOf,
  jsonMap,
  milliseconds,
  millisecondsOrOff,
  oneOf,
  port,
  positiveInteger,
  price,
  type SettingFacts,
  script,
  setting,
  text,
  textList,
  textOrMap,
  trueOrFalse,
  zeroIsNull,
} from './setting.js';

/*
 * Every setting of WORKFLOW.md, declared once. Validation, the config, "did you mean", the JSON Schema, docs/settings.md, the
 * list of changes that wait until no run is active and the log of changes are derived from these declarations.
 */

/** A list, or the comma-separated text of older Symphony files. */
const stateList = z
  .union([textList, z.string().transform((value) => value.split(','))], { error: 'must be a list of state names' })
  .transform((states) => states.map((state) => state.trim()).filter((state) => state !== ''));

const trustRule = 'must be members, anyone, or a list of logins';
const trust = z.union([z.enum(['members', 'anyone']), z.array(text, { error: trustRule }).min(1, trustRule)], {
  error: trustRule,
});

/** Flat keys of older Symphony files; they are moved into `tracker.provider`. */
export const FLAT_PROVIDER_KEYS = ['endpoint', 'api_key', 'project_slug', 'assignee'] as const;

const flatKey = z.json().optional().meta({ deprecated: true, description: 'Belongs under tracker.provider.' });

const tracker = {
  kind: declare(
    text,
    'Where issues come from: `local`, `github`, `gitlab`, `linear`, `jira`, `redmine` or `command`.',
    { defaultText: 'required', whenIdle: true, security: true },
  ),
  provider: setting(
    jsonMap,
    {},
    'Settings of that tracker, such as its address, project and token. `$NAME` stands for a variable.',
    { whenIdle: true, security: true, hidden: true, eachKey: true },
  ),
  active_states: setting(
    stateList,
    null,
    'States of issues that Baton works on. Case and outer blanks do not matter.',
    { defaultText: 'those of the tracker', security: true },
  ),
  terminal_states: setting(
    stateList,
    null,
    'States of issues that are done; Baton removes their workspaces. A state in both lists is terminal.',
    { defaultText: 'those of the tracker' },
  ),
  required_labels: setting(textList, [], 'Labels that an issue must all have. A blank label matches nothing.', {
    security: true,
  }),
  mentions: setting(
    trueOrFalse,
    false,
    'Whether texts of agents may mention people, command bots (`/approve`, `@dependabot merge`) and close other issues.',
    { security: true },
  ),
  trust: setting(trust, null, 'Whose issues Baton works on: `members`, `anyone`, or a list of logins.', {
    defaultText: '`members` for `github` and `gitlab`, else `anyone`',
    security: true,
  }),
  endpoint: flatKey,
  api_key: flatKey,
  project_slug: flatKey,
  assignee: flatKey,
} satisfies Record<(typeof FLAT_PROVIDER_KEYS)[number], z.ZodType> & z.ZodRawShape;

const polling = { interval_ms: setting(milliseconds, 30_000, 'Time between polls.', { unit: 'ms' }) };

const workspace = {
  root: setting(
    text,
    null,
    'Folder of the workspaces. `~` and `$NAME` work; a relative path starts at the folder of `WORKFLOW.md`.',
    { defaultText: '`~/.local/share/baton/<key>/workspaces`', whenIdle: true, security: true },
  ),
  min_free_mb: setting(countOrZero, 2048, 'No run starts while the disk has less free space. 0: no limit.', {
    unit: 'MB',
  }),
  max_mb: zeroIsNull(
    setting(
      countOrZero,
      20_480,
      'Disk space that the workspace and the TMPDIR of a run may take together. 0: no limit.',
      { unit: 'MB', security: true },
    ),
  ),
  keep_days: setting(countOrZero, 14, 'How long saved work of removed workspaces is kept.', { unit: 'days' }),
};

const hookScript = (when: string) =>
  setting(script, null, `Shell script that runs ${when}.`, { security: true, hidden: true, group: 'scripts' });

const hooks = {
  after_create: hookScript('once in a new workspace'),
  before_run: hookScript('before each run'),
  after_run: hookScript('after each run'),
  before_remove: hookScript('before a workspace is removed'),
  timeout_ms: setting(milliseconds, 60_000, 'Time limit of each hook.', { unit: 'ms' }),
  env_allow: setting(textList, [], 'Variables that hooks get in addition to those of `runtime.env_allow`.', {
    security: true,
  }),
} satisfies Record<HookName, z.ZodType> & z.ZodRawShape;

const delivery = {
  branch: setting(
    text,
    null,
    'Branch that work is pushed to, as a Liquid template with `issue`. Never the default or base branch, nor a branch that Baton did not make.',
    { defaultText: '`baton/<identifier>`', security: true },
  ),
  protected_paths: setting(
    z.record(z.string(), oneOf(PATH_ACTIONS), { error: 'must be a map from paths to ask, allow or leave_out' }),
    {},
    'What happens to changes of a path, added to the built-in rules: `ask` a person, `allow`, or `leave_out` of pushes. Paths are written as in `.gitignore`, also with `{a,b}`; the last match counts.',
    { security: true },
  ),
};

const agent = {
  max_concurrent_agents: setting(positiveInteger, 10, 'Runs at the same time.'),
  max_concurrent_agents_by_state: setting(
    jsonMap,
    {},
    'Runs at the same time by state of the issue, such as `in progress: 2`. An invalid entry is ignored with a warning.',
  ),
  max_turns: setting(positiveInteger, 20, 'Turns of one run.'),
  max_retry_backoff_ms: setting(milliseconds, 300_000, 'Longest wait before a retry.', { unit: 'ms' }),
  max_attempts: setting(countOrZero, 8, 'Consecutive failures after which an issue is parked. 0: never.'),
  max_runs_without_progress: setting(
    countOrZero,
    3,
    'Consecutive runs without a change of the issue after which it is parked. 0: never.',
  ),
  max_tokens_per_issue: zeroIsNull(
    setting(countOrZero, 10_000_000, 'Token budget of one issue. 0: no limit.', { unit: 'tokens' }),
  ),
  max_tokens_per_day: zeroIsNull(setting(countOrZero, 0, 'Token budget of one day. 0: no limit.', { unit: 'tokens' })),
  finish_grace_ms: setting(milliseconds, 120_000, 'Time to finish a turn after the agent has moved its own issue.', {
    unit: 'ms',
  }),
  input_timeout_ms: setting(milliseconds, 600_000, 'How long a run waits for an answer to its question.', {
    unit: 'ms',
  }),
  on_input_timeout: setting(
    oneOf(['park', 'decline']),
    'park',
    'What follows when the answer does not come in time. `park` keeps the question and frees the slot; `decline` declines and goes on.',
  ),
};

const codex = {
  command: setting(text, 'codex app-server', 'Command of the agent, started with `bash -lc` in the workspace.', {
    security: true,
    hidden: true,
  }),
  approval_policy: setting(
    textOrMap,
    null,
    'Passed on to Codex. The default is `on-request` when `on_approval_request` is `ask`.',
    { defaultText: '`never`', security: true },
  ),
  thread_sandbox: setting(
    textOrMap,
    null,
    'Passed on to Codex. With it or `turn_sandbox_policy`, the agent can read what your account can read.',
    { defaultText: 'a permission profile, which restricts reading as well', security: true },
  ),
  turn_sandbox_policy: setting(textOrMap, null, 'Passed on to Codex.', {
    defaultText: "writes in the workspace and the run's TMPDIR only",
    security: true,
  }),
  readable: setting(
    textList,
    [],
    'Further files and folders that the agent may read. `~` and `$NAME` work; a relative path starts at the folder of `WORKFLOW.md`.',
    { security: true },
  ),
  mcp_servers: setting(textList, [], 'MCP servers of your own Codex settings that agents get. The others are off.', {
    security: true,
  }),
  web_search: setting(trueOrFalse, false, 'Lets Codex search the web, by its model service.', { security: true }),
  on_approval_request: setting(
    oneOf(['accept', 'decline', 'ask']),
    'decline',
    'The reply when Codex asks for approval: `accept`, `decline`, or `ask` a person.',
    { security: true },
  ),
  turn_timeout_ms: setting(
    milliseconds,
    3_600_000,
    'Time without any output of the agent after which its turn is ended.',
    { unit: 'ms' },
  ),
  max_turn_ms: setting(milliseconds, null, 'Time limit of one turn, whatever the agent does.', {
    unit: 'ms',
    defaultText: '6 hours, or `turn_timeout_ms` if that is longer',
  }),
  read_timeout_ms: setting(milliseconds, 5000, 'Time limit of one request to Codex.', { unit: 'ms' }),
  stall_timeout_ms: setting(
    millisecondsOrOff,
    300_000,
    'Time without progress after which a run is ended. 0 or less: never.',
    { unit: 'ms' },
  ),
};

const server = {
  port: setting(port, null, 'Port of the page and the API. 0: any free port.', {
    defaultText: 'off',
    whenIdle: true,
    security: true,
  }),
  host: setting(text, '127.0.0.1', 'Address to listen on. Any other than loopback requires `server.token`.', {
    whenIdle: true,
    security: true,
  }),
  allowed_hosts: setting(textList, [], 'Further host names under which the page and the API may be opened.', {
    whenIdle: true,
    security: true,
  }),
  token: setting(
    text,
    null,
    'Token of your own that requests over HTTP may send. It stays the same; the token of the daemon is new at each start.',
    {
      whenIdle: true,
      security: true,
      secret: true,
    },
  ),
};

const runtime = {
  env: setting(
    oneOf(['allowlist', 'inherit']),
    'allowlist',
    'Variables of agents and hooks: those of a list, or `inherit` all.',
    { security: true },
  ),
  env_allow: setting(textList, [], 'Names and globs that are added to the list.', { security: true }),
  isolation: setting(
    oneOf(['auto', 'pidns', 'none']),
    'auto',
    'How the processes of a run are contained: `auto`, `pidns` or `none`.',
    { whenIdle: true, security: true },
  ),
  max_processes: zeroIsNull(
    setting(countOrZero, 4096, 'Processes and threads of a run. 0: no limit.', { security: true }),
  ),
  max_memory_mb: setting(countOrZero, null, 'Memory of a run. 0: no limit.', {
    defaultText: 'three quarters of the memory of the machine',
    unit: 'MB',
    security: true,
  }),
  cpu_weight: setting(
    cpuWeight,
    50,
    'Share of the processor that a run gets when others want it too: 1 to 10000. The daemon has 100.',
    { security: true },
  ),
  shutdown_timeout_ms: setting(milliseconds, 30_000, 'Time limit of a shutdown.', { unit: 'ms' }),
  backend: setting(
    oneOf(['http', 'cli', 'auto']),
    null,
    'What agent steps with `backend: auto` run on: `http`, `cli` or `auto`.',
    { security: true },
  ),
  max_inline_output_bytes: setting(
    positiveInteger,
    65_536,
    'Longer texts in the output of a step are truncated before later steps see them.',
    { unit: 'bytes' },
  ),
};

const store = {
  keep_days: zeroIsNull(
    setting(countOrZero, 400, 'How long records of runs and their tokens are kept. 0: forever.', { unit: 'days' }),
  ),
};

const capabilities = {
  connect_timeout_ms: setting(milliseconds, 30_000, 'How long a capability executor may take to connect.', {
    unit: 'ms',
  }),
  modules: setting(
    z.array(oneOf(CAPABILITY_MODULES), { error: 'must be a list of modules' }),
    [...CAPABILITY_MODULES],
    `What capability executors may call: ${CAPABILITY_MODULES.map((module) => `\`${module}\``).join(', ')}.`,
    { defaultText: 'all six', security: true },
  ),
};

const webhooks = {
  port: setting(port, null, 'Port on which the tracker may announce changes. 0: any free port.', {
    defaultText: 'off',
    whenIdle: true,
    security: true,
  }),
  host: setting(text, '127.0.0.1', 'Address to listen on for webhooks.', { whenIdle: true, security: true }),
  secret: setting(text, null, 'Secret with which the tracker signs its webhooks.', {
    whenIdle: true,
    security: true,
    secret: true,
  }),
};

const DEFAULT_NOTICES: readonly NoticeKind[] = ['asking', 'parked', 'hold', 'done'];

const notify = {
  url: setting(text, null, 'URL that receives notices as JSON, with a `text` as Slack expects it.', {
    security: true,
    secret: true,
  }),
  command: setting(script, null, 'Shell command that gets each notice as JSON on its stdin.', {
    security: true,
    hidden: true,
  }),
  on: setting(
    z.array(oneOf(NOTICE_KINDS), { error: `must be a list of ${NOTICE_KINDS.join(', ')}` }),
    [...DEFAULT_NOTICES],
    'Which notices are sent. There is also `daily_report`.',
  ),
  report_at: setting(clockTime, '09:00', 'Local time of the daily report.'),
};

const modelPrice = z
  .looseObject({ input: price, cached_input: price.optional(), output: price }, { error: 'must be a map of prices' })
  .transform(({ input, cached_input: cachedInput = input, output }) => ({ input, cachedInput, output }));

const pricing = {
  currency: setting(text, 'USD', 'Currency of the prices.'),
  models: setting(
    z.record(z.string(), modelPrice, { error: 'must be a map of models' }),
    {},
    'Prices of a million tokens by model: `{ input: 1.25, cached_input: 0.125, output: 10 }`. `baton report` then shows costs.',
  ),
};

/** Every section with its settings. */
export const SECTIONS = {
  ...{ tracker, polling, workspace, hooks, delivery, agent, codex, server, runtime, store, capabilities },
  ...{ webhooks, notify, pricing },
};

/** What a run does. `steps/` reads these keys and reports their faults. */
const plan = {
  inputs: z.json().optional(),
  steps: z.json().optional(),
  activities: z.json().optional(),
  executors: z.json().optional(),
  services: z.json().optional(),
};

export const TOP_LEVEL_KEYS: readonly string[] = [...Object.keys(SECTIONS), ...Object.keys(plan)];

/** Unknown keys pass the validation and cause a warning: a later version may know them. */
export const frontMatterSchema = z.looseObject({
  tracker: z.looseObject(tracker, { error: 'must be a map with at least `kind`' }),
  polling: section(polling),
  workspace: section(workspace),
  hooks: section(hooks),
  delivery: section(delivery),
  agent: section(agent),
  codex: section(codex),
  server: section(server),
  runtime: section(runtime),
  store: section(store),
  capabilities: section(capabilities),
  webhooks: section(webhooks),
  notify: section(notify),
  pricing: section(pricing),
  ...plan,
});

export type Settings = z.output<typeof frontMatterSchema>;

function section<S extends z.ZodRawShape>(shape: S) {
  const object = z.looseObject(shape, { error: 'must be a map of settings' });
  return object.nullish().transform((value) => value ?? object.parse({}));
}

/** One declared setting. */
export interface Setting extends SettingFacts {
  /** As in WORKFLOW.md: `agent.max_turns`. */
  readonly key: string;
  readonly path: readonly [section: string, name: string];
  /** Where the config holds the value. */
  readonly configPath: readonly string[];
  readonly description: string;
  readonly default: unknown;
}

export const SETTINGS: readonly Setting[] = Object.entries(SECTIONS).flatMap(([section, shape]) =>
  Object.entries<z.ZodType>(shape).flatMap(([name, schema]) => {
    const { description = '', default: fallback = null, deprecated } = schema.meta() ?? {};
    if (deprecated) return [];
    const facts = factsOf(schema);
    const configPath = facts.group === undefined ? [section, camelCase(name)] : [section, facts.group, name];
    const path = [section, name] as const;
    return [{ ...facts, key: `${section}.${name}`, path, configPath, description, default: fallback }];
  }),
);

export function settingValue(config: Config, { configPath }: Setting): Json {
  let value = config as unknown as Json;
  for (const key of configPath) value = isMap(value) ? (value[key] ?? null) : null;
  return value;
}

type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S;

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The settings of each section under the names of the config. */
export type NamedSettings = {
  readonly [S in keyof typeof SECTIONS]: {
    readonly [K in keyof (typeof SECTIONS)[S] & string as CamelCase<K>]: z.output<(typeof SECTIONS)[S][K] & z.ZodType>;
  };
};

export function nameForConfig(settings: Settings): NamedSettings {
  const named = Object.keys(SECTIONS).map((section) => {
    const values = Object.entries(settings[section as keyof typeof SECTIONS]);
    const known = values.filter(([key]) => Object.hasOwn(SECTIONS[section as keyof typeof SECTIONS], key));
    return [section, Object.fromEntries(known.map(([key, value]) => [camelCase(key), value]))];
  });
  return Object.fromEntries(named) as NamedSettings;
}
