import type { RuleView } from '../../status/shapes/issue-shape.js';
import { shownLine } from '../model/shown-text.js';
import { ruleWords } from '../model/words.js';
import { Sentence } from '../parts/time.js';

/** Every rule that must hold before the issue is started, and what to do about those that do not. */
export function Rules({ rules, isClaimed }: { readonly rules: readonly RuleView[]; readonly isClaimed: boolean }) {
  if (rules.length === 0) return null;
  const failed = rules.filter(({ pass }) => !pass).length;
  return (
    <section class="rules" aria-labelledby="rules-title">
      <h2 id="rules-title">
        Rules for a start{' '}
        <span class="count">{failed === 0 ? 'all pass' : `${failed} of ${rules.length} do not pass`}</span>
      </h2>
      {isClaimed ? <p class="faint">They are asked again before its next run.</p> : null}
      <ul>
        {rules.map(({ rule, pass, why, action }) => (
          <li key={rule} class={pass ? 'rule' : 'rule rule-fails'}>
            <span class="mark" role="img" aria-label={pass ? 'passes' : 'does not pass'}>
              {pass ? '✓' : '✕'}
            </span>
            <div>
              <span>{ruleWords(rule)}</span>
              {pass || why === null ? null : (
                <p class="rule-why">
                  <Sentence text={shownLine(why)} />
                </p>
              )}
              {pass || action === null ? null : (
                <p class="rule-action">
                  <Sentence text={shownLine(action)} />
                </p>
              )}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
