import { fieldsOf } from '../../domain/fields.js';
import { nearestWord } from '../../text/nearest-word.js';
import type { TrackerFacts } from '../../domain/ports.js';
import { includesState } from '../../domain/standing.js';
import type { CheckContext } from './check-context.js';
import { type Finding, reporter } from './finding.js';

type FactContext = Pick<CheckContext, 'file' | 'at' | 'loaded'>;

/** What the living tracker says of itself, held against the settings: who we are there, and whether the states exist. */
export function factFindings(facts: TrackerFacts, { file, at, loaded }: FactContext): Finding[] {
  const report = reporter('Tracker', file);
  const kindAt = at(['tracker', 'kind']);
  const access =
    facts.user === null
      ? `the tracker answers, and shows ${facts.target}`
      : `the token is that of ${facts.user}; it can see ${facts.target}`;
  const found = [report('note', 'tracker_access', kindAt, access)];
  for (const warning of facts.warnings) found.push(report('warning', 'tracker_warning', kindAt, warning));
  if (facts.states.length === 0) return found;

  const { activeStates, terminalStates } = loaded.workflow.config.tracker;
  const written = fieldsOf(loaded.frontMatter.tracker);
  const known = `The tracker has: ${facts.states.join(', ')}.`;
  const check = (key: 'active_states' | 'terminal_states', states: readonly string[]) => {
    const missing = states.filter((state) => !includesState(facts.states, state));
    const isNoneThere = missing.length === states.length && states.length > 0;
    // A default list names more than one tracker has: only when nothing is left of it something is wrong.
    if (missing.length === 0 || ((written[key] ?? null) === null && !isNoneThere)) return;
    const level = isNoneThere && key === 'active_states' ? 'error' : 'warning';
    for (const state of missing) {
      const index = states.indexOf(state);
      const near = nearestWord(state, facts.states);
      const message = `tracker.${key} names ${JSON.stringify(state)}, which the tracker does not have`;
      const advice = near === null ? known : `Did you mean ${JSON.stringify(near)}? ${known}`;
      found.push(report(level, 'state_unknown', at(['tracker', key, index]), message, advice));
    }
  };
  check('active_states', activeStates);
  check('terminal_states', terminalStates);
  return found;
}
