import type { Comment, Issue } from '../../../src/domain/issue.js';
import type { Answer, Question } from '../../../src/domain/question.js';
import type { RenderedAgentCli } from '../../../src/domain/steps/plan.js';
import type { StepContext } from '../executor.js';

/** What the first turn of a run says. `resumed`: the thread goes on, so the agent already knows its issue. */
export function openingText({ prompt }: RenderedAgentCli, context: StepContext, resumed: boolean): string {
  const given = context.resume?.answer ?? null;
  const answer = given ? answerText(given.question, given.answer) : null;
  if (!resumed) return answer === null ? prompt : `${prompt}\n\n${answer}`;
  const text = answer ?? context.continuationPrompt(context.issue, 1);
  const unheard = unheardComments(context.issue, context.resume?.heardAtMs ?? null);
  return unheard.length === 0 ? text : `${text}\n\n${commentsText(unheard)}`;
}

/** The clocks of trackers and ours differ. */
const CLOCKS_APART_MS = 60_000;

/** What was said while the thread stood still. Of what nobody dated nobody knows. */
function unheardComments({ comments }: Issue, heardAtMs: number | null): readonly Comment[] {
  if (heardAtMs === null) return comments;
  return comments.filter(({ created_at: at }) => at === null || Date.parse(at) > heardAtMs - CLOCKS_APART_MS);
}

function commentsText(comments: readonly Comment[]): string {
  const said = comments.map(({ author, body }) => `${author ?? 'Somebody'}: ${body}`);
  return ['What was said about the issue meanwhile, oldest first:', ...said].join('\n\n');
}

export function withMessages(text: string, messages: readonly string[]): string {
  return [text, ...messages.map((message) => `A message from a person:\n${message}`)].join('\n\n');
}

function answerText(question: Question, answer: Answer): string {
  return `You asked a person:\n${question.text}\n\nThe answer: ${verdict(question, answer)}`;
}

function verdict(question: Question, answer: Answer): string {
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
