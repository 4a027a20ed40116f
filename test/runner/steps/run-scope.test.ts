import { expect, test } from 'vitest';
import { Conversation } from '../../../runner/steps/run-scope.js';
import { FakeClock } from '../../support/fake-clock.js';

test('the conversation is the prompt, then the output of each step', () => {
  const conversation = new Conversation('r', new FakeClock());
  conversation.addPrompt('Do it');
  conversation.addOutput('plan', 'first this');
  conversation.addOutput('check', { ok: true });

  expect(conversation.messages.map(({ sender, content }) => `${sender} ${content}`)).toEqual([
    'user Do it',
    'agent plan: first this',
    'agent check: {"ok":true}',
  ]);
});

test('a conversation that becomes too long loses its oldest steps, which is marked, and every message id is unique', () => {
  const conversation = new Conversation('r', new FakeClock());
  conversation.addPrompt('Do it');
  for (let index = 0; index < 100; index += 1) conversation.addOutput('fix', `${index} ${'x'.repeat(50_000)}`);

  const { messages: all } = conversation;
  expect(all.reduce((sum, { content }) => sum + content.length, 0)).toBeLessThanOrEqual(1_000_100);
  expect(all[1]).toMatchObject({ sender: 'system', content: `[${102 - all.length} older messages are left out]` });
  expect(all[0]).toMatchObject({ content: 'Do it', messageId: 'r-1' });
  expect(all.at(-1)).toMatchObject({ content: expect.stringMatching(/^fix: 99 /), messageId: 'r-101' });
  expect(new Set(all.map(({ messageId }) => messageId)).size).toBe(all.length);
});
