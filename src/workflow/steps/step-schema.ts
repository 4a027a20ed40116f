import { z } from 'zod';
import type { Backend } from '../../domain/steps/plan.js';
import {
  identifier,
  jsonMap,
  milliseconds,
  oneOf,
  positiveInteger,
  seconds,
  setting,
  text,
  textList,
} from '../setting.js';

const choice = z.union([z.boolean(), text], { error: 'must be an expression in text, or true or false' });
const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not a name of a variable: use letters, digits and `_`');
const textOrNumber = z.union([z.string(), z.number()], { error: 'must be text or a number' }).transform(String);
/** Variables of a process and their values. */
export const variables = z.record(variableName, textOrNumber, { error: 'must be a map of variables' });
const filled = (what: string) => `${what} \`\${…}\` is filled in.`;

const join = z
  .union([z.enum(['all', 'any']), positiveInteger], { error: 'must be all, any or a positive integer' })
  .meta({ description: 'How many must succeed: all, any (one) or a number.' });

const common = {
  id: identifier.meta({ description: 'Names the step in the whole workflow: `${steps.<id>.output}`.' }),
  when: setting(choice, null, 'The step is skipped unless this is true: "${steps.a.output.exit_code} == 0".'),
  output_to: setting(identifier, null, 'Keeps the output under `${state.<name>}` as well.'),
};

const retry = z.strictObject(
  {
    max_attempts: positiveInteger.meta({ description: 'Tries in total.' }),
    initial_backoff_ms: setting(milliseconds, 1_000, 'Wait before the second try.'),
    backoff_cap_ms: setting(milliseconds, 60_000, 'Longest wait.'),
    strategy: setting(oneOf(['exponential', 'linear']), 'exponential', 'How the waits grow.'),
  },
  { error: 'must be a map with at least `max_attempts`' },
);

const action = {
  ...common,
  retry: setting(retry, null, 'Retry after temporary failures.'),
  timeout_s: setting(seconds, null, 'Time limit; 0: that of the executor or service.'),
  idempotency_key: setting(text, null, filled('Steps with the same key run once.')),
};

const degrees = 'must be a number from 0 to 2';
const temperature = z.number({ error: degrees }).min(0, degrees).max(2, degrees);

const kindOf = <K extends string>(kind: K, description: string) => z.literal(kind).meta({ description });

/** The keys of each kind of step. */
export const KIND_SHAPES = {
  agent: {
    ...action,
    kind: kindOf('agent', 'A coding agent in the workspace (cli), or an agent of a service (http).'),
    backend: setting(
      oneOf(['http', 'cli', 'auto']),
      null,
      'Absent: cli. auto: the backend of flag, variable or runtime.backend.',
    ),
    prompt: setting(text, null, 'Liquid. Absent: the text below the front matter.'),
    max_turns: setting(positiveInteger, null, 'cli: turns of this step. Absent: 1.'),
    agent: setting(text, null, 'http: the agent of the service.'),
    input: setting(jsonMap, null, filled('http: input of the agent; absent: its prompt.')),
    strategy: setting(text, null, 'http: passed on to the service.'),
    session: setting(identifier, null, 'http: steps with the same name share one conversation.'),
  },
  external: {
    ...action,
    kind: kindOf('external', 'A program of your own, defined under executors.'),
    executor: text.meta({ description: 'Name of the executor.' }),
    input: setting(jsonMap, {}, filled('Input of the program.')),
    model: setting(text, null, 'Appended to the arguments where the executor has a model_flag.'),
    env_set: setting(variables, {}, filled('Variables for this step.')),
    description: setting(z.string({ error: 'must be text' }), '', 'Passed on to the program.'),
    tools: setting(textList, [], 'Tools that the program may use.'),
    allowed_programs: setting(textList, [], 'Programs that the program may start.'),
    skills: setting(textList, [], 'Files that are passed on, relative to the folder of WORKFLOW.md.'),
    memory: setting(jsonMap, {}, filled('Memory block of the request.')),
    input_schema: setting(jsonMap, {}, 'JSON Schema of the input, passed on to the program.'),
    output_schema: setting(jsonMap, {}, 'JSON Schema of the output, passed on to the program.'),
  },
  capability: {
    ...action,
    kind: kindOf('capability', 'A capability: a skill, a power, … with its executor.'),
    type: text.meta({ description: 'Type of the capability.' }),
    name: text.meta({ description: 'Name of the capability.' }),
    params: setting(jsonMap, {}, filled('Inputs of the capability.')),
  },
  llm: {
    ...action,
    kind: kindOf('llm', 'One request to a language model, by services.gateway.'),
    model: text.meta({ description: 'Name of the model.' }),
    prompt: text.meta({ description: filled('The prompt.') }),
    max_tokens: setting(positiveInteger, null, 'Longest answer.'),
    temperature: setting(temperature, null, 'From 0 to 2.'),
    stop: setting(textList, null, 'Texts that end the answer.'),
  },
  tool: {
    ...action,
    kind: kindOf('tool', 'One call of a tool, by services.tools.'),
    tool: text.meta({ description: 'Name of the tool.' }),
    args: setting(jsonMap, {}, filled('Arguments of the tool.')),
  },
  code: {
    ...action,
    kind: kindOf('code', 'Code in a sandbox, by services.sandbox.'),
    language: text.meta({ description: 'Language of the code.' }),
    source: text.meta({ description: filled('The code. Pass data by stdin or env.') }),
    stdin: setting(z.json(), null, filled('Standard input; JSON unless it is text.')),
    env: setting(variables, {}, filled('Variables of the code.')),
    cwd: setting(text, null, 'Folder in the sandbox.'),
  },
} as const;

