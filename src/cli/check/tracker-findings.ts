import { failedRules } from '../../../orchestrator/eligibility.js';
import { initialState } from '../../../orchestrator/state.js';
import { openTracker } from '../../daemon/tracker.js';
import { webhookSettings } from '../../daemon/webhooks.js';
import { LIST_LIMIT_MS, withinLimit } from '../../domain/clock.js';
import { ERRORS } from '../../domain/error-table.js';
import { BatonError, toBatonError } from '../../domain/errors.js';
import { type Issue, includesState } from '../../domain/issue.js';
import { fieldsOf, type Json } from '../../domain/json.js';
import { nearestWord } from '../../domain/nearest-word.js';
import type { IssueBatch, Tracker, TrackerFacts } from '../../domain/ports.js';
import { ruleWhy } from '../../text/rules.js';
import type { KeyPath } from '../../workflow/positions.js';
import { variableName } from '../../workflow/secrets.js';
import { type CheckContext, type Finding, reporter } from './finding.js';

const READ_LIMIT_MS = 15_000;
/** Limits a read of many pages, because the user waits. */
const LIST_READ_LIMIT_MS = 60_000;
const CLOSE_LIMIT_MS = 5_000;
const SHOWN = 5;

interface TrackerReport {
  readonly findings: Finding[];
  /** Issues in active states, and those that would start; null when the tracker could not be read. */
  readonly active: number | null;
  readonly eligible: number | null;
}

/** Opens the tracker as the daemon does and reads the candidates once. */
export async function trackerFindings(context: CheckContext): Promise<TrackerReport> {
  const { file, at, loaded, registry, io, redactor } = context;
  const report = reporter('Tracker', file);
  const failed = (thrown: unknown, findings: readonly Finding[]): TrackerReport => {
    const error = toBatonError(thrown);
    const others = findings.filter(({ message }) => !isReportedBy(error, message));
    const own = report('error', error.code, at(keyOf(error)), error.message, adviceOn(error));
    return { findings: [...others, own], active: null, eligible: null };
  };
  const found = [...unsetVariables(context), ...webhookFindings(context)];
  let tracker: Tracker;
  try {
    tracker = await openTracker(
      { loaded, trackers: registry, env: io.env, redactor },
      { containment: () => Promise.resolve(context.containment) },
    );
  } catch (error) {
    return failed(error, found);
  }
  try {
    const facts = await factsOf(tracker, context);
    if (facts !== null) found.push(...factFindings(facts, context));
    found.push(...toolFindings(tracker, context));
    const states = existing(loaded.workflow.config.tracker.activeStates, facts);
    // `factFindings` reports that no state exists.
    if (states.length === 0) return { findings: found, active: null, eligible: null };
    const batch = await read(tracker, states, context);
    if (batch === null) {
      const message = `the tracker responds, but its list was not complete within ${LIST_READ_LIMIT_MS / 1000} s`;
      const advice = `The daemon gives it ${LIST_LIMIT_MS / 60_000} minutes. A required label may make it shorter.`;
      found.push(report('warning', 'tracker_slow', at(['tracker', 'kind']), message, advice));
      return { findings: found, active: null, eligible: null };
    }
    return { ...candidateFindings(context, tracker, { states, batch }, found), active: batch.issues.length };
  } catch (error) {
    return failed(error, found);
  } finally {
    // A tracker that does not close in time ends with the process.
    await withinLimit(context.clock, CLOSE_LIMIT_MS, () => tracker.close(), late).catch(() => {});
  }
}

/** The setting of an error: the first that its message names. */
function keyOf({ code, message }: BatonError): KeyPath {
  if (code === 'missing_tracker_secret') return ['tracker', 'provider'];
  const [named] = code === 'invalid_tracker_config' ? (/\btracker\.(?:provider\.)?\w+/.exec(message) ?? []) : [];
  return named?.split('.') ?? ['tracker', 'kind'];
}

