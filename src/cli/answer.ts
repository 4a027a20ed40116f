import { neutralise, neutraliseLines } from '../text/neutralise.js';
import { shellWord } from '../domain/shell-word.js';
import type { QuestionView } from '../status/shapes/entry-shapes.js';
import type { IssueView } from '../status/shapes/issue-shape.js';
import { type AnswerRequest, acceptedShape } from '../status/shapes/request-shapes.js';
import { stateShape } from '../api/schemas.js';
import type { DaemonClient } from './client.js';
import type { DaemonTarget } from './daemon-place.js';
import type { Io } from './io.js';
import { type GivenAnswer, isGiven, requestOf } from './control/answer-request.js';
import { askPerson } from './control/ask-person.js';
import { getIssue } from './control/get-issue.js';
import { questionText, waysToAnswer } from './control/tell-question.js';
import { pathOf, withDaemon } from './with-daemon.js';

export interface AnswerOptions {
  /** Without one: what is asked is listed. */
  readonly issue: string | undefined;
  readonly given: GivenAnswer;
  /** Its id. */
  readonly question: string | undefined;
  readonly target: DaemonTarget;
}

/** Answers what an agent asks. Without an answer a person at a terminal is asked for one. */
export async function answer({ issue, given, question: wanted, target }: AnswerOptions, io: Io): Promise<number> {
  if (issue === undefined && (isGiven(given) || wanted !== undefined))
    return complain(2, 'name the issue that this answers: baton answer <issue>; "baton answer" alone lists them', io);
  return withDaemon(target, io, async (client) => {
    if (issue === undefined) return list(client, io);
    const view = await getIssue(client, issue);
    const open = openQuestions(view).filter(({ id }) => wanted === undefined || id === wanted);
    if (open.length === 0) return complain(1, nothingOpen(view, wanted), io);
    if (!isGiven(given)) return io.isTTY ? askAll(client, view, open, io) : tell(open, view, io);
    const [question, ...others] = open;
    if (!question || others.length > 0) return complain(1, `${severalOpen(view, open)}`, io);
    const request = requestOf(given, question);
    return 'problem' in request ? complain(2, request.problem, io) : send(client, view, request, io);
  });
}

/** The oldest first. */
function openQuestions({ asking, parked }: IssueView): readonly QuestionView[] {
  if (asking) return asking.questions;
  return parked?.question ? [parked.question] : [];
}

async function send(client: DaemonClient, view: IssueView, request: AnswerRequest, io: Io): Promise<number> {
  const { message } = await client.post(pathOf(view.issue_identifier, 'answer'), request, acceptedShape);
  io.stdout.write(`${neutraliseLines(message)}\n`);
  return 0;
}

async function askAll(client: DaemonClient, view: IssueView, open: readonly QuestionView[], io: Io): Promise<number> {
  for (const question of open) {
    io.stdout.write(`${heading(view)}\n${questionText(question, io.stdout.columns)}`);
    const request = await askPerson(question, io);
    if (request === null) return complain(1, 'nothing was answered; it is still open', io);
    await send(client, view, request, io);
  }
  return 0;
}

/** Nobody is there who could be asked. */
function tell(open: readonly QuestionView[], view: IssueView, io: Io): number {
  for (const question of open) io.stdout.write(`${heading(view)}\n${questionText(question, io.stdout.columns)}`);
  const [first, ...others] = open;
  if (!first) return 2;
  const which = others.length === 0 ? '' : ' and --question';
  return complain(2, `give an answer: ${waysToAnswer(first)}${which}`, io);
}

async function list(client: DaemonClient, io: Io): Promise<number> {
  const { asking, parked } = await client.get('/api/v1/state', stateShape);
  const all = [
    ...asking.map((one) => ({ ...one, open: one.questions })),
    ...parked.flatMap((one) => (one.question ? [{ ...one, open: [one.question] }] : [])),
  ];
  if (all.length === 0) io.stdout.write('Nothing is asked.\n');
  for (const one of all) {
    io.stdout.write(
      `${heading(one)}\n${one.open.map((question) => questionText(question, io.stdout.columns)).join('')}`,
    );
    io.stdout.write(`  baton answer ${neutralise(shellWord(one.issue_identifier))}\n`);
  }
  return 0;
}

function heading({ issue_identifier: identifier, title }: { issue_identifier: string; title: string }): string {
  return neutralise(`${identifier}  ${title}`);
}

function nothingOpen(view: IssueView, wanted: string | undefined): string {
  const open = openQuestions(view);
  if (wanted === undefined || open.length === 0) return `nothing is asked about ${view.issue_identifier}`;
  return `no question ${wanted} is open; open: ${open.map(({ id }) => id).join(', ')}`;
}

function severalOpen({ issue_identifier: identifier }: IssueView, open: readonly QuestionView[]): string {
  return `${open.length} questions are open about ${identifier}: name one with --question ${open.map(({ id }) => id).join(' or ')}`;
}

function complain(code: 1 | 2, text: string, { stderr }: Io): number {
  stderr.write(`baton: ${neutraliseLines(text)}\n`);
  return code;
}
