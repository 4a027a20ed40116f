import { type AnswerRequest, acceptedShape, type IssueView, type QuestionView, stateShape } from '../api/schemas.js';
import { shellWord } from '../domain/shell-word.js';
import { neutralise, neutraliseLines } from '../text/neutralise.js';
import { chop } from '../text/terminal-text.js';
import type { DaemonClient, DaemonTarget } from './client.js';
import { getIssue, issuePath, withDaemon } from './client.js';
import type { Io } from './io.js';
import { openPrompt, type Prompt, PromptClosed } from './prompt.js';

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
    const open = openQuestionsAnswer(view).filter(({ id }) => wanted === undefined || id === wanted);
    if (open.length === 0) return complain(1, nothingOpen(view, wanted), io);
    if (!isGiven(given)) return io.isTTY ? askAll(client, view, open, io) : tell(open, view, io);
    const [question, ...others] = open;
    if (!question || others.length > 0) return complain(1, `${severalOpen(view, open)}`, io);
    const request = requestOf(given, question);
    return 'problem' in request ? complain(2, request.problem, io) : send(client, view, request, io);
  });
}

/** The oldest first. */
function openQuestionsAnswer({ asking, parked }: IssueView): readonly QuestionView[] {
  if (asking) return asking.questions;
  return parked?.question ? [parked.question] : [];
}

async function send(client: DaemonClient, view: IssueView, request: AnswerRequest, io: Io): Promise<number> {
  const { message } = await client.post(issuePath(view.issue_identifier, 'answer'), request, acceptedShape);
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
  const open = openQuestionsAnswer(view);
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

/** What a person gave on the command line. */
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

/** The answer as the daemon takes it, or what is wrong with it and what to type instead. Pure. */
export function requestOf(given: GivenAnswer, question: QuestionView): AnswerRequest | Problem {
  const { text, accept, decline, fields } = given;
  const id = { question_id: question.id };
  if (text !== undefined && (accept || decline || fields.length > 0))
    return { problem: `either "${text}" or a flag, not both` };
  // To decline is always possible: the agent goes on without.
  if (decline) return { ...id, decision: 'decline' };
  if (question.kind === 'approval') return fields.length > 0 ? wanting(question) : decisionOf(text, accept, question);
  if (accept && question.fields.length === 0) return { ...id, values: {} };
  if (accept) return { problem: `this question wants words, not a yes: ${waysToAnswer(question)}` };
  return text === undefined ? fromPairs(fields, question) : fromText(text, question);
}

const YES = ['yes', 'y', 'accept', 'ok'];
const NO = ['no', 'n', 'decline'];

function decisionOf(text: string | undefined, accept: boolean, question: QuestionView): AnswerRequest | Problem {
  const word = text?.trim().toLowerCase();
  if (accept || (word !== undefined && YES.includes(word))) return { question_id: question.id, decision: 'accept' };
  return word !== undefined && NO.includes(word)
    ? { question_id: question.id, decision: 'decline' }
    : wanting(question);
}

function fromText(text: string, question: QuestionView): AnswerRequest | Problem {
  const [only, ...others] = question.fields;
  if (only && others.length === 0) return filled([[only.id, text]], question);
  return { problem: `this question has ${question.fields.length} blanks: ${waysToAnswer(question)}` };
}

function fromPairs(pairs: readonly string[], question: QuestionView): AnswerRequest | Problem {
  const values: [string, string][] = [];
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) return { problem: `--field wants id=value, not "${pair}"` };
    values.push([pair.slice(0, at), pair.slice(at + 1)]);
  }
  const twice = values.find(([name], index) => values.findIndex(([other]) => other === name) !== index);
  if (twice) return { problem: `the field ${twice[0]} is given twice` };
  return filled(values, question);
}

/** Every blank, and no other; to say nothing is to decline, and that is said as such. */
function filled(values: readonly [string, string][], question: QuestionView): AnswerRequest | Problem {
  const ids = question.fields.map(({ id }) => id);
  const unknown = values.find(([name]) => !ids.includes(name));
  if (unknown) return { problem: `there is no field ${unknown[0]}; this question wants ${waysToAnswer(question)}` };
  const empty = values.find(([, value]) => value.trim() === '');
  if (empty) return { problem: `${neutralise(empty[0])} is empty; give an answer or --decline` };
  const missing = ids.filter((id) => !values.some(([name]) => name === id));
  if (missing.length > 0) return { problem: `not answered: ${missing.join(', ')}; give ${waysToAnswer(question)}` };
  return { question_id: question.id, values: Object.fromEntries(values) };
}

function wanting(question: QuestionView): Problem {
  return { problem: `this question wants ${waysToAnswer(question)}` };
}

/** What Enter alone means: nobody says yes by accident. */
const LATER = 'leave it open';
/** The same where something has been said already that Enter must not throw away. */
const HOW_TO_LEAVE = 'Ctrl-D leaves all of it open';

