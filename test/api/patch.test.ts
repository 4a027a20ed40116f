import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyPatch, diffStates } from '../../src/api/patch.js';
import type { StateView } from '../../src/api/schemas.js';
import { patchShape } from '../../src/api/schemas.js';
import { Core } from '../support/core.js';
import { everything, viewOf } from '../support/status-samples.js';

const ready = (id: string, title: string): StateView['ready'][number] => ({
  ...{ issue_id: id, issue_identifier: id, issue_url: null, title, state: 'Todo' },
  ...{ priority: null, created_at: null, retry: false, why: null, why_reason: null },
});

const base = viewOf(new Core());
const lists = fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', '__proto__'), fc.string({ maxLength: 2 })), {
  selector: ([id]) => id,
});
const views = fc.record({ list: lists, why: fc.option(fc.string()), taken: fc.nat(3) }).map(({ list, why, taken }) => ({
  ...base,
  why_idle: why,
  slots: { taken, limit: 10 },
  ready: list.map(([id, title]) => ready(id, title)),
}));

describe('a patch', () => {
  test('brings one state to the other, whatever the two are', () => {
    fc.assert(
      fc.property(views, views, (before, after) => {
        const patch = diffStates(before, after);

        if (patch === null) expect(after).toEqual(before);
        else expect(applyPatch(before, JSON.parse(JSON.stringify(patch)))).toEqual(after);
      }),
    );
  });

  test('brings an empty state to a full one and back, in the shape that is described', () => {
    const [empty, full] = [viewOf(new Core()), viewOf(everything())];

    for (const [before, after] of [
      [empty, full],
      [full, empty],
    ] as const) {
      const patch = diffStates(before, after);
      expect(patchShape.parse(patch)).toEqual(patch);
      expect(patch && applyPatch(before, patch)).toEqual(after);
    }
  });

  test('is none while only time passes', () => {
    expect(diffStates(base, { ...base, generated_at: 'later' })).toBeNull();
  });

  test('of one entry among many is that entry alone', () => {
    const many = Array.from({ length: 1000 }, (_, n) => ready(`i${n}`, 't'));
    const changed = many.with(500, ready('i500', 'other'));

    const patch = diffStates({ ...base, ready: many }, { ...base, ready: changed });

    expect(patch?.set).toEqual({});
    expect(patch?.lists).toEqual({ ready: { order: null, upsert: [ready('i500', 'other')] } });
  });
});
