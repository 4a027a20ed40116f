import type { Comment, Issue } from '../../../src/domain/issue.js';
import type { Answer, Question } from '../../../src/domain/run-signal.js';
import type { RenderedAgentCli } from '../../../src/domain/steps/plan.js';
import type { StepContext } from '../executor.js';

/** The text of the first turn. When a thread is `resumed`, the agent already knows its issue and gets only the news. */
export function openingText({ prompt }: RenderedAgentCli, context: StepContext, resumed: boolean): string {
  const given = context.resume?.answer ?? null;
  const answer = given ? answerText(given.question, given.answer) : null;
  if (!resumed) return answer === null ? prompt : `${prompt}\n\n${answer}`;
  const text = answer ?? context.continuationPrompt(context.issue, 1);
  const comments = newComments(context.issue, context.resume?.commentsReadAtMs ?? null);
  return comments.length === 0 ? text : `${text}\n\n${commentsText(comments)}`;
}

/** Text of a turn, followed by the messages that people sent while no turn was active. */
export function withMessages(text: string, messages: readonly string[]): string {
  return [text, ...messages.map((message) => `A message from a person:\n${message}`)].join('\n\n');
}

/** The clock of the tracker may differ from ours by this much. */
const CLOCK_DIFFERENCE_MS = 60_000;

/** Comments since the last run on this thread began. Undated comments are included. */
function newComments({ comments }: Issue, sinceMs: number | null): readonly Comment[] {
  if (sinceMs === null) return comments;
  return comments.filter(({ created_at: at }) => at === null || Date.parse(at) > sinceMs - CLOCK_DIFFERENCE_MS);
}

function commentsText(comments: readonly Comment[]): string {
  const lines = comments.map(({ author, body }) => `${author ?? 'Somebody'}: ${body}`);
  return ['New comments on the issue, oldest first:', ...lines].join('\n\n');
}

function answerText(question: Question, answer: Answer): string {
  return `You asked a person:\n${question.text}\n\nThe answer: ${instruction(question, answer)}`;
}

function instruction(question: Question, answer: Answer): string {
  switch (answer.kind) {
    case 'accept':
      return 'yes. Go ahead; if you are asked to confirm it again, that is expected.';
    case 'decline':
      return question.kind === 'approval'
        ? 'no. Do not do this; find another way, or say why there is none.'
        : 'none. Decide for yourself, or say why you cannot go on without it.';
    case 'input': {
      const label = (id: string) => question.fields.find((field) => field.id === id)?.label ?? id;
      return Object.entries(answer.values)
        .map(([id, value]) => `\n${label(id)}: ${value}`)
        .join('');
    }
  }
}