/** Asks the person at the terminal; `null`: they leave it open. */
export async function askPerson(question: QuestionView, io: Io): Promise<AnswerRequest | null> {
  const questions = openPrompt(io);
  try {
    const isYesOrNo = question.kind === 'approval' || question.fields.length === 0;
    return isYesOrNo ? await decide(question, questions, io) : await fillIn(question, questions, io);
  } catch (error) {
    if (!(error instanceof PromptClosed)) throw error;
    // What is said next begins on a line of its own, not behind the prompt.
    io.stdout.write('\n');
    return null;
  } finally {
    questions.close();
  }
}

async function decide({ id, kind }: QuestionView, questions: Prompt, io: Io): Promise<AnswerRequest | null> {
  const yes: AnswerRequest =
    kind === 'approval' ? { question_id: id, decision: 'accept' } : { question_id: id, values: {} };
  for (;;) {
    const word = await questions.ask('Accept or decline?', LATER);
    if (word === LATER) return null;
    if (/^(a|accept|y|yes)$/i.test(word)) return yes;
    if (/^(d|decline|n|no)$/i.test(word)) return { question_id: id, decision: 'decline' };
    io.stdout.write(`  "${neutralise(word)}" is neither: a(ccept) or d(ecline); Enter leaves it open\n`);
  }
}

/** The first blank takes the first thing that is typed: nobody is asked whether they want to answer. */
async function fillIn({ id, fields }: QuestionView, questions: Prompt, io: Io): Promise<AnswerRequest | null> {
  const values: [string, string][] = [];
  for (const field of fields) {
    const given = await fillOne(field, values.length > 0, questions, io);
    if (given === null) return null;
    if (given === DECLINED) return { question_id: id, decision: 'decline' };
    values.push([field.id, given.text]);
  }
  return { question_id: id, values: Object.fromEntries(values) };
}

const DECLINED = 'declined';
type Field = QuestionView['fields'][number];

async function fillOne(
  { id, label, options }: Field,
  isLater: boolean,
  questions: Prompt,
  io: Io,
): Promise<{ readonly text: string } | typeof DECLINED | null> {
  io.stdout.write(options.map((option, index) => `  ${index + 1}  ${neutralise(option)}\n`).join(''));
  const how = options.length === 0 ? '(d declines)' : '(a number or your own words; d declines)';
  const prompt = `${neutralise(label === '' ? id : label)} ${how}`;
  const nothing = isLater ? HOW_TO_LEAVE : LATER;
  for (;;) {
    const given = await questions.ask(prompt, nothing);
    if (given !== nothing) {
      // An option may be called d.
      const isOption = options.includes(given);
      if (!isOption && /^(d|decline)$/i.test(given)) return DECLINED;
      return { text: isOption ? given : (options[Number(given) - 1] ?? given) };
    }
    if (!isLater) return null;
    io.stdout.write('  An answer is needed here: what you said so far is kept\n');
  }
}

const BAR = '  │ ';
const MIN_COLUMNS = 40;

/** A question as lines that nothing is said twice in: agents put the words of a blank into the text, too. */
export function questionLines({ text, fields }: QuestionView): { readonly text: string[]; readonly blanks: string[] } {
  const labels = new Set(fields.map(({ label }) => label.trim()));
  const lines = text.trimEnd().split('\n');
  const [only] = fields;
  if (only && fields.length === 1) {
    const isSaid = only.label.trim() === '' || lines.some((line) => line.trim() === only.label.trim());
    const blank = `${isSaid ? '' : only.label}${choice(only.options)}`.trim();
    return { text: lines, blanks: blank === '' ? [] : [blank] };
  }
  return {
    text: lines.filter((line) => line.trim() === '' || !labels.has(line.trim())),
    blanks: fields.map(({ id, label, options }) => `${id}: ${label === '' ? id : label}${choice(options)}`),
  };
}

/**
 * A question in full, as harmless text. What somebody else wrote stands behind a bar, and is broken here rather than by a terminal of that
 * width: nothing of it can be taken for ours.
 */
export function questionText(question: QuestionView, columns: number | undefined): string {
  const { text, blanks } = questionLines(question);
  return [...text, ...blanks]
    .flatMap((line) => rows(neutralise(line), columns))
    .map((row) => `${BAR}${row}\n`)
    .join('');
}

/** How it can be answered, as flags. */
export function waysToAnswer({ kind, fields }: QuestionView): string {
  if (kind === 'approval' || fields.length === 0) return '--accept or --decline';
  const blanks = fields.map(({ id }) => `--field ${neutralise(id)}=…`).join(' ');
  return fields.length === 1 ? `the answer in words, ${blanks}, or --decline` : `${blanks}, or --decline`;
}

function choice(options: readonly string[]): string {
  return options.length === 0 ? '' : ` (${options.join(' | ')})`;
}

function rows(line: string, columns: number | undefined): string[] {
  return columns === undefined ? [line] : chop(line, Math.max(MIN_COLUMNS, columns) - BAR.length);
}
