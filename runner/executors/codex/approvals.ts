import { type Fields, fieldsOf, textOf } from '../../../src/domain/fields.js';
import type { Answer, Question } from '../../../src/domain/question.js';
import { boundData, cutText } from './bound-data.js';
import { REQUESTS } from './protocol.js';

/** Something the agent wants from a person, and how their answer goes back. `null`: there is no answer, so nothing is granted. */
export interface Ask {
  readonly draft: Omit<Question, 'id'>;
  reply(answer: Answer | null): unknown;
}

const MAX_QUESTION = 20_000;

/** `null` when the request is not an approval. `changes`: the file changes of the item that it is about. */
export function approvalOf(method: string, params: Fields, changes: readonly unknown[]): Ask | null {
  switch (method) {
    case REQUESTS.commandApproval:
      return approval(commandText(params), { decision: 'accept' }, { decision: 'decline' });
    case REQUESTS.fileApproval:
      return approval(fileText(params, changes), { decision: 'accept' }, { decision: 'decline' });
    case REQUESTS.permissionsApproval:
      return approval(permissionsText(params), granted(params), { permissions: {}, scope: 'turn' });
    case REQUESTS.elicitation:
      return isToolApproval(params) ? approval(toolText(params), elicited('accept', {}), elicited('decline')) : null;
    default:
      return null;
  }
}

export function elicited(action: 'accept' | 'decline', content: object | null = null): object {
  return { action, content, _meta: null };
}

export function questionText(parts: readonly (string | null)[]): string {
  return cutText(parts.filter((part) => part !== null).join('\n'), MAX_QUESTION);
}

export function approval(text: string, accept: object, decline: object): Ask {
  return {
    draft: { kind: 'approval', text, fields: [] },
    reply: (answer) => (answer?.kind === 'accept' ? accept : decline),
  };
}

function commandText(params: Fields): string {
  return questionText([
    commandHeading(params),
    line('Command', params.command),
    line('Folder', params.cwd),
    line('Reason', params.reason),
  ]);
}

function commandHeading(params: Fields): string {
  const { host, protocol } = fieldsOf(params.networkApprovalContext);
  if (textOf(host)) return `Reach ${textOf(host)} over ${textOf(protocol) ?? 'the network'}`;
  return params.kind === 'writeStdin' ? 'Type into a running command' : 'Run a command';
}

function fileText(params: Fields, changes: readonly unknown[]): string {
  const diffs = changes.map((change) => {
    const { path, diff } = fieldsOf(change);
    return `${textOf(path) ?? '(no path)'}\n${textOf(diff) ?? ''}`;
  });
  return questionText([
    'Change files',
    line('Reason', params.reason),
    line('Writable from now on', params.grantRoot),
    ...diffs,
  ]);
}

function permissionsText(params: Fields): string {
  return questionText([
    'Grant more rights for this turn',
    line('Reason', params.reason),
    JSON.stringify(boundData(params.permissions), null, 2),
  ]);
}

function toolText(params: Fields): string {
  const { tool_description: description, tool_params: input } = fieldsOf(params._meta);
  return questionText([
    `Use a tool of the MCP server ${textOf(params.serverName) ?? '(unnamed)'}`,
    textOf(params.message),
    line('What it does', description),
    input === undefined ? null : `Input: ${JSON.stringify(boundData(input))}`,
  ]);
}

/** Exactly what was asked for, for this turn only. */
function granted(params: Fields): object {
  const entries = Object.entries(fieldsOf(params.permissions)).filter(([, value]) => value !== null);
  return { permissions: Object.fromEntries(entries), scope: 'turn' };
}

function isToolApproval(params: Fields): boolean {
  return textOf(fieldsOf(params._meta).codex_approval_kind) !== null;
}

function line(label: string, value: unknown): string | null {
  const text = Array.isArray(value) ? value.filter((part) => typeof part === 'string').join(' ') : textOf(value);
  return text === null ? null : `${label}: ${text}`;
}
