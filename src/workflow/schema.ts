import { z } from 'zod';
import { CAPABILITY_MODULES, NOTICE_KINDS, type NoticeKind } from '../domain/config.js';

/** Timers take no more; it is 24 days. */
const MAX_MS = 2_147_483_647;

/** Absent and empty (`key:`) are the same: the default. The default shows in the JSON Schema. */
export function setting<T extends z.ZodType, D extends z.output<T> | null>(type: T, fallback: D, description: string) {
  return type
    .nullish()
    .transform((value): NonNullable<z.output<T>> | D => value ?? fallback)
    .meta({ description, ...(fallback === null ? {} : { default: fallback }) });
}

export const positiveInteger = integer(1, Number.MAX_SAFE_INTEGER, 'must be a positive integer');
const countOrZero = integer(0, Number.MAX_SAFE_INTEGER, 'must be a positive integer or 0');
export const milliseconds = integer(1, MAX_MS, `must be a positive integer (milliseconds, at most ${MAX_MS})`);
const millisecondsOrOff = integer(-MAX_MS, MAX_MS, `must be an integer (milliseconds, at most ${MAX_MS})`);
/** Fractions of a second count; 0 is "not set". */
const MAX_SECONDS = Math.floor(MAX_MS / 1000);
const secondsRule = `must be a number of seconds from 0 to ${MAX_SECONDS}`;
const anyNumber = z.number({ error: secondsRule }).min(0, secondsRule).max(MAX_SECONDS, secondsRule);
export const seconds = z.union(
  [
    anyNumber,
    z
      .string({ error: secondsRule })
      .regex(/^\d{1,9}(\.\d{1,6})?$/, secondsRule)
      .transform(Number)
      .pipe(anyNumber),
  ],
  { error: secondsRule },
);
const priceRule = 'must be a number, 0 or more: the price of a million tokens';
const price = z.number({ error: priceRule }).min(0, priceRule);
const clockTime = z
  .string({ error: 'must be a time of the day in quotes, such as "09:00"' })
  .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'must be a time of the day in quotes, such as "09:00"');
const port = integer(0, 65_535, 'must be a port from 0 to 65535');

/** A whole number, also when it is quoted. */
function integer(min: number, max: number, expected: string) {
  const number = z.int({ error: expected }).min(min, expected).max(max, expected);
  const digits = z
    .string({ error: expected })
    .regex(/^-?\d{1,15}$/, expected)
    .transform(Number)
    .pipe(number);
  return z.union([number, digits], { error: expected });
}

/** A NUL can be written in YAML as `"\0"`, and no process or path takes it. */
const textWithoutNul = z
  .string({ error: 'must be text' })
  .refine((value) => !value.includes('\0'), 'must not contain a NUL');

/** What other settings and `${…}` call something by. */
export const identifier = z
  .string({ error: 'must be text' })
  .regex(
    /^[A-Za-z][A-Za-z0-9_-]{0,63}$/,
    'must begin with a letter and have at most 64 letters, digits, `_` and `-` in all',
  );

export const text = textWithoutNul.regex(/\S/, 'must not be empty');

/** Shell text; a blank one is none. */
const script = textWithoutNul.transform((value) => (value.trim() === '' ? null : value));

export const textList = z.array(z.string({ error: 'must be text; put it in quotes' }), {
  error: 'must be a list of texts',
});

/** A list, or the comma-separated text that older Symphony files have. */
const stateList = z
  .union([textList, z.string().transform((value) => value.split(','))], { error: 'must be a list of state names' })
  .transform((states) => states.map((state) => state.trim()).filter((state) => state !== ''));

const trustRule = 'must be members, anyone, or a list of logins';
const trust = z.union([z.enum(['members', 'anyone']), z.array(text, { error: trustRule }).min(1, trustRule)], {
  error: trustRule,
});

export const jsonMap = z.record(z.string(), z.json(), { error: 'must be a map' });

/** What is passed on as it is. */
const textOrMap = z.union([text, jsonMap], { error: 'must be text or a map' });

export function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, { error: `must be one of ${values.join(', ')}` });
}