export type StepKind = keyof typeof KIND_SHAPES;
export const STEP_KINDS = Object.keys(KIND_SHAPES) as StepKind[];

/** The schema of each kind, as a single step. */
export const KINDS = {
  agent: z.strictObject(KIND_SHAPES.agent),
  external: z.strictObject(KIND_SHAPES.external),
  capability: z.strictObject(KIND_SHAPES.capability),
  llm: z.strictObject(KIND_SHAPES.llm),
  tool: z.strictObject(KIND_SHAPES.tool),
  code: z.strictObject(KIND_SHAPES.code),
};

/** The schema of each kind as an activity: without an id, and the step may add missing keys. */
export const ACTIVITY_KINDS = {
  agent: KINDS.agent.omit({ id: true }).partial().required({ kind: true }),
  external: KINDS.external.omit({ id: true }).partial().required({ kind: true }),
  capability: KINDS.capability.omit({ id: true }).partial().required({ kind: true }),
  llm: KINDS.llm.omit({ id: true }).partial().required({ kind: true }),
  tool: KINDS.tool.omit({ id: true }).partial().required({ kind: true }),
  code: KINDS.code.omit({ id: true }).partial().required({ kind: true }),
};

const list = z.array(z.json(), { error: 'must be a list' });
const items = z.union([list, text], { error: 'must be a list or one `${…}`' });

/** The shapes around inner steps. `step` is any JSON for the reader, which reads inner steps itself, and the full schema for the JSON Schema. */
export function shapesAround(step: z.ZodType) {
  const steps = z
    .array(step, { error: 'must be a list of steps' })
    .min(1, 'must have at least one step')
    .meta({ description: 'Run in order.' });
  const branches = z
    .array(z.union([z.array(step), step]), { error: 'must be a list of steps' })
    .min(1, 'must have at least one step');
  return {
    parallel: z.strictObject({
      ...common,
      parallel: branches.meta({ description: 'Steps, or lists of steps, that run at the same time.' }),
      join: setting(join, 'all', 'How many branches must succeed: all, any (one) or a number.'),
    }),
    fan_out: z.strictObject({
      ...common,
      fan_out: z
        .strictObject(
          {
            items: items.meta({ description: 'A list, or a `${…}` that becomes one. Each entry is `${item}`.' }),
            max_workers: setting(positiveInteger, 4, 'Items at the same time.'),
            steps,
          },
          { error: 'must be a map with `items` and `steps`' },
        )
        .meta({ description: 'The same steps for each item.' }),
      fan_in: z
        .strictObject(
          { join: setting(join, 'all', 'How many items must succeed: all, any (one) or a number.') },
          { error: 'must be a map; `fan_in: {}` waits for every item' },
        )
        .meta({ description: 'How the results are joined; required.' }),
    }),
    loop: z.strictObject({
      ...common,
      loop: z
        .strictObject(
          {
            max_iterations: z
              .int({ error: 'must be an integer from 1 to 1000' })
              .min(1, 'must be an integer from 1 to 1000')
              .max(1000, 'must be an integer from 1 to 1000')
              .meta({ description: 'From 1 to 1000.' }),
            break_when: setting(choice, null, 'Evaluated after each iteration; true ends the loop.'),
            items: setting(items, null, 'A list, or a `${…}` that becomes one: one iteration for each entry.'),
            steps,
          },
          { error: 'must be a map with `max_iterations` and `steps`' },
        )
        .meta({ description: 'The same steps again and again.' }),
    }),
  };
}

export const SHAPES = shapesAround(z.json());
export type ShapeName = keyof typeof SHAPES;

/** Every step has exactly one of these keys. */
export const BODIES = ['kind', 'target', 'parallel', 'fan_out', 'loop'] as const;

const CLI = ['last_message', 'session_id', 'thread_id', 'turns', 'usage', 'stop_reason'];
const HTTP = ['output', 'stop_reason', 'steps'];

const MEMBERS: { readonly [what in Exclude<StepKind | ShapeName, 'agent'>]: readonly string[] | null } = {
  external: ['exit_code', 'duration_ms'],
  llm: ['output', 'model_used', 'usage'],
  code: ['exit_code', 'stdout', 'stderr', 'duration_ms', 'oom', 'killed_reason'],
  loop: ['iterations', 'broke'],
  capability: null,
  tool: null,
  parallel: null,
  fan_out: null,
};

/** The known members of a step's output; null: anything. */
export function outputMembers(what: StepKind | ShapeName, backend: Backend | null): readonly string[] | null {
  if (what !== 'agent') return MEMBERS[what];
  return backend === null ? null : backend === 'http' ? HTTP : CLI;
}

/** Members that exist only when the output was truncated. */
export function isOfCutOutput(member: string): boolean {
  return /^(?:truncated|bytes|preview)$|_truncated$/.test(member);
}
