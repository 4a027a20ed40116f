import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editTask } from '../../../src/tracker/local/edit-task.js';
import { parseTask } from '../../../src/tracker/local/parse-task.js';
import { CONFIG, EMPTY_TASK, FULL_TASK, SUBTASK } from './written-by-backlog.js';

const NOW_MS = Date.UTC(2027, 0, 2, 3, 4);
const NOW = '2027-01-02 03:04';

const STATES = ['Done', 'In Progress', "Won't fix", 'Review: code', 'true', '# odd', 'Überprüfung', '12', '"a"', '- x'];
const quote = { plain: (t: string) => t, single: (t: string) => `'${t}'`, double: (t: string) => `"${t}"` };
const style = fc.constantFrom(quote.plain, quote.single, quote.double);
const comment = fc.constantFrom('', ' # a remark', '   ');

/** Marks what a change may replace; everything outside of marks must stay. */
const mark = (value: string) => `⟦${value}⟧`;

const statusLine = fc
  .tuple(style, comment, fc.constantFrom('', '&s ', '!!str '))
  .map(([q, c, p]) => `status: ${p}${mark(q('To Do'))}${c}`);
const oddStatus = fc.constantFrom(
  `status: ${mark('|-\n  To Do')}`,
  `status: ${mark('>\n  To Do')}`,
  `status:\n  ${mark('To Do')}`,
  `"status": ${mark('To Do')}`,
);
const createdLine = fc.oneof(
  fc.tuple(style, comment).map(([q, c]) => [`created_date: ${q('2026-11-16 04:25')}${c}`]),
  fc.constant([] as string[]),
);
const updatedLine = fc.oneof(
  fc.tuple(style, comment).map(([q, c]) => [`updated_date: ${mark(q('2026-11-16 04:25'))}${c}`]),
  fc.constantFrom<string[]>(
    [],
    [`updated_date:${mark('')}`],
    [`updated_date:${mark('')} # none yet`],
    [`updated_date: ${mark('null')}`],
  ),
);
const strangerLine = fc.constantFrom(
  'labels: [a, "b: c"]',
  'labels:\n- a\n-   b # second',
  '# a line of its own',
  '',
  'x-custom: {deep: [1, 2]}',
  'note: |\n  status: Done\n  ---x\n\n  more',
  "odd: 'it''s'",
  'assignee: @sara',
  'dependencies: []',
);
const bodyPart = fc.oneof(
  fc.constantFrom(
    FULL_TASK.slice(FULL_TASK.indexOf('## Description')),
    '## Comments\n\n<!-- COMMENTS:BEGIN -->\n<!-- COMMENTS:END -->\n',
    '## Comments\n\nby hand\n',
    '## Implementation Notes\n\nwithout markers\n',
    '<!-- SECTION:DESCRIPTION:BEGIN -->\nnever closed\n',
    '## Final Summary\n\nx',
    '---\nstatus: Done\n---\n',
    '```\n## Comments\n```\n',
    'trailing blanks   \n\n\n\n',
    CONFIG,
  ),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
);

const file = fc
  .record({
    status: fc.oneof(statusLine, oddStatus),
    created: createdLine,
    updated: updatedLine,
    strangers: fc.uniqueArray(strangerLine, { maxLength: 4, selector: (line) => line.split(':')[0] }),
    seed: fc.integer(),
    bom: fc.boolean(),
    crlf: fc.boolean(),
    closing: fc.constantFrom('---\n', '---  \n', '---'),
    body: fc.array(bodyPart, { maxLength: 4 }).map((parts) => parts.join('\n')),
  })
  .map(({ status, created, updated, strangers, seed, bom, crlf, closing, body }) => {
    const lines = ['id: TASK-1', 'title: Some title', status, ...created, ...updated, ...strangers];
    const turn = Math.abs(seed) % lines.length;
    const matter = [...lines.slice(turn), ...lines.slice(0, turn)].join('\n');
    const ended = (text: string) => (crlf ? text.replace(/\r/g, '').replaceAll('\n', '\r\n') : text);
    const head = `${bom ? '\uFEFF' : ''}${ended(`---\n${matter}\n${closing}`)}`;
    return { head, body: closing.endsWith('\n') ? ended(body.replaceAll('\0', '').replace(/[⟦⟧]/g, '')) : '' };
  })
  .map(({ head, body }) => ({ text: head.replace(/[⟦⟧]/g, '') + body, head, body }))
  .filter(({ text }) => isReadable(text));

test('an edit changes nothing else', () => {
  const change = fc.record(
    {
      status: fc.constantFrom(...STATES),
      comment: fc.string({ unit: 'grapheme', minLength: 1 }).map((text) => `x${text}`),
    },
    { requiredKeys: ['status'] },
  );
  fc.assert(
    fc.property(file, change, ({ text, head, body }, edit) => {
      const edited = editTask(text, edit, NOW_MS);

      const [before, after] = [parseTask(text), parseTask(edited)];
      expect(after).toMatchObject({ status: edit.status, description: before.description, labels: before.labels });
      expect(after.updatedAt).toBe('2027-01-02T03:04:00.000Z');
      expect(after.comments.length).toBeGreaterThanOrEqual(before.comments.length + ('comment' in edit ? 1 : 0));
      expect(outsideOfMarks(head, body, edited)).toBe('unchanged');
    }),
    { numRuns: 300 },
  );
});

test.each([
  ['a full task', FULL_TASK],
  ['an empty task', EMPTY_TASK],
  ['a subtask', SUBTASK],
  ['settings in one line', "---\n{id: TASK-1, title: x, status: To Do, created_date: '2026-01-01'}\n---\n"],
  ['settings in braces', '---\n{\n  id: TASK-1,\n  title: x,\n  status: "To Do"\n}\n---\n'],
  ['indented settings', '---\n  id: TASK-1\n  title: x\n  status: To Do\n---\n'],
])('%s is moved and commented', (_, text) => {
  const after = parseTask(editTask(text, { status: 'Won\'t do: "x"', comment: 'why' }, NOW_MS));

  expect(after.status).toBe('Won\'t do: "x"');
  expect(after.comments.map(({ body }) => body)).toContain('why');
  expect(after.updatedAt).toBe('2027-01-02T03:04:00.000Z');
});

function isReadable(text: string): boolean {
  try {
    return parseTask(text).status === 'To Do';
  } catch {
    return false;
  }
}

/** Marks may hold anything, a line with the date and one piece of the body may be new: is the rest byte for byte as before? */
function outsideOfMarks(head: string, body: string, edited: string): string {
  const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const fixed = head.split(/⟦[^⟧]*⟧/).map(literal);
  const isDated = /^updated_date:/m.test(head);
  const undated = isDated ? edited : edited.replace(new RegExp(`^updated_date: '${NOW}'\\r?\\n`, 'm'), '');
  const match = new RegExp(`^${fixed.join('[^]{0,40}?')}`).exec(undated);
  if (!match) return `front matter differs: ${undated}`;
  const rest = undated.slice(match[0].length);
  let start = 0;
  while (start < body.length && body[start] === rest[start]) start += 1;
  return rest.length >= body.length && rest.endsWith(body.slice(start)) ? 'unchanged' : `body differs: ${rest}`;
}
