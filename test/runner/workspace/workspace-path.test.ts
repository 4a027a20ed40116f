import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { distinctName, isInside, isWorkspaceKey, workspaceKeys } from '../../../runner/workspace/workspace-path.js';

const keysOf = (identifier: string, issueId = 'i', scope = 's') => workspaceKeys({ scope, issueId, identifier });
const HASHED = /^[A-Za-z0-9._-]+-[0-9a-f]{16}$/;

describe('workspaceKeys', () => {
  test.each([
    ...['ABC-1', 'a', 'a.b_c-1', '...', '-rf', 'x'.repeat(100)].map((id) => [id, id]),
    ['A/B', 'A_B'],
    ['../../x', '.._.._x'],
    ['/abs', '_abs'],
    ['a b\n', 'a_b_'],
    ['ünï', '_n_'],
    ['😀', '__'],
    [' ', '_'],
  ])('S2-05 S2-26 SEC-1 %j has the plain name %s', (identifier, plain) => {
    expect(keysOf(identifier).plain).toBe(plain);
  });

  test('the first hash is the start of the SHA-256 of the identifier', () => {
    expect(keysOf('A/B').hashed[0]).toBe('A_B-998d3ed8983acf39');
  });

  test('the second hash belongs to one issue of one tracker', () => {
    const last = (...about: Parameters<typeof keysOf>) => keysOf(...about).hashed[1];

    expect(new Set([last('A', '1', 's'), last('A', '2', 's'), last('A', '1', 't'), last('B', '1', 's')]).size).toBe(4);
    expect(last('A', '1', 's')).toBe(last('A', '1', 's'));
  });

  test.each(['', '.', '..', 'a\0b', '\0', 'a\ud800'])('S2-27 SEC-1 %j is refused', (id) => {
    expect(() => keysOf(id)).toThrow(expect.objectContaining({ code: 'unsafe_identifier' }));
  });

  test('SEC-3 300 characters are cut, and only names with a hash remain', () => {
    const one = keysOf(`${'x'.repeat(300)}1`);
    const other = keysOf(`${'x'.repeat(300)}2`);

    expect(one.plain).toBeNull();
    expect(one.hashed[0]).toHaveLength(117);
    expect(one.hashed[0]).not.toBe(other.hashed[0]);
  });

  test.each(['.baton', '.Baton'])('the identifier %s cannot use the folder of our records', (id) => {
    expect(keysOf(id).plain).toBeNull();
    for (const key of keysOf(id).hashed) expect(key).toMatch(HASHED);
  });

  const identifiers = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 150 }),
    fc.string({ minLength: 1 }),
  );
  const accepted = identifiers.filter((id) => !['.', '..'].includes(id) && !id.includes('\0'));

  test('every name is short, safe and below the root', () => {
    fc.assert(
      fc.property(accepted, (id) => {
        const { plain, hashed } = keysOf(id);
        for (const key of plain === null ? hashed : [plain, ...hashed]) {
          expect(key).toMatch(/^[A-Za-z0-9._-]{1,117}$/);
          expect(isWorkspaceKey(key)).toBe(true);
          expect(isInside('/root', `/root/${key}`)).toBe(true);
        }
      }),
    );
  });

  test('two different texts never have the same distinct name', () => {
    const near = fc
      .tuple(accepted, accepted)
      .chain(([a, b]) =>
        fc.constantFrom([a, b], [a, a.replace(/[^\w]/g, '_')], [a, `${a} `], [`${a}/${b}`, `${a}_${b}`]),
      );
    fc.assert(
      fc.property(near, ([a = 'x', b = 'x']) => {
        expect(distinctName(a) === distinctName(b)).toBe(a === b);
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
