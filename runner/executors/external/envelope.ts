import type { Writable } from 'node:stream';
import { type Clock, TimeLimit } from '../../../src/domain/clock.js';
import { BatonError } from '../../../src/domain/errors.js';
import type { Issue } from '../../../src/domain/issue.js';
import type { Json, JsonObject } from '../../../src/domain/json.js';
import {
  type Action,
  type ActionStep,
  allSteps,
  type ExternalAction,
  type Step,
} from '../../../src/domain/steps/plan.js';
import type { ContainedProcess, InputPipe } from '../../contain/process.js';
import type { StepFacts } from '../executor.js';
import { nonBlank } from './spawn-request.js';

/**
 * The JSON that an executor reads from stdin, version 1. Optional members may be added; a changed meaning needs version 2.
 */
export interface Envelope {
  readonly schemaVersion: 1;
  readonly activity: {
    readonly id: string;
    readonly spec_type: 'external';
    readonly description: string;
    readonly input_schema_json: JsonObject;
    readonly output_schema_json: JsonObject;
    readonly spec_config: JsonObject;
  };
  readonly input: JsonObject;
  readonly skills: readonly Skill[];
  readonly memory: JsonObject;
  readonly job?: Job;
  readonly task?: Task;
}

export interface Skill {
  /** The path as written in the step. */
  readonly id: string;
  /** SHA-256 of the file, in hex. */
  readonly content_hash: string;
  readonly content: string;
  /** The front matter of the file, if it has one. */
  readonly meta?: JsonObject;
}

interface Job {
  readonly id: string;
  readonly state: 'running';
  readonly steps: readonly JobStep[];
}

interface JobStep {
  readonly target_type: 'activity';
  readonly target_id: string;
  /** The executor of the step: an external one by its name, an agent service by the id of the agent, others by their kind. */
  readonly agent_cli: string;
  readonly model?: string;
  readonly timeout_seconds?: number;
}

interface Task {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly acceptance_criteria: readonly string[];
  readonly plan: string;
  readonly context_files: readonly string[];
  readonly external_refs: readonly { readonly system: string; readonly id: string }[];
  readonly workspace_path: string;
  readonly repo_root: string | null;
}

type EnvelopeStep = Pick<StepFacts, 'id' | 'timeoutMs' | 'idempotencyKey'>;

export interface EnvelopeInput {
  readonly step: EnvelopeStep;
  readonly action: ExternalAction;
  readonly skills: readonly Skill[];
  /** `null` outside a run. */
  readonly job: Job | null;
  /** `null` when the input names no task. */
  readonly task: Task | null;
}

export function buildEnvelope({ step, action, skills, job, task }: EnvelopeInput): Envelope {
  return {
    schemaVersion: 1,
    activity: {
      id: step.id,
      spec_type: 'external',
      description: action.description,
      input_schema_json: action.inputSchema,
      output_schema_json: action.outputSchema,
      spec_config: specConfigOf(action, step),
    },
    input: action.input,
    skills,
    memory: action.memory,
    ...(job === null ? {} : { job }),
    ...(task === null ? {} : { task }),
  };
}

/** The configuration of a step as an activity has it, without what the envelope has elsewhere. Pure. */
function specConfigOf(action: ExternalAction, { timeoutMs, idempotencyKey }: EnvelopeStep): JsonObject {
  return {
    executor: action.executor,
    ...(nonBlank(action.model) === null ? {} : { model: action.model }),
    ...(timeoutMs === null ? {} : { timeout_seconds: timeoutMs / 1000 }),
    ...(idempotencyKey === null ? {} : { idempotency_key: idempotencyKey }),
    tools: [...action.tools],
    allowed_programs: [...action.allowedPrograms],
    skills: [...action.skills],
    env_set: { ...action.envSet },
  };
}

/** The run with all its steps in the order of the file. Pure. */
export function jobOf(runId: string, steps: readonly Step[]): Job {
  const actions = [...allSteps(steps)].filter((step) => step.shape === 'action');
  return { id: runId, state: 'running', steps: actions.map(jobStep) };
}

