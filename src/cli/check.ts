import { realpath, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import type { Containment } from '../../runner/contain/process.js';
import { findLimitMeans } from '../../runner/contain/run-limits.js';
import { discoverCapabilities } from '../../runner/executors/capability/definitions.js';
import { createClock, type SystemClock } from '../clock.js';
import { assertTrackerAllowed } from '../daemon/workflow-gate.js';
import { ERRORS } from '../domain/error-table.js';
import { BatonError, toBatonError } from '../domain/errors.js';
import { createRedactor, type Redactor } from '../logging/redact.js';
import { defaultLockDir, defaultStateDir } from '../state-dir.js';
import { neutraliseJson } from '../text/neutralise.js';
import { ADAPTERS } from '../tracker/adapters.js';
import { createTrackerRegistry, type TrackerRegistry } from '../tracker/registry.js';
import { frontMatterJsonSchema } from '../workflow/json-schema.js';
import { parseWorkflow } from '../workflow/load-workflow.js';
import { parseFrontMatter } from '../workflow/parse-front-matter.js';
import { readWorkflowFile, type WorkflowFile } from '../workflow/read-workflow-file.js';
import { workflowKey } from '../workflow/workflow-key.js';
import {
  agentFindings,
  isolationFindings,
  profileFindings,
  riskFindings,
  workspaceFindings,
} from './check/agent-findings.js';
import type { CheckContext, WorkflowText } from './check/finding.js';
import { exitCodeOf, type Finding, painter, reporter, type Summary, textOf } from './check/finding.js';
import { hookFindings, syntaxFindings } from './check/hook-findings.js';
import { notifyFindings } from './check/notify-findings.js';
import { postureFindings } from './check/posture.js';
import { programFindings } from './check/sandbox-findings.js';
import { trackerFindings } from './check/tracker-findings.js';
import { loadErrors, loadWarnings, promptFindings, stepFindings } from './check/workflow-findings.js';
import type { Io } from './io.js';
import { shorter } from './io.js';

export interface CheckOptions {
  readonly workflowPath: string;
  readonly json: boolean;
  /** Prints the JSON Schema of the front matter and nothing else. */
  readonly schema: boolean;
  readonly stateDir?: string | undefined;
  /** The value of `--backend`. */
  readonly backend?: string | undefined;
}

interface Outcome {
  readonly findings: Finding[];
  readonly counts: Pick<Summary, 'active' | 'eligible' | 'at_a_time'>;
}

const NOT_COUNTED = { active: null, eligible: null, at_a_time: null };

/**
 * Checks everything that a start needs, and reports all findings at once. Reads the tracker, and starts a few short commands in the
 * environment of agents. Changes nothing.
 */
export async function check(
  options: CheckOptions,
  io: Io,
  registry: TrackerRegistry = createTrackerRegistry(ADAPTERS),
): Promise<number> {
  if (options.schema) {
    io.stdout.write(`${JSON.stringify(frontMatterJsonSchema(registry.kinds), null, 2)}\n`);
    return 0;
  }
  const redactor = createRedactor();
  const clock = createClock();
  try {
    const { findings, counts } = await inspect(options, io, registry, redactor, clock);
    printFindings(findings, counts, options.json, io, redactor);
    return exitCodeOf(findings);
  } finally {
    clock.close();
  }
}

async function inspect(
  options: CheckOptions,
  io: Io,
  registry: TrackerRegistry,
  redactor: Redactor,
  clock: SystemClock,
): Promise<Outcome> {
  const path = resolve(io.cwd, options.workflowPath);
  const name = basename(path);
  const file = shorter(path, io.cwd);
  let source: WorkflowFile;
  let text: WorkflowText;
  try {
    source = await readWorkflowFile(path, io.homeDir);
    text = readText(source, name, file);
  } catch (error) {
    return { findings: loadErrors(error, name, file), counts: NOT_COUNTED };
  }
  const group = await detectContainment({ isolation: 'none', hide: [], clock });
  const findings = [...promptFindings(text), ...(await syntaxFindings(text, resolve(path, '..'), group))];
  try {
    const trackerKinds = new Map(registry.kinds.map((kind) => [kind, registry.entry(kind).defaults]));
    const { env, homeDir } = io;
    const capabilities = (projectDir: string) => discoverCapabilities({ projectDir, homeDir });
    const settings = { env, homeDir, trackerKinds, backendFlag: options.backend, capabilities };
    const loaded = await parseWorkflow(source, settings);
    findings.push(...loadWarnings(loaded.workflow.warnings, name, file));
    for (const secret of loaded.literalSecrets) redactor.add(secret);
    const stateDir = options.stateDir ?? defaultStateDir(await workflowKey(path), io.env, io.homeDir);
    const shared = { ...text, io, loaded, registry, redactor, clock };
    const outcome = await inspectEnvironment(
      { ...shared, containment: group },
      await realPathOrSame(resolve(io.cwd, stateDir)),
    );
    return { findings: [...findings, ...outcome.findings], counts: outcome.counts };
  } catch (error) {
    return { findings: [...findings, ...loadErrors(error, name, file)], counts: NOT_COUNTED };
  }
}

/** Checks the environment of the workflow. Needs valid settings. */
async function inspectEnvironment(base: CheckContext, stateDir: string): Promise<Outcome> {
  const found: Finding[] = [];
  const containment = await findContainment(base, stateDir, found);
  const context = { ...base, containment };
  const [steps, agent, tracker, profiles, workspaces] = await Promise.all([
    stepFindings(context),
    agentFindings(context),
    allowedTrackerFindings(context, stateDir),
    profileFindings(context),
    workspaceFindings(context, stateDir),
  ]);
  const hooks = [...(await hookFindings(context, agent.shell)), ...(await notifyFindings(context))];
  const isolation = found.length > 0 ? found : await isolationFindings(context);
  const posture = postureFindings(context, await findLimitMeans(containment));
  const all = [
    riskFindings(context),
    steps,
    agent.findings,
    agent.shell === null ? [] : programFindings(context, agent.shell),
    tracker.findings,
    hooks,
    isolation,
    profiles,
    workspaces,
    posture,
  ];
  const { maxConcurrentAgents } = base.loaded.workflow.config.agent;
  const { active, eligible } = tracker;
  return { findings: all.flat(), counts: { active, eligible, at_a_time: maxConcurrentAgents } };
}

async function allowedTrackerFindings(context: CheckContext, stateDir: string): ReturnType<typeof trackerFindings> {
  try {
    await assertTrackerAllowed(context.loaded.workflow, stateDir);
  } catch (error) {
    const { code, message } = toBatonError(error);
    const where = context.at(['tracker', 'kind']);
    const finding = reporter('Tracker', context.file)('error', code, where, message, ERRORS[code].action);
    return { findings: [finding], active: null, eligible: null };
  }
  return trackerFindings(context);
}

/** The containment that the daemon would use. If it is required but unavailable, the rest is checked without it. */
async function findContainment(context: CheckContext, stateDir: string, found: Finding[]): Promise<Containment> {
  const { file, at, clock, loaded, containment } = context;
  const isThere = await stat(stateDir).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  try {
    const { isolation } = loaded.workflow.config.runtime;
    const lockDir = defaultLockDir(context.io.env, context.io.homeDir);
    return await detectContainment({ isolation, hide: isThere ? [stateDir] : [], lockDir, clock });
  } catch (error) {
    if (!(error instanceof BatonError)) throw error;
    const where = at(['runtime', 'isolation']);
    found.push(reporter('Isolation', file)('error', error.code, where, error.message, ERRORS[error.code].action));
    return containment;
  }
}

function readText(source: WorkflowFile, name: string, file: string): WorkflowText {
  const frontMatter = parseFrontMatter(source.bytes, name);
  const lines = source.bytes.toString('utf8').split(/\r?\n/);
  return { file, lines, frontMatter, at: (path) => frontMatter.positions.valueAt(path) };
}

function printFindings(
  found: readonly Finding[],
  counts: Outcome['counts'],
  asJson: boolean,
  io: Io,
  redactor: Redactor,
): void {
  const number = (level: Finding['level']) => found.filter((finding) => finding.level === level).length;
  const summary: Summary = { errors: number('error'), warnings: number('warning'), ...counts };
  if (asJson) {
    const json = JSON.stringify({ ok: summary.errors === 0, findings: found, summary });
    io.stdout.write(`${neutraliseJson(redactor.maskJson(json))}\n`);
  } else {
    const paint = painter(io.isTTY && !io.env.NO_COLOR);
    io.stdout.write(redactor.mask(textOf(found, summary, paint)));
  }
}

function realPathOrSame(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}
