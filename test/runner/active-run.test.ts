import { expect, test } from 'vitest';
import { RunMailbox } from '../../runner/active-run.js';

function listener() {
  const heard: string[] = [];
  return {
    heard,
    onAnswer: (questionId: string) => void heard.push(`answer to ${questionId}`),
    onMessage: (text: string) => void heard.push(text),
  };
}

test('a message that finds no agent waits for the next one', () => {
  const mailbox = new RunMailbox();
  const agent = listener();
  mailbox.send('one');
  mailbox.send('two');

  mailbox.attend(agent);
  mailbox.send('three');

  expect(agent.heard).toEqual(['one', 'two', 'three']);
  expect(mailbox.takeUnread()).toEqual([]);
});

test('messages that an agent has not read at its end go to the next agent', () => {
  const mailbox = new RunMailbox();
  const [first, second] = [listener(), listener()];
  const leave = mailbox.attend(first);
  mailbox.send('heard');
  mailbox.send('unheard');

  leave(['unheard']);
  mailbox.attend(second);

  expect(second.heard).toEqual(['unheard']);
});

test('messages that no agent of the run has read are left over', () => {
  const mailbox = new RunMailbox();
  const leave = mailbox.attend(listener());
  mailbox.send('unheard');

  leave(['unheard']);
  leave(['unheard']);
  mailbox.send('too late');

  expect(mailbox.takeUnread()).toEqual(['unheard', 'too late']);
});

test('an answer goes to the agent that is at work; an answer without an agent is dropped', () => {
  const mailbox = new RunMailbox();
  const agent = listener();
  const leave = mailbox.attend(agent);

  mailbox.answer('q1', { kind: 'accept' });
  leave([]);
  mailbox.answer('q2', { kind: 'accept' });

  expect(agent.heard).toEqual(['answer to q1']);
});
