import { type Fields, fieldsOf, listOf } from '../domain/json.js';
import { counted } from './format-numbers.js';
import { because, code, command, line, took } from './phrases.js';

/** The start of an item. Most items are described when they end. */
export function begunItem(item: Fields): string | null {
  switch (item.type) {
    case 'commandExecution':
      return `is running ${command(item.command)}`;
    case 'reasoning':
      return 'is thinking';
    case 'contextCompaction':
      return 'is shortening what it remembers';
    default:
      return null;
  }
}

/** The end of an item. `workspace`: its folder, when it is known. */
export function endedItem(item: Fields, workspace: unknown): string | null {
  switch (item.type) {
    case 'agentMessage':
      return line(item.text) === '' ? null : `said: ${line(item.text)}`;
    case 'commandExecution':
      return endedCommand(item);
    case 'fileChange':
      return endedChange(item, workspace);
    case 'reasoning':
      return thought(item);
    case 'dynamicToolCall':
      return endedTool(line(item.tool, MAX_NAME), item, textIn(item.contentItems));
    case 'mcpToolCall':
      return endedTool(
        `${line(item.server, MAX_NAME)}.${line(item.tool, MAX_NAME)}`,
        item,
        fieldsOf(item.error).message,
      );
    case 'collabAgentToolCall':
      return `used a sub-agent${because(item.tool)}`;
    case 'webSearch':
      return `searched the web for ${code(item.query)}`;
    case 'imageView':
      return `looked at ${code(item.path)}`;
    case 'plan':
      return `plans: ${line(item.text) || 'nothing yet'}`;
    default:
      return null;
  }
}

const MAX_NAME = 60;
const MAX_VALUE = 40;
const MAX_ARGUMENTS = 3;

function endedCommand(item: Fields): string {
  const shown = command(item.command);
  if (item.status === 'declined') return `was not allowed to run ${shown}`;
  const exit = typeof item.exitCode === 'number' ? `, exit ${line(String(item.exitCode))}` : '';
  return `ran ${shown}${exit}${took(item.durationMs)}`;
}

function endedChange(item: Fields, workspace: unknown): string {
  if (item.status === 'declined') return 'was not allowed to edit files';
  return item.status === 'failed' ? 'could not edit files' : changedFiles(item, workspace);
}

/** The headline of a summary, without its asterisks. */
function thought(item: Fields): string | null {
  const text = line(listOf(item.summary)[0]).replaceAll('**', '').trim();
  return text === '' ? null : `thought: ${text}`;
}

function endedTool(name: string, item: Fields, reason: unknown): string {
  const failed = item.status === 'failed' || item.success === false;
  const end = failed ? `, which failed${because(reason)}` : commentIn(item.arguments);
  return `called ${name || 'a tool'}${argumentsOf(item.arguments)}${end}`;
}

/** Beside data that was cut. */
function isMark(name: string): boolean {
  return name.endsWith('_omitted');
}

/** The first line of a comment that is too long to stand among the arguments. */
function commentIn(value: unknown): string {
  const { comment } = fieldsOf(value);
  if (typeof comment !== 'string' || comment.length <= MAX_VALUE) return '';
  return because(comment.trim().split('\n', 1)[0]);
}

/** `(state: Done)`: short plain values only. */
function argumentsOf(value: unknown): string {
  const shown = Object.entries(fieldsOf(value))
    .filter(([name, argument]) => ['string', 'number', 'boolean'].includes(typeof argument) && !isMark(name))
    .filter(([, argument]) => String(argument).length <= MAX_VALUE)
    .slice(0, MAX_ARGUMENTS)
    .map(([name, argument]) => `${line(name, MAX_VALUE)}: ${line(String(argument), MAX_VALUE)}`);
  return shown.length === 0 ? '' : ` (${shown.join(', ')})`;
}

function textIn(contentItems: unknown): string {
  return listOf(contentItems)
    .map((item) => line(fieldsOf(item).text))
    .join(' ');
}

/** `edited 3 files, +42 −7`, without line counts when a diff was cut. */
function changedFiles(item: Fields, workspace: unknown): string {
  const changes = listOf(item.changes);
  const files = changes.map(fieldsOf).filter((change) => typeof change.path === 'string');
  const total = files.length + countOf(item.changes_omitted);
  const [only] = files;
  const what = total === 1 && only ? fileName(only.path, workspace) : counted(total, 'file');
  const verb = total > 0 && files.every((change) => kindOf(change) === 'add') ? 'added' : 'edited';
  if (total !== files.length || files.some(isCut)) return `${verb} ${what}`;
  const plus = sum(files.map((change) => linesWith(change, '+')));
  const minus = sum(files.map((change) => linesWith(change, '-')));
  return `${verb} ${what}${plus + minus === 0 ? '' : `, +${plus} −${minus}`}`;
}

const CHANGED_FILES_MAX_NAME = 80;

/** Relative to the workspace. Only the end of a long path is shown. */
function fileName(path: unknown, workspace: unknown): string {
  const full = String(path);
  const root = typeof workspace === 'string' && workspace !== '' ? `${workspace.replace(/\/+$/, '')}/` : null;
  const parts = (root !== null && full.startsWith(root) ? full.slice(root.length) : full).split('/');
  const short = parts.slice(-2).join('/');
  return `\`${line(short, CHANGED_FILES_MAX_NAME) || '?'}\``;
}

/** codex sends the text of a new or deleted file, and a unified diff of a changed one. */
function linesWith(change: Fields, sign: '+' | '-'): number {
  const diff = typeof change.diff === 'string' ? change.diff : '';
  const kind = kindOf(change);
  if (kind === 'add') return sign === '+' ? lineCount(diff) : 0;
  if (kind === 'delete') return sign === '-' ? lineCount(diff) : 0;
  const lines = diff.split('\n');
  const hunks = lines.slice(
    Math.max(
      0,
      lines.findIndex((text) => text.startsWith('@@')),
    ),
  );
  return hunks.filter((text) => text.startsWith(sign)).length;
}

function kindOf(change: Fields): unknown {
  return fieldsOf(change.kind).type;
}

function lineCount(text: string): number {
  if (text === '') return 0;
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

/** Data that was cut has the number of characters or entries left out in `<name>_omitted` beside it. */
function isCut(change: Fields): boolean {
  return typeof change.diff !== 'string' || countOf(change.diff_omitted) > 0;
}

function countOf(value: unknown): number {
  return Number.isSafeInteger(value) ? Math.max(0, value as number) : 0;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
