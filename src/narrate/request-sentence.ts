import { type Fields, fieldsOf, listOf } from '../domain/fields.js';
import { because, command, line } from '../text/phrases.js';

/** What the agent asks of people: `null` when the method is no such request. */
export function requestSentence(method: string, data: Fields): string | null {
  const asked = askedFor(method, data);
  return asked === null ? null : `${asked}${answered(data.answered)}`;
}

export function askedFor(method: string, data: Fields): string | null {
  switch (method) {
    case 'item/commandExecution/requestApproval':
      return `asks to run ${command(data.command)}${because(data.reason)}`;
    case 'item/fileChange/requestApproval':
      return `asks to edit files${because(data.reason)}`;
    case 'item/permissions/requestApproval':
      return `asks for more rights${because(data.reason)}`;
    case 'item/tool/requestUserInput':
      return `asks: ${line(fieldsOf(listOf(data.questions)[0]).question) || 'something'}`;
    case 'mcpServer/elicitation/request':
      return `asks for ${line(data.serverName) || 'an MCP server'}${because(data.message)}`;
    default:
      return null;
  }
}

/** How the client answered by its own policy; without a policy a person is asked. */
function answered(answer: unknown): string {
  if (answer === 'decline') return ' (declined)';
  return answer === undefined || answer === 'ask' ? ' (waits for a person)' : '';
}
