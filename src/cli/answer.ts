import type { AnswerRequest, IssueView, QuestionView } from '../api/schemas.js';
import { lastWord } from '../domain/shell-word.js';
import { neutralise, neutraliseLines } from '../text/neutralise.js';
import { chop } from '../text/terminal-text.js';
import type { DaemonClient, DaemonTarget } from './client.js';
import { getIssue, issuePath, lateShape, withDaemon } from './client.js';
import { type Io, printProblem } from './io.js';
import { openPrompt, type Prompt, PromptClosed } from './prompt.js';

export interface AnswerOptions {
  /** Without one, all open questions are listed. */
  readonly issue: string | undefined;
  readonly given: GivenAnswer;
  /** The id of the question. */
  readonly question: string | undefined;
  readonly target: DaemonTarget;
}

/** Answers a question of an agent. Without an answer it prompts for one, if there is a terminal. */
export async function answer({ issue, given, question: questionId, target }: AnswerOptions, io: Io): Promise<number> {
  if (issue === undefined && (isGiven(given) || questionId !== undefined))
    return printProblem(
      'name the issue to answer: baton answer <issue>; "baton answer" alone lists the open questions',
      2,
      io,
    );
  return withDaemon(target, io, async (client) => {
    if (issue === undefined) return list(client, io);
    const view = await getIssue(client, issue);
    const open = questionsOf(view).filter(({ id }) => questionId === undefined || id === questionId);
    if (open.length === 0) return printProblem(nothingOpen(view, questionId), 1, io);
    if (!isGiven(given)) return io.isTTY ? promptForAll(client, view, open, io) : printOpen(open, view, io);
    const [question, ...others] = open;
    if (!question || others.length > 0) return printProblem(severalOpen(view, open), 1, io);
    const request = requestOf(given, question);
    return 'problem' in request ? printProblem(request.problem, 2, io) : send(client, view, request, io);
  });
}

/** Oldest first. */
function questionsOf({ asking, parked }: IssueView): readonly QuestionView[] {
  if (asking) return asking.questions;
  return parked?.question ? [parked.question] : [];
}

async function send(client: DaemonClient, view: IssueView, request: AnswerRequest, io: Io): Promise<number> {
  const { message } = await client.post(
    issuePath(view.issue_identifier, 'answer'),
    request,
    lateShape('acceptedShape'),
  );
  io.stdout.write(`${neutraliseLines(message)}\n`);
  return 0;
}

async function promptForAll(
  client: DaemonClient,
  view: IssueView,
  open: readonly QuestionView[],
  io: Io,
): Promise<number> {
  for (const question of open) {
    io.stdout.write(`${heading(view)}\n${questionText(question, io.stdout.columns)}`);
    const request = await promptForAnswer(question, io);
    if (request === null) return printProblem('no answer was given; the question stays open', 1, io);
    await send(client, view, request, io);
  }
  return 0;
}

function printOpen(open: readonly QuestionView[], view: IssueView, io: Io): number {
  for (const question of open) io.stdout.write(`${heading(view)}\n${questionText(question, io.stdout.columns)}`);
  const [first, ...others] = open;
  if (!first) return 2;
  const which = others.length === 0 ? '' : ' and --question';
  return printProblem(`give an answer: ${waysToAnswer(first)}${which}`, 2, io);
}

async function list(client: DaemonClient, io: Io): Promise<number> {
  const { asking, parked } = await client.get('/api/v1/state', lateShape('stateShape'));
  const all = [
    ...asking.map((one) => ({ ...one, open: one.questions })),
    ...parked.flatMap((one) => (one.question ? [{ ...one, open: [one.question] }] : [])),
  ];
  if (all.length === 0) io.stdout.write('No question is open.\n');
  for (const one of all) {
    io.stdout.write(
      `${heading(one)}\n${one.open.map((question) => questionText(question, io.stdout.columns)).join('')}`,
    );
    io.stdout.write(`  baton answer ${neutralise(lastWord(one.issue_identifier))}\n`);
  }
  return 0;
}

function heading({ issue_identifier: identifier, title }: { issue_identifier: string; title: string }): string {
  return neutralise(`${identifier}  ${title}`);
}

function nothingOpen(view: IssueView, questionId: string | undefined): string {
  const open = questionsOf(view);
  if (questionId === undefined || open.length === 0) return `no question about ${view.issue_identifier} is open`;
  return `no question ${questionId} is open; open: ${open.map(({ id }) => id).join(', ')}`;
}

function severalOpen({ issue_identifier: identifier }: IssueView, open: readonly QuestionView[]): string {
  return `${open.length} questions are open about ${identifier}: name one with --question ${open.map(({ id }) => id).join(' or ')}`;
}