/** Adapters explain errors of a token themselves: the cause may be a permission, a membership or a disabled service. */
function adviceOn({ code }: BatonError): string | null {
  return code === 'tracker_auth' || code === 'missing_tracker_secret' ? null : ERRORS[code].action;
}

/** Webhook settings that a start would reject. Whether the port is free is known only at the start. */
function webhookFindings({ file, at, loaded, registry, io }: CheckContext): Finding[] {
  const { config } = loaded.workflow;
  try {
    webhookSettings({ config, entry: registry.entry(config.tracker.kind), env: io.env });
    return [];
  } catch (thrown) {
    const { code, message } = toBatonError(thrown);
    return [reporter('Tracker', file)('error', code, at(['webhooks']), message, ERRORS[code].action)];
  }
}

function factsOf(tracker: Tracker, { clock }: CheckContext): Promise<TrackerFacts | null> {
  const ask = async (signal: AbortSignal) => (await tracker.inspect?.(signal)) ?? null;
  return withinLimit(clock, READ_LIMIT_MS, ask, late);
}

/** The states that exist. `factFindings` reports the others, so the adapter is not asked for them. */
function existing(states: readonly string[], facts: TrackerFacts | null): readonly string[] {
  if (facts === null || facts.states.length === 0) return states;
  return states.filter((state) => includesState(facts.states, state));
}

/** Null when the read takes too long, which is not a fault. */
async function read(tracker: Tracker, states: readonly string[], { clock }: CheckContext): Promise<IssueBatch | null> {
  const tooLong = new Error('it takes too long');
  try {
    return await withinLimit(
      clock,
      LIST_READ_LIMIT_MS,
      (signal) => tracker.issuesByStates(states, signal),
      () => tooLong,
    );
  } catch (error) {
    if (error === tooLong) return null;
    throw error;
  }
}

const late = () => new BatonError('tracker_request', `the tracker did not answer within ${READ_LIMIT_MS / 1000} s`);

function candidateFindings(
  { file, at, loaded, clock }: CheckContext,
  { kind, scope }: Tracker,
  { states, batch }: { readonly states: readonly string[]; readonly batch: IssueBatch },
  others: readonly Finding[],
) {
  const { workflow } = loaded;
  const report = reporter('Tracker', file);
  const state = initialState(workflow.config, workflow.hash, 'check', clock.now().wallMs);
  const refused = batch.issues.map((issue) => ({ issue, failed: failedRules(issue, state)[0] }));
  const eligible = refused.filter(({ failed }) => failed === undefined).length;
  const kindAt = at(['tracker', 'kind']);
  const where = scope.startsWith(`${kind}:`) ? scope : `${kind} (${scope})`;
  const findings = [
    ...others,
    report('note', 'tracker_read', kindAt, `${where} has ${count(batch.issues.length)} in ${states.join(', ')}`),
    ...(batch.problems ?? []).map((text) =>
      report('warning', 'tracker_problem', kindAt, text, 'Correct it in the tracker.'),
    ),
  ];
  const unlabelled = refused.filter(({ failed }) => failed?.rule === 'required_labels').map(({ issue }) => issue);
  if (eligible === 0 && unlabelled.length > 0) {
    const labels = workflow.config.tracker.requiredLabels.map((label) => JSON.stringify(label)).join(' and ');
    const message = `no issue would start: ${names(unlabelled)} ${unlabelled.length === 1 ? 'lacks' : 'lack'} the label`;
    const give = kind === 'redmine' ? `Give the category ${labels} to` : `Put the label ${labels} on`;
    const advice = `${give} the issues for Baton.`;
    findings.push(report('note', 'label_gate', at(['tracker', 'required_labels']), message, advice));
  }
  const unfit = refused.flatMap(({ issue, failed }) =>
    failed === undefined || failed.rule === 'required_labels' ? [] : [{ issue, failed }],
  );
  for (const { issue, failed } of unfit.slice(0, SHOWN)) {
    const message = `${issue.identifier} would not start: ${ruleWhy(failed)}`;
    findings.push(report('note', `not_${failed.rule}`, kindAt, message));
  }
  return { findings, eligible };
}