export function jobStep({ id, action, timeoutMs }: Pick<ActionStep, 'id' | 'action' | 'timeoutMs'>): JobStep {
  const model = 'model' in action ? nonBlank(action.model) : null;
  return {
    target_type: 'activity',
    target_id: id,
    agent_cli: executorName(action),
    ...(model === null ? {} : { model }),
    ...(timeoutMs === null ? {} : { timeout_seconds: timeoutMs / 1000 }),
  };
}

function executorName(action: Action): string {
  if (action.kind === 'external') return action.executor;
  if (action.kind !== 'agent') return action.kind;
  return action.backend === 'cli' ? 'codex' : action.agent;
}

interface TaskFacts {
  readonly issue: Issue;
  readonly trackerKind: string;
  readonly workspace: string;
}

/** The task that `input.task_id` names. It must be the issue of the run. Throws `AGENT_INVOCATION_FAILED`. */
export function taskOf(input: JsonObject, { issue, trackerKind, workspace }: TaskFacts): Task | null {
  const named = taskName(Object.hasOwn(input, 'task_id') ? (input.task_id ?? null) : null);
  if (named === null) return null;
  if (named !== issue.id && named !== issue.identifier) {
    const shown = JSON.stringify(named.slice(0, MAX_SHOWN_CHARS));
    const message = `input.task_id is ${shown}, but the task of this run is ${issue.identifier}: use "\${issue.id}", or leave task_id out`;
    throw new BatonError('AGENT_INVOCATION_FAILED', message);
  }
  return {
    id: issue.id,
    title: issue.title,
    description: issue.description ?? '',
    acceptance_criteria: [],
    plan: '',
    context_files: [],
    external_refs: [{ system: trackerKind, id: issue.identifier }],
    workspace_path: workspace,
    repo_root: null,
  };
}

const MAX_SHOWN_CHARS = 200;

/** YAML reads `task_id: 7` as a number. Other values that are not text match no task. */
function taskName(value: Json): string | null {
  const text = typeof value === 'string' ? value.trim() : value === null ? '' : JSON.stringify(value);
  return text === '' ? null : text;
}

/** Only a process that escaped the stop can still hold the other end of the pipe. */
const SETTLE_MS = 1_000;

/**
 * Writes an envelope to the stdin of a child. A child that does not read can neither block nor break the daemon. `wasRead` reports
 * whether the child read all of it; call it when the process tree is gone. Where stdin is no pipe, only an envelope larger than the
 * buffer of the system is detected as unread.
 */
export class EnvelopePipe {
  readonly #pipe: Writable;
  readonly #input: InputPipe | null;
  readonly #closed: Promise<void>;
  #isWritten = false;
  #isBroken = false;

  constructor({ stdin, input }: Pick<ContainedProcess, 'stdin' | 'input'>) {
    const pipe = input?.writable ?? stdin;
    if (pipe === null) throw new BatonError('internal_error', 'an executor was started without a stdin');
    this.#pipe = pipe;
    this.#input = input ?? null;
    this.#closed = new Promise((resolve) => void pipe.once('close', resolve));
    // EPIPE, ECONNRESET: the child closed its end and left bytes unread.
    pipe.on('error', () => {
      this.#isBroken = true;
    });
  }

  write(bytes: Buffer): void {
    if (!this.#isBroken) this.#pipe.write(bytes);
  }

  /** Writes the last bytes and ends the stream. */
  end(bytes: Buffer): void {
    if (this.#isBroken) return;
    // Do not wait for 'finish': a child that read everything may have exited before the end of the stream could be sent.
    this.#pipe.write(bytes, (error?: Error | null) => {
      this.#isWritten = !error;
    });
    this.#pipe.end();
  }

  async wasRead(clock: Clock): Promise<boolean> {
    if (this.#input?.hasUnread()) return false;
    const limit = new TimeLimit(clock, SETTLE_MS);
    await limit.race(this.#closed);
    limit.end();
    return this.#isWritten && !this.#isBroken && !this.#input?.hasUnread();
  }

  /** Drops the bytes that the child did not read. */
  close(): void {
    this.#pipe.destroy();
    this.#input?.close();
  }
}
