import { type Fields, fieldsOf, listOf } from '../domain/fields.js';
import { changedFiles } from '../narrate/changed-files.js';
import { because, code, command, line, took } from './phrases.js';

/** What an item of the agent says when it begins. Most are told when they are done. */
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

/** `workspace`: where the agent works, as far as that is known. */
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

/** The headline of a summary, without its stars. */
function thought(item: Fields): string | null {
  const text = line(listOf(item.summary)[0]).replaceAll('**', '').trim();
  return text === '' ? null : `thought: ${text}`;
}

function endedTool(name: string, item: Fields, said: unknown): string {
  const failed = item.status === 'failed' || item.success === false;
  return `called ${name || 'a tool'}${argumentsOf(item.arguments)}${failed ? `, which failed${because(said)}` : ''}`;
}

/** `(state: Done)`: short plain values only; a long text is not for one line. */
function argumentsOf(value: unknown): string {
  const shown = Object.entries(fieldsOf(value))
    .filter(([, argument]) => ['string', 'number', 'boolean'].includes(typeof argument))
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
