import { expect, test } from 'vitest';
import { redmineTracker } from '../../../src/tracker/redmine/tracker.js';
import { startFakeRedmine } from '../../support/trackers/fake-redmine.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

test('New and In Progress are active, Closed and Rejected terminal, Resolved neither', () => {
  expect(redmineTracker.defaults).toEqual({
    activeStates: ['New', 'In Progress'],
    terminalStates: ['Closed', 'Rejected'],
  });
});

test.each([
  [{ project: '' }, 'tracker.provider.project'],
  [{ project: 'a/b' }, 'tracker.provider.project'],
  [{ project: '..' }, 'tracker.provider.project'],
  [{ project: 'demo?x' }, 'tracker.provider.project'],
  [{ endpoint: '' }, 'tracker.provider.endpoint'],
  [{ include_subprojects: 'yes' }, 'tracker.provider.include_subprojects'],
  [{ label_fields: { a: 1 } }, 'tracker.provider.label_fields'],
  [{ raw_tool: 'maybe' }, 'tracker.provider.raw_tool'],
])('%j is refused with the name of the key', async (provider, key) => {
  const fake = await startFakeRedmine();

  const open = () => openFake(fake, { provider });

  expect(open).toThrow(expect.objectContaining({ code: 'invalid_tracker_config' }));
  expect(open).toThrow(key);
});

test('a project may be given by its number', async () => {
  const fake = await startFakeRedmine();
  fake.add();
  const tracker = openFake(fake, { provider: { project: 1 } });

  const { issues } = await tracker.issuesByStates(['New'], new AbortController().signal);

  expect(issues).toHaveLength(1);
  expect(tracker.scope).toBe(`redmine:${new URL(fake.server.url).host}/1`);
});
