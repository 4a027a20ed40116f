import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { toBatonError } from '../../src/domain/errors.js';
import { type Delivery, HELD, readDelivery, writeHeldPush } from './delivery-file.js';
import { gitRefused } from './git.js';
import { openHostRepository } from './host-repository.js';
import { pushWork } from './push-work.js';
import { saveRepositories } from './save-repository.js';
import { rememberedRemote, updateWorkspace } from './update-workspace.js';
import { gitFolder, workspaceFolder } from './workspace-git.js';

/**
 * The program behind the scripts in `hooks/scripts`, which runs in the containment of a hook, with its environment. `save` runs contained
 * like an agent.
 */
async function main(command: string | undefined): Promise<number> {
  const { env } = process;
  if (command === 'save') {
    await saveRepositories(required('BATON_SAVE_FOLDER', 'Baton sets it'), env);
    return 0;
  }
  const workspace = required('BATON_WORKSPACE', 'Baton sets it for hooks');
  const identifier = required('BATON_ISSUE_IDENTIFIER', 'Baton sets it for hooks');
  const delivery = await readDelivery(env.BATON_DELIVERY_FILE ?? '', readFile);
  const common = { workspace, identifier, branch: delivery.branch, baseBranch: env.BATON_BASE_BRANCH || null };
  switch (command) {
    case 'update': {
      const host = await hostOf(required('BATON_REPO_URL', 'set it to the repository to work on'), workspace);
      for (const line of await updateWorkspace(host, common)) note(line);
      return 0;
    }
    case 'push':
      return push(workspace, common, delivery);
    default:
      throw gitRefused(`${basename(process.argv[1] ?? '')} knows save, update and push, not ${command}`);
  }
}

async function push(
  workspace: string,
  common: {
    readonly workspace: string;
    readonly identifier: string;
    readonly branch: string | null;
    readonly baseBranch: string | null;
  },
  delivery: Delivery,
): Promise<number> {
  const { env } = process;
  const url = env.BATON_REPO_URL || (await rememberedRemote(workspaceFolder(workspace)));
  if (!url)
    throw gitRefused(
      'there is no BATON_REPO_URL, and the workspace was not made by clone-or-update.sh. Set it to the repository to push to: the settings of the workspace do not count, because an agent can write them',
    );
  const { lines, hold } = await pushWork(await hostOf(url, workspace), {
    ...common,
    title: env.BATON_ISSUE_TITLE ?? '',
    url: env.BATON_ISSUE_URL ?? '',
    rules: delivery.rules,
    approved: delivery.approved,
    secrets: delivery.secrets,
    author: { name: env.BATON_COMMIT_NAME || 'Baton', email: env.BATON_COMMIT_EMAIL || 'baton@localhost' },
  });
  for (const line of lines) note(line);
  if (hold === null) return 0;
  await writeHeldPush(delivery.holdFile, hold);
  process.stderr.write(`baton: the push is held until a person approves it\n${hold.text}\n`);
  return HELD;
}

function hostOf(url: string, workspace: string) {
  return openHostRepository(url, gitFolder(workspace), process.env);
}

function required(name: string, why: string): string {
  const value = process.env[name];
  if (value !== undefined && value !== '') return value;
  throw gitRefused(`${name} is missing: ${why}`);
}

function note(line: string): void {
  process.stdout.write(`baton: ${line}\n`);
}

main(process.argv[2])
  .catch((error: unknown) => {
    const { code, message } = toBatonError(error);
    process.stderr.write(`baton: ${code}: ${message}\n`);
    return 1;
  })
  .then((code) => {
    process.exitCode = code;
  });
