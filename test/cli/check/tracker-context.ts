import { stringify } from 'yaml';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import type { CheckContext } from '../../../src/cli/check/finding.js';
import type { Clock } from '../../../src/domain/clock.js';
import { createRedactor } from '../../../src/logging/redact.js';
import { createTrackerRegistry } from '../../../src/tracker/registry.js';
import { loadWorkflow } from '../../../src/workflow/load-workflow.js';
import { parseFrontMatter } from '../../../src/workflow/parse-front-matter.js';
import { FakeClock } from '../../support/fake-clock.js';
import type { FakeTracker } from '../../support/trackers/fake-tracker.js';
import { world } from '../cli-fixture.js';

export interface Given {
  readonly tracker?: object;
  readonly provider?: object;
  /** Additional settings. */
  readonly rest?: string;
  readonly env?: { readonly [name: string]: string };
  readonly clock?: Clock;
}

/** A workflow for this tracker with every value on its own line. */
export function workflowFor(fake: FakeTracker, { tracker, provider, rest = '' }: Given = {}): string {
  const settings = {
    kind: fake.kind,
    provider: { ...fake.provider, ...provider },
    required_labels: ['go'],
    ...tracker,
  };
  return `---\n${stringify({ tracker: settings })}${rest}---\nDo it.\n`;
}

/** The input of the tracker findings. */
export async function contextFor(fake: FakeTracker, given: Given = {}): Promise<CheckContext> {
  const { clock = new FakeClock(), env } = given;
  const io = world({ env: { [fake.variable]: fake.token, ...env } });
  const text = workflowFor(fake, given);
  const frontMatter = parseFrontMatter(Buffer.from(text), 'WORKFLOW.md');
  const trackerKinds = new Map([[fake.kind, fake.entry.defaults]]);
  return {
    ...{ file: 'WORKFLOW.md', lines: text.split('\n'), frontMatter, io, clock },
    at: (path) => frontMatter.positions.valueAt(path),
    loaded: await loadWorkflow(io.write('WORKFLOW.md', text), { env: io.env, homeDir: io.homeDir, trackerKinds }),
    registry: createTrackerRegistry([fake.entry]),
    redactor: createRedactor(),
    containment: await detectContainment({ isolation: 'none', hide: [], clock }),
  };
}