/** The answer on the command line. */
export interface GivenAnswer {
  readonly text: string | undefined;
  readonly accept: boolean;
  readonly decline: boolean;
  /** Each `id=value`. */
  readonly fields: readonly string[];
}

interface Problem {
  readonly problem: string;
}

export function isGiven({ text, accept, decline, fields }: GivenAnswer): boolean {
  return text !== undefined || accept || decline || fields.length > 0;
}

/** The request to the daemon, or the problem with the answer and a correct example. Pure. */
export function requestOf(given: GivenAnswer, question: QuestionView): AnswerRequest | Problem {
  const { text, accept, decline, fields } = given;
  const id = { question_id: question.id };
  if (text !== undefined && (accept || decline || fields.length > 0))
    return { problem: `give "${text}" or a flag, not both` };
  // Declining is always possible: the agent continues without an answer.
  if (decline || isNo(text, question)) return { ...id, decision: 'decline' };
  if (question.is_cut) return { problem: `${CUT}; give --decline` };
  if (question.kind === 'approval')
    return fields.length > 0 ? needsOther(question) : decisionOf(text, accept, question);
  if (accept && question.fields.length === 0) return { ...id, values: {} };
  if (accept) return { problem: `this question needs words, not a yes: ${waysToAnswer(question)}` };
  return text === undefined ? fromPairs(fields, question) : fromText(text, question);
}

const CUT =
  'this question is too long to be shown whole, so it can only be declined; the transcript of the run has all of it (baton logs)';
const YES = ['yes', 'y', 'accept', 'ok'];
const NO = ['no', 'n', 'decline'];

/** The answer to an approval, in words. */
function isNo(text: string | undefined, { kind }: QuestionView): boolean {
  return kind === 'approval' && text !== undefined && NO.includes(text.trim().toLowerCase());
}

function decisionOf(text: string | undefined, accept: boolean, question: QuestionView): AnswerRequest | Problem {
  const word = text?.trim().toLowerCase();
  const isYes = accept || (word !== undefined && YES.includes(word));
  return isYes ? { question_id: question.id, decision: 'accept' } : needsOther(question);
}

function fromText(text: string, question: QuestionView): AnswerRequest | Problem {
  const [only, ...others] = question.fields;
  if (only && others.length === 0) return filled([[only.id, text]], question);
  return { problem: `this question has ${question.fields.length} fields: ${waysToAnswer(question)}` };
}

function fromPairs(pairs: readonly string[], question: QuestionView): AnswerRequest | Problem {
  const values: [string, string][] = [];
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) return { problem: `--field must be id=value, not "${pair}"` };
    values.push([pair.slice(0, at), pair.slice(at + 1)]);
  }
  const twice = values.find(([name], index) => values.findIndex(([other]) => other === name) !== index);
  if (twice) return { problem: `the field ${twice[0]} is given twice` };
  return filled(values, question);
}

/** Requires a value for every field and for no other. An empty value would look like declining, which has its own flag. */
function filled(values: readonly [string, string][], question: QuestionView): AnswerRequest | Problem {
  const ids = question.fields.map(({ id }) => id);
  const unknown = values.find(([name]) => !ids.includes(name));
  if (unknown) return { problem: `there is no field ${unknown[0]}; this question needs ${waysToAnswer(question)}` };
  const empty = values.find(([, value]) => value.trim() === '');
  if (empty) return { problem: `${neutralise(empty[0])} is empty; give an answer or --decline` };
  const missing = ids.filter((id) => !values.some(([name]) => name === id));
  if (missing.length > 0) return { problem: `not answered: ${missing.join(', ')}; give ${waysToAnswer(question)}` };
  return { question_id: question.id, values: Object.fromEntries(values) };
}

function needsOther(question: QuestionView): Problem {
  return { problem: `this question needs ${waysToAnswer(question)}` };
}

/** Enter alone leaves a question open, to prevent accidental acceptance. */
const LATER = 'leave it open';
/** After the first field Enter must not discard what was typed. */
const HOW_TO_LEAVE = 'Ctrl-D leaves all of it open';

/** Prompts for an answer. Returns null when the person leaves the question open. */
async function promptForAnswer(question: QuestionView, io: Io): Promise<AnswerRequest | null> {
  const prompt = openPrompt(io);
  try {
    const isYesOrNo = question.kind === 'approval' || question.fields.length === 0 || question.is_cut;
    return isYesOrNo ? await promptForDecision(question, prompt, io) : await promptForFields(question, prompt, io);
  } catch (error) {
    if (!(error instanceof PromptClosed)) throw error;
    // The next output must not follow the prompt on its line.
    io.stdout.write('\n');
    return null;
  } finally {
    prompt.close();
  }
}

