import type { IneligibleView } from '../../status/shapes/entry-shapes.js';
import { groupByRule } from '../model/ineligible-groups.js';
import { fullCount } from '../model/numbers.js';
import { shownLine } from '../model/shown-text.js';
import { ruleGroupWords } from '../model/words.js';
import { IssueName } from '../parts/issue-name.js';
import { memo } from '../parts/memo.js';
import { Rows } from './section.js';

/** Why an issue is not picked up: folded away, as it is no work of today, and there for whoever misses one. */
export const Ineligible = memo(function Group({
  ineligible,
  isOpen,
}: {
  readonly ineligible: readonly IneligibleView[];
  readonly isOpen: boolean;
}) {
  if (ineligible.length === 0) return null;
  const groups = groupByRule(ineligible).map(({ rule, count }) => `${fullCount(count)} ${ruleGroupWords(rule)}`);
  return (
    <section class="group" id="ineligible" aria-labelledby="ineligible-title">
      <details open={isOpen}>
        <summary class="group-head">
          <h2 id="ineligible-title">
            Not picked up <span class="count">{fullCount(ineligible.length)}</span>
          </h2>
          <span class="group-note">{groups.join(', ')}</span>
        </summary>
        <Rows entries={ineligible} row={(entry) => <IneligibleRow key={entry.issue_id} entry={entry} />} />
      </details>
    </section>
  );
}, 'Ineligible');

const IneligibleRow = memo(function Row({ entry }: { readonly entry: IneligibleView }) {
  return (
    <li class="row slim">
      <div class="row-main">
        <h3 class="row-title">
          <IssueName issue={entry} />
        </h3>
        <p class="row-says">{entry.reasons.map(({ why }) => shownLine(why)).join('; ')}</p>
      </div>
      <div class="row-facts">
        <span class="faint">{shownLine(entry.state)}</span>
      </div>
    </li>
  );
}, 'IneligibleRow');
