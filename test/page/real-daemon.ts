import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { agentCommand, type TestDaemon, testDaemon } from '../support/test-daemon.js';

export interface PageDaemon extends TestDaemon {
  readonly url: string;
  /** As `baton open` prints it. */
  readonly openUrl: string;
}

/** The whole daemon with its page, and agents that run `command`. */
export async function pageDaemon(command: string, settings = ''): Promise<PageDaemon> {
  const quoted = JSON.stringify(command);
  const daemon = await testDaemon({
    settings: `server: { port: 0 }\ncodex: { command: ${quoted}, on_approval_request: ask }\n${settings}`,
  });
  const url = String(daemon.logLines.find((line) => line.msg === 'serving status over HTTP')?.url ?? '');
  const token = (await readFile(join(daemon.stateDir, 'http-token'), 'utf8')).trim();
  // The state is read through a getter, which a copy would freeze.
  return Object.assign(daemon, { url, openUrl: `${url}/#token=${token}` });
}

export const hangs = (): string => agentCommand('hangs');

export const asksApproval = (): string =>
  agentCommand(
    'asks',
    'item/commandExecution/requestApproval',
    JSON.stringify({ command: 'rm -rf build', cwd: 'packages/api', reason: 'the build is broken' }),
  );

export const asksInput = (): string =>
  agentCommand(
    'asks',
    'item/tool/requestUserInput',
    JSON.stringify({
      questions: [
        {
          id: 'keep',
          header: 'Retention',
          question: 'How long?',
          options: [{ label: '30 days' }, { label: '90 days' }],
        },
        { id: 'name', header: 'Name', question: 'What is it called?' },
      ],
    }),
  );

/** Every message that the agent of an issue got. */
export async function receivedBy(daemon: TestDaemon, key: string): Promise<string> {
  return readFile(join(daemon.workspaces, key, 'received.jsonl'), 'utf8');
}
