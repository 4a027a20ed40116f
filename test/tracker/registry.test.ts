import { describe, expect, test } from 'vitest';
import { ADAPTERS } from '../../src/tracker/adapters.js';
import { createTrackerRegistry, type TrackerEntry } from '../../src/tracker/registry.js';
import { findProviderSecrets } from '../../src/workflow/secrets.js';
import { MemoryTracker } from '../support/memory-tracker.js';

const entry = (kind: string): TrackerEntry => ({
  kind,
  defaults: { activeStates: ['Todo'], terminalStates: ['Done'] },
  create: () => new MemoryTracker(),
});

describe('tracker.kind', () => {
  test('finds its adapter', () => {
    const memory = entry('memory');
    const registry = createTrackerRegistry([entry('other'), memory]);

    expect(registry.entry('memory')).toBe(memory);
    expect(registry.kinds).toEqual(['memory', 'other']);
  });

  test.each(['jira', '', 'constructor', '__proto__', 'Memory'])(
    '%j that is unknown is an error that lists the known ones',
    (kind) => {
      const registry = createTrackerRegistry([entry('memory'), entry('local')]);

      expect(() => registry.entry(kind)).toThrow(
        expect.objectContaining({
          code: 'unsupported_tracker_kind',
          message: expect.stringMatching(/has no such tracker adapter.*Use one of: local, memory\./),
        }),
      );
    },
  );

  test('is an error in a build without adapters', () => {
    expect(() => createTrackerRegistry([]).entry('linear')).toThrow(
      /"linear" is not supported: this build of Baton has no such tracker adapter\. It has no tracker adapters/,
    );
  });

  test('is unique', () => {
    expect(() => createTrackerRegistry([entry('a'), entry('a')])).toThrow('same kind');
  });
});

test.each(ADAPTERS.map(({ kind }) => kind).filter((kind) => kind !== 'local' && kind !== 'command'))(
  'SEC-12 the usual token variable of %s is secret without being named in WORKFLOW.md',
  (kind) => {
    expect(findProviderSecrets(kind, {}).names).not.toEqual([]);
  },
);
