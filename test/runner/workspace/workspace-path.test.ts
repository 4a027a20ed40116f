import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isInside, workspaceKey } from '../../../runner/workspace/workspace-path.js';

describe('workspaceKey', () => {
  test.each(['ABC-1', 'a', 'a.b_c-1', '...', '-rf', 'x'.repeat(100)])(
    'S2-05 a safe identifier %s is its own key',
    (id) => {
      expect(workspaceKey(id)).toBe(id);
    },
  );

  test.each([
    ['A/B', 'A_B-'],
    ['../../x', '.._.._x-'],
    ['/abs', '_abs-'],
    ['a b\n', 'a_b_-'],
    ['ünï', '_n_-'],
    ['😀', '__-'],
    [' ', '_-'],
  ])('S2-26 SEC-1 %j keeps only safe characters and gets a hash', (id, start) => {
    expect(workspaceKey(id)).toMatch(/^[A-Za-z0-9._-]+-[0-9a-f]{16}$/);
    expect(workspaceKey(id).slice(0, -16)).toBe(start);
  });

  test('the hash is the start of the SHA-256 of the identifier', () => {
    expect(workspaceKey('A/B')).toBe('A_B-998d3ed8983acf39');
  });

  test.each(['', '.', '..', 'a\0b', '\0', 'a\ud800'])('S2-27 SEC-1 %j is refused', (id) => {
    expect(() => workspaceKey(id)).toThrow(expect.objectContaining({ code: 'unsafe_identifier' }));
  });

  test('S2-28 SEC-2 A/B and A_B get different keys', () => {
    expect(workspaceKey('A/B')).not.toBe(workspaceKey('A_B'));
  });

  test('SEC-3 300 characters are capped with a hash that distinguishes them', () => {
    const one = workspaceKey(`${'x'.repeat(300)}1`);
    const other = workspaceKey(`${'x'.repeat(300)}2`);

    expect(one).toHaveLength(117);
    expect(one).not.toBe(other);
  });

  test.each(['.baton', '.Baton'])('the identifier %s cannot use the folder of our records', (id) => {
    expect(workspaceKey(id).toLowerCase()).toMatch(/^\.baton-[0-9a-f]{16}$/);
  });

  const identifiers = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 150 }),
    fc.string({ minLength: 1 }),
  );
  const accepted = identifiers.filter((id) => !['.', '..'].includes(id) && !id.includes('\0'));

  test('a key is always one short, safe name below the root', () => {
    fc.assert(
      fc.property(accepted, (id) => {
        const key = workspaceKey(id);
        expect(key).toMatch(/^[A-Za-z0-9._-]{1,117}$/);
        expect(isInside('/root', `/root/${key}`)).toBe(true);
      }),
    );
  });

  test('the same identifier always gets the same key, two identifiers never share one unless one spells the key of the other', () => {
    const near = fc
      .tuple(accepted, accepted)
      .chain(([a, b]) =>
        fc.constantFrom([a, b], [a, a.replace(/[^\w]/g, '_')], [a, `${a} `], [`${a}/${b}`, `${a}_${b}`]),
      );
    fc.assert(
      fc.property(near, ([a = 'x', b = 'x']) => {
        fc.pre(b !== '.' && b !== '..');
        const [one, other] = [workspaceKey(a), workspaceKey(b)];
        expect(one === other).toBe(a === b || one === b || other === a);
      }),
    );
  });
});

describe('isInside', () => {
  test.each([
    ['/a/root', '/a/root/x', true],
    ['/a/root', '/a/root/x/y', true],
    ['/a/root/', '/a/root/x', true],
    ['/', '/x', true],
    ['/a/root', '/a/root', false],
    ['/a/root', '/a/rootx', false],
    ['/a/root', '/a/root/../x', false],
    ['/a/root', '/a/root/x/../../y', false],
    ['/a/root', '/a', false],
    ['/', '/', false],
  ])('S2-24 S2-25 %s contains %s: %s', (root, path, expected) => {
    expect(isInside(root, path)).toBe(expected);
  });

  test('S2-23 relative paths are made absolute before they are compared', () => {
    expect(isInside('.', 'x')).toBe(true);
    expect(isInside(process.cwd(), './x')).toBe(true);
    expect(isInside('.', '..')).toBe(false);
  });
});
