import { describe, expect, test } from 'vitest';
import { renderText, renderValue, tokensIn } from '../../../src/domain/steps/tokens.js';
import { dataFailure as failure } from './data-failure.js';
import { nested } from './json-arbitraries.js';

const SCOPE = { issue: { title: 'Fix the lamp' }, item: 7 };

describe('SEC-14 text and data of any size cause at most an error', () => {
  test.each([
    ['openings', '${'.repeat(100_000)],
    ['dollars', '$'.repeat(100_000)],
    ['escapes', '$${'.repeat(100_000)],
    ['spaces', `\${${' '.repeat(100_000)}`],
    ['unclosed tokens with spaces', '${   \n'.repeat(50_000)],
    ['roots', '${issues'.repeat(100_000)],
    ['braces', '{'.repeat(100_000)],
  ])('100,000 %s are text', (_, text) => {
    expect(renderText(text, SCOPE)).toBe(text.replaceAll('$${', '${'));
  });

  test.each([
    ['names', `\${issue${'.a'.repeat(100_000)}}`],
    ['path segments', `\${issue${'.a'.repeat(100_000)}`],
    ['indices', `\${issue${'[0]'.repeat(100_000)}!}`],
    ['letters', `\${issue.${'a'.repeat(100_000)}}`],
    ['spaces', `\${issue${' '.repeat(100_000)}x}`],
  ])('a token of 100,000 %s fails with a short message', (_, text) => {
    expect(failure(() => renderText(text, SCOPE)).length).toBeLessThan(400);
  });

  test('100,000 tokens are rendered', () => {
    expect(renderText('${item}'.repeat(100_000), SCOPE)).toBe('7'.repeat(100_000));
    expect(tokensIn(new Array<string>(100_000).fill('${item}'))).toHaveLength(100_000);
  });

  test('a step or data that is nested 10,000 deep is rejected', () => {
    const deep = nested(10_000, '${item}');

    for (const act of [
      () => renderValue(deep, SCOPE),
      () => tokensIn(deep),
      () => renderValue('${item}', { item: deep }),
      () => renderText('a${item}', { item: deep }),
    ])
      expect(failure(act)).toContain('nested more than 200 levels deep');
  });

  test('200 levels of nesting are accepted', () => {
    expect(renderValue(nested(200, '${item}'), SCOPE)).toEqual(nested(200, 7));
    expect(renderText('${item}', { item: nested(200, 7) })).toBe(JSON.stringify(nested(200, 7)));
    expect(failure(() => renderText('${item}', { item: nested(201, 7) }))).toContain('200');
    expect(failure(() => renderValue(nested(201, 7), SCOPE))).toContain('200');
  });

  test('a rendered text of over ten million characters is rejected', () => {
    const item = 'x'.repeat(1_000_000);

    expect(renderText('${item}'.repeat(10), { item })).toHaveLength(10_000_000);
    expect(failure(() => renderText('${item}'.repeat(100_000), { item }))).toContain('10000000 characters');
  });
});