/** Flat keys of older Symphony files; they are moved into `tracker.provider`. */
export const FLAT_PROVIDER_KEYS = ['endpoint', 'api_key', 'project_slug', 'assignee'] as const;

const flatKey = z.json().optional().meta({ deprecated: true, description: 'Belongs under tracker.provider.' });

const tracker = {
  kind: text.meta({ description: 'Where issues come from.' }),
  provider: setting(jsonMap, {}, 'Settings of the tracker: endpoint, scope, token. $NAME stands for a variable.'),
  active_states: setting(stateList, null, 'States whose issues are worked on.'),
  terminal_states: setting(stateList, null, 'States whose issues are done; their workspaces are removed.'),
  required_labels: setting(textList, [], 'Labels that an issue must all have.'),
  trust: setting(
    trust,
    null,
    'Whose issues are worked on: members, anyone, or a list of logins. Default: members for github and gitlab.',
  ),
  endpoint: flatKey,
  api_key: flatKey,
  project_slug: flatKey,
  assignee: flatKey,
} satisfies Record<(typeof FLAT_PROVIDER_KEYS)[number], z.ZodType> & z.ZodRawShape;

const polling = { interval_ms: setting(milliseconds, 30_000, 'Time between polls.') };

const workspace = {
  root: setting(text, null, 'Folder of the workspaces: ~ and $NAME work; relative to the folder of WORKFLOW.md.'),
  min_free_mb: setting(countOrZero, 2048, 'With less free disk nothing new is started.'),
  keep_days: setting(countOrZero, 14, 'Days that saved leftovers of removed workspaces are kept.'),
};

const hooks = {
  after_create: setting(script, null, 'Shell script, run once in a new workspace.'),
  before_run: setting(script, null, 'Shell script, run before each run.'),
  after_run: setting(script, null, 'Shell script, run after each run.'),
  before_remove: setting(script, null, 'Shell script, run before a workspace is removed.'),
  timeout_ms: setting(milliseconds, 60_000, 'Time limit of each hook.'),
  env_allow: setting(textList, [], 'Variables that hooks get besides those of runtime.env_allow.'),
};

const agent = {
  max_concurrent_agents: setting(positiveInteger, 10, 'Runs at the same time.'),
  max_concurrent_agents_by_state: setting(jsonMap, {}, 'Runs at the same time, by state of the issue.'),
  max_turns: setting(positiveInteger, 20, 'Turns of one run.'),
  max_retry_backoff_ms: setting(milliseconds, 300_000, 'Longest wait before a retry.'),
  max_attempts: setting(countOrZero, 8, 'Consecutive failures before an issue is parked; 0: never.'),
  max_runs_without_progress: setting(countOrZero, 3, 'Runs that change nothing before an issue is parked; 0: never.'),
  max_tokens_per_issue: setting(countOrZero, 10_000_000, 'Token budget of one issue; 0: none.'),
  max_tokens_per_day: setting(countOrZero, 0, 'Token budget of one day; 0: none.'),
  finish_grace_ms: setting(milliseconds, 120_000, 'Time to end a turn after the agent moved its own issue.'),
  input_timeout_ms: setting(milliseconds, 600_000, 'Time that a person has to answer an agent.'),
  on_input_timeout: setting(oneOf(['park', 'decline']), 'park', 'What happens when nobody answers.'),
};

const codex = {
  command: setting(text, 'codex app-server', 'Shell command of the agent, run in the workspace.'),
  approval_policy: setting(
    textOrMap,
    null,
    'Passed on to codex. Default: never; on-request with on_approval_request: ask.',
  ),
  thread_sandbox: setting(textOrMap, 'workspace-write', 'Passed on to codex.'),
  turn_sandbox_policy: setting(
    textOrMap,
    null,
    'Passed on to codex. Default: writes in the workspace and TMPDIR only.',
  ),
  on_approval_request: setting(oneOf(['accept', 'decline', 'ask']), 'decline', 'The answer when codex asks.'),
  turn_timeout_ms: setting(milliseconds, 3_600_000, 'Time limit of one turn.'),
  read_timeout_ms: setting(milliseconds, 5000, 'Time limit of one request to codex.'),
  stall_timeout_ms: setting(millisecondsOrOff, 300_000, 'Silence after which a run is ended; 0 or less: never.'),
};