async function promptForDecision(question: QuestionView, prompt: Prompt, io: Io): Promise<AnswerRequest | null> {
  const { id, kind, is_cut: isCut = false } = question;
  if (isCut) io.stdout.write(`  ${CUT}\n`);
  const yes: AnswerRequest =
    kind === 'approval' ? { question_id: id, decision: 'accept' } : { question_id: id, values: {} };
  for (;;) {
    const word = await prompt.ask(isCut ? 'd declines' : 'Accept or decline?', LATER);
    if (word === LATER) return null;
    if (!isCut && /^(a|accept|y|yes)$/i.test(word)) return yes;
    if (/^(d|decline|n|no)$/i.test(word)) return { question_id: id, decision: 'decline' };
    io.stdout.write(
      `  "${neutralise(word)}" is ${isCut ? 'not d(ecline)' : 'neither a(ccept) nor d(ecline)'}; Enter leaves the question open\n`,
    );
  }
}

/** Asks for each field in turn. */
async function promptForFields({ id, fields }: QuestionView, prompt: Prompt, io: Io): Promise<AnswerRequest | null> {
  const values: [string, string][] = [];
  for (const field of fields) {
    const given = await promptForField(field, values.length > 0, prompt, io);
    if (given === null) return null;
    if (given === DECLINED) return { question_id: id, decision: 'decline' };
    values.push([field.id, given.text]);
  }
  return { question_id: id, values: Object.fromEntries(values) };
}

const DECLINED = 'declined';
type Field = QuestionView['fields'][number];

async function promptForField(
  { id, label, options }: Field,
  isLater: boolean,
  prompt: Prompt,
  io: Io,
): Promise<{ readonly text: string } | typeof DECLINED | null> {
  io.stdout.write(options.map((option, index) => `  ${index + 1}  ${neutralise(option)}\n`).join(''));
  const how = options.length === 0 ? '(d declines)' : '(a number or your own words; d declines)';
  const question = `${neutralise(label === '' ? id : label)} ${how}`;
  const nothing = isLater ? HOW_TO_LEAVE : LATER;
  for (;;) {
    const given = await prompt.ask(question, nothing);
    if (given !== nothing) {
      // An option may be named d.
      const isOption = options.includes(given);
      if (!isOption && /^(d|decline)$/i.test(given)) return DECLINED;
      return { text: isOption ? given : (options[Number(given) - 1] ?? given) };
    }
    if (!isLater) return null;
    io.stdout.write('  An answer is required here; the answers so far are kept\n');
  }
}

const BAR = '  │ ';
const MIN_COLUMNS = 40;

/** The text and the fields of a question without repetition: agents often put the label of a field into the text, too. */
export function questionLines({ text, fields }: QuestionView): { readonly text: string[]; readonly fields: string[] } {
  const labels = new Set(fields.map(({ label }) => label.trim()));
  const lines = text.trimEnd().split('\n');
  const [only] = fields;
  if (only && fields.length === 1) {
    const isRepeated = only.label.trim() === '' || lines.some((one) => one.trim() === only.label.trim());
    const line = `${isRepeated ? '' : only.label}${choice(only.options)}`.trim();
    return { text: lines, fields: line === '' ? [] : [line] };
  }
  return {
    text: lines.filter((line) => line.trim() === '' || !labels.has(line.trim())),
    fields: fields.map(({ id, label, options }) => `${id}: ${label === '' ? id : label}${choice(options)}`),
  };
}

/** A question as harmless text. Every row of the agent's text stands behind a bar, so that it cannot be mistaken for our own. */
export function questionText(question: QuestionView, columns: number | undefined): string {
  const { text, fields } = questionLines(question);
  return [...text, ...fields]
    .flatMap((line) => rows(neutralise(line), columns))
    .map((row) => `${BAR}${row}\n`)
    .join('');
}

/** The flags that answer a question. */
export function waysToAnswer({ kind, fields, is_cut: isCut }: QuestionView): string {
  if (isCut) return `--decline: ${CUT}`;
  if (kind === 'approval' || fields.length === 0) return '--accept or --decline';
  const flags = fields.map(({ id }) => `--field ${neutralise(id)}=…`).join(' ');
  return fields.length === 1 ? `the answer in words, ${flags}, or --decline` : `${flags}, or --decline`;
}

function choice(options: readonly string[]): string {
  return options.length === 0 ? '' : ` (${options.join(' | ')})`;
}

function rows(line: string, columns: number | undefined): string[] {
  return columns === undefined ? [line] : chop(line, Math.max(MIN_COLUMNS, columns) - BAR.length);
}