/** Unset variables in the tracker's settings. The adapter reports the ones that it needs. */
function unsetVariables({ file, at, loaded, io }: CheckContext): Finding[] {
  const report = reporter('Tracker', file);
  return references((loaded.frontMatter.tracker ?? null) as Json, ['tracker']).flatMap(({ name, path }) => {
    if ((io.env[name] ?? '').trim() !== '') return [];
    const message = `the variable ${name} is not set or empty`;
    return [report('warning', 'variable_unset', at(path), message, `Set ${name} where the daemon is started.`)];
  });
}

function references(value: Json, path: KeyPath): { name: string; path: KeyPath }[] {
  if (typeof value !== 'object' || value === null) {
    const name = variableName(value);
    return name === null ? [] : [{ name, path }];
  }
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([key, item]) => references(item as Json, [...path, key]));
}

function isReportedBy(error: BatonError, message: string): boolean {
  const name = /variable (\w+) is/.exec(message)?.[1];
  return error.code === 'missing_tracker_secret' && name !== undefined && error.message.includes(name);
}

function count(issues: number): string {
  return issues === 1 ? '1 issue' : `${issues} issues`;
}

function names(issues: readonly Issue[]): string {
  const shown = issues.slice(0, SHOWN).map(({ identifier }) => identifier);
  const rest = issues.length - shown.length;
  return rest > 0 ? `${shown.join(', ')} and ${rest} more` : shown.join(', ');
}

const RAW_TOOLS = /\b(?:linear_graphql|github_api|gitlab_api|jira_rest|redmine_api)\b/;

/** An agent that looks for a tool which is off loses its turns. */
function toolFindings(tracker: Tracker, { file, at, loaded }: FactContext): Finding[] {
  const [name] = RAW_TOOLS.exec(loaded.workflow.prompt.text) ?? [];
  if (name === undefined || tracker.tools().some((tool) => tool.name === name)) return [];
  const message = `the prompt names the tool ${name}, which is off`;
  const advice = 'Name update_issue instead, or set tracker.provider.raw_tool to true.';
  return [reporter('Tracker', file)('warning', 'tool_off', at(['tracker', 'provider']), message, advice)];
}

type FactContext = Pick<CheckContext, 'file' | 'at' | 'loaded'>;

/** Compares the tracker's user and states with the settings. */
function factFindings(facts: TrackerFacts, { file, at, loaded }: FactContext): Finding[] {
  const report = reporter('Tracker', file);
  const kindAt = at(['tracker', 'kind']);
  const access =
    facts.user === null
      ? `the tracker responds with access to ${facts.target}`
      : `the token belongs to ${facts.user} and has access to ${facts.target}`;
  const found = [report('note', 'tracker_access', kindAt, access)];
  for (const warning of facts.warnings) found.push(report('warning', 'tracker_warning', kindAt, warning));
  if (facts.states.length === 0) return found;

  const { activeStates, terminalStates } = loaded.workflow.config.tracker;
  const written = fieldsOf(loaded.frontMatter.tracker);
  const known = `The tracker has: ${facts.states.join(', ')}.`;
  const check = (key: 'active_states' | 'terminal_states', states: readonly string[]) => {
    const missing = states.filter((state) => !includesState(facts.states, state));
    const isNoneThere = missing.length === states.length && states.length > 0;
    // A default list may contain states that this tracker lacks. It is a fault only if all are missing.
    if (missing.length === 0 || ((written[key] ?? null) === null && !isNoneThere)) return;
    const level = isNoneThere && key === 'active_states' ? 'error' : 'warning';
    for (const state of missing) {
      const index = states.indexOf(state);
      const near = nearestWord(state, facts.states);
      const message = `tracker.${key} names ${JSON.stringify(state)}, which does not exist in the tracker`;
      const advice = near === null ? known : `Did you mean ${JSON.stringify(near)}? ${known}`;
      found.push(report(level, 'state_unknown', at(['tracker', key, index]), message, advice));
    }
  };
  check('active_states', activeStates);
  check('terminal_states', terminalStates);
  return found;
}
