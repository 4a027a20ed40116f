import { resolve } from 'node:path';
import { promptValues } from '../../runner/run-prompts.js';
import { checkWorkspaceRoot } from '../../runner/workspace/workspace-root.js';
import { createWorkspaces } from '../../runner/workspace/workspaces.js';
import { compilePrompt } from '../../templates/render-prompt.js';
import { createClock, type SystemClock } from '../clock.js';
import { commandHost, openTracker } from '../daemon/tracker.js';
import { LIST_LIMIT_MS, withinLimit } from '../domain/clock.js';
import { BatonError, toBatonError } from '../domain/errors.js';
import type { Issue } from '../domain/issue.js';
import type { Json } from '../domain/json.js';
import { nearestWord } from '../domain/nearest-word.js';
import type { Tracker } from '../domain/ports.js';
import { renderValue } from '../domain/steps/tokens.js';
import { createRedactor } from '../logging/redact.js';
import { neutralise, neutraliseLines } from '../text/neutralise.js';
import { ADAPTERS } from '../tracker/adapters.js';
import { createTrackerRegistry, type TrackerRegistry } from '../tracker/registry.js';
import { type LoadedWorkflow, loadWorkflow } from '../workflow/load-workflow.js';
import type { Io } from './io.js';

export interface RenderOptions {
  readonly workflowPath: string;
  /** Identifier or id. */
  readonly issue: string;
}

const READ_LIMIT_MS = 60_000;
const CLOSE_LIMIT_MS = 5_000;
const NEAREST = 3;
/** Errors of the tracker and the issue; all others are errors of the settings. */
const OUTSIDE = /^(tracker_|template_render_error|prompt_too_large|unsafe_identifier|internal_error)/;

/** Prints the prompt that the first run of an issue would send. */
export async function render(
  options: RenderOptions,
  io: Io,
  registry: TrackerRegistry = createTrackerRegistry(ADAPTERS),
): Promise<number> {
  const redactor = createRedactor();
  const clock = createClock();
  try {
    const trackerKinds = new Map(registry.kinds.map((kind) => [kind, registry.entry(kind).defaults]));
    const path = resolve(io.cwd, options.workflowPath);
    const loaded = await loadWorkflow(path, { env: io.env, homeDir: io.homeDir, trackerKinds });
    const prompt = compilePrompt(loaded.workflow.prompt);
    const tracker = await openTracker({ loaded, trackers: registry, env: io.env, redactor }, commandHost(clock));
    const found = await findWithComments(options.issue, tracker, loaded, clock).finally(() =>
      closeTracker(tracker, clock),
    );
    if (!isIssue(found)) {
      io.stderr.write(`baton: ${neutralise(redactor.mask(unknownIssueMessage(options.issue, found, loaded)))}\n`);
      return 1;
    }
    const text = prompt.render(await valuesOf(found, loaded, tracker, io));
    // A terminal would obey control characters in the text of an issue.
    io.stdout.write(`${io.isTTY ? neutraliseLines(text) : text}\n`);
    return 0;
  } catch (thrown) {
    const { code, message } = toBatonError(thrown);
    io.stderr.write(`baton: ${code}: ${neutraliseLines(redactor.mask(message))}\n`);
    return OUTSIDE.test(code) ? 1 : 2;
  } finally {
    clock.close();
  }
}

/** The issue with its comments, as a run gets it. */
async function findWithComments(wanted: string, tracker: Tracker, loaded: LoadedWorkflow, clock: SystemClock) {
  const found = await find(wanted, tracker, loaded, clock);
  if (!isIssue(found) || !tracker.readComments) return found;
  const ask = async (signal: AbortSignal) => (await tracker.readComments?.(found, signal)) ?? [];
  return { ...found, comments: await withinLimit(clock, READ_LIMIT_MS, ask, late) };
}

const late = (limitMs = READ_LIMIT_MS) =>
  new BatonError('tracker_request', `the tracker did not answer within ${limitMs / 1000} s`);

/** The issue, or the identifiers of all others. */
async function find(
  wanted: string,
  tracker: Tracker,
  { workflow }: LoadedWorkflow,
  clock: SystemClock,
): Promise<Issue | readonly string[]> {
  const { activeStates } = workflow.config.tracker;
  const active = await withinLimit(
    clock,
    LIST_LIMIT_MS,
    (signal) => tracker.issuesByStates(activeStates, signal),
    () => late(LIST_LIMIT_MS),
  );
  const isSame = (text: string) => text.toLowerCase() === wanted.toLowerCase();
  const among = (issues: readonly Issue[]) =>
    issues.find(({ identifier }) => identifier === wanted) ??
    issues.find(({ id }) => id === wanted) ??
    issues.find(({ identifier }) => isSame(identifier));
  const found = among(active.issues);
  if (found) return found;
  const byId = await withinLimit(clock, READ_LIMIT_MS, (signal) => tracker.issuesByIds([wanted], signal), late);
  return among(byId.issues) ?? active.issues.map(({ identifier }) => identifier);
}

function isIssue(found: Issue | readonly string[]): found is Issue {
  return !Array.isArray(found);
}

/** The values of the first run; only its id is a placeholder. */
async function valuesOf(issue: Issue, { workflow }: LoadedWorkflow, { scope }: Tracker, io: Io) {
  const { root } = workflow.config.workspace;
  const real = await checkWorkspaceRoot({ root, workflowDir: workflow.dir, home: io.homeDir });
  const order = { issue, attempt: null, runId: 'render-1', number: 1, reason: 'first' } as const;
  const values = promptValues(order, workflow, await createWorkspaces({ root: real, scope }).pathOf(issue));
  const run = { ...values.run, step_index: 0 };
  const inputs = renderValue(workflow.plan.inputs, { issue: issue as unknown as Json, attempt: null, run });
  return { ...values, run, inputs };
}

function unknownIssueMessage(wanted: string, identifiers: readonly string[], { workflow }: LoadedWorkflow): string {
  const { activeStates } = workflow.config.tracker;
  const message = `there is no issue ${wanted} in ${activeStates.join(', ')}, and none with that id`;
  if (identifiers.length === 0) return `${message}; no issue is in these states at all`;
  const near: string[] = [];
  while (near.length < NEAREST) {
    const next = nearestWord(
      wanted,
      identifiers.filter((identifier) => !near.includes(identifier)),
    );
    if (next === null) break;
    near.push(next);
  }
  if (near.length > 0) return `${message}; did you mean ${near.join(' or ')}?`;
  const more = identifiers.length > NEAREST ? `, … (${identifiers.length})` : '';
  return `${message}; there are: ${identifiers.slice(0, NEAREST).join(', ')}${more}`;
}

/** A tracker that does not close ends with the process. */
async function closeTracker(tracker: Tracker, clock: SystemClock): Promise<void> {
  const late = () => new BatonError('tracker_request', 'the tracker did not close');
  await withinLimit(clock, CLOSE_LIMIT_MS, () => tracker.close(), late).catch(() => {});
}