const server = {
  port: setting(port, null, 'Port of page and API; 0: any free one; absent: off.'),
  host: setting(text, '127.0.0.1', 'Address to listen on.'),
  allowed_hosts: setting(textList, [], 'Further names under which the page may be opened.'),
  token: setting(
    text,
    null,
    'What every request must show, reading ones too: $NAME. Needed for other hosts than loopback.',
  ),
};

const webhooks = {
  port: setting(
    port,
    null,
    'Port on which the tracker may say that something has changed; 0: any free one; absent: off.',
  ),
  host: setting(text, '127.0.0.1', 'Address to listen on for webhooks.'),
  secret: setting(text, null, 'What the tracker signs its webhooks with: $NAME.'),
};

const runtime = {
  env: setting(oneOf(['allowlist', 'inherit']), 'allowlist', 'Which variables agents and hooks get.'),
  env_allow: setting(textList, [], 'Names and globs added to the list.'),
  isolation: setting(oneOf(['auto', 'pidns', 'none']), 'auto', 'How processes of a run are contained.'),
  shutdown_timeout_ms: setting(milliseconds, 30_000, 'Time limit of a shutdown.'),
  backend: setting(oneOf(['http', 'cli', 'auto']), null, 'What agent steps that say `backend: auto` run on.'),
  max_inline_output_bytes: setting(positiveInteger, 65_536, 'Longer texts in the output of a step are cut.'),
};

const store = {
  keep_days: setting(countOrZero, 400, 'Days that records of runs and their tokens are kept; 0: for ever.'),
};

const capabilities = {
  connect_timeout_ms: setting(milliseconds, 30_000, 'Time that a capability executor has to connect.'),
  modules: setting(
    z.array(oneOf(CAPABILITY_MODULES), { error: 'must be a list of modules' }),
    [...CAPABILITY_MODULES],
    'What capability executors may call.',
  ),
};

/** The daily report is for those who ask for it. */
const NOTICES_BY_DEFAULT: readonly NoticeKind[] = ['asking', 'parked', 'hold', 'done'];

const notify = {
  url: setting(text, null, 'Where notices are sent as JSON, with a text as Slack takes it: $NAME or a URL.'),
  command: setting(script, null, 'Shell command that gets each notice as JSON on its stdin.'),
  on: setting(
    z.array(oneOf(NOTICE_KINDS), { error: `must be a list of ${NOTICE_KINDS.join(', ')}` }),
    [...NOTICES_BY_DEFAULT],
    'What to be told about.',
  ),
  report_at: setting(clockTime, '09:00', 'Local time of the daily report.'),
};

const modelPrice = z.looseObject(
  { input: price, cached_input: price.optional(), output: price },
  { error: 'must be a map of prices' },
);

const pricing = {
  currency: setting(text, 'USD', 'What prices are in.'),
  models: setting(
    z.record(z.string(), modelPrice, { error: 'must be a map of models' }),
    {},
    'Prices of a million tokens, by model: input, cached_input, output.',
  ),
};

/** Every section with its keys: one definition for validation, "did you mean" and the JSON Schema. */
export const SECTIONS = {
  ...{ tracker, polling, workspace, hooks, agent, codex, server, runtime, store, capabilities },
  ...{ notify, pricing, webhooks },
};

/** What a run does. Read by `steps/`, with faults of its own; the JSON Schema knows it in full. */
const plan = {
  inputs: z.json().optional(),
  steps: z.json().optional(),
  activities: z.json().optional(),
  executors: z.json().optional(),
  services: z.json().optional(),
};

export const TOP_LEVEL_KEYS: readonly string[] = [...Object.keys(SECTIONS), ...Object.keys(plan)];

/** Unknown keys pass: they are for a later version, or a mistake that is warned about. */
export const frontMatterSchema = z.looseObject({
  tracker: z.looseObject(tracker, { error: 'must be a map with at least `kind`' }),
  polling: section(polling),
  workspace: section(workspace),
  hooks: section(hooks),
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
