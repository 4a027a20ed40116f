import { lstat, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { type RecoverOptions, recover } from '../../../src/cli/recover.js';
import { savedWorkspace } from '../../support/saved-workspace.js';

/** The workspace AB-1, functions to save and delete it, and `baton recover` in a fresh clone of the remote. */
export async function recoverSetup() {
  const place = await savedWorkspace();
  const { base, workspace, git, save, fresh } = place;
  const call = async (cwd: string, options: Partial<RecoverOptions> = { issue: 'AB-1' }, env = {}) => {
    const [out, err] = [collector(), collector()];
    const io = {
      ...{ cwd, homeDir: base, isTTY: false, stdin: new PassThrough(), stdout: out.stream, stderr: err.stream },
      env: { PATH: process.env.PATH, HOME: base, GIT_CONFIG_NOSYSTEM: '1', ...env },
    };
    const fixed = { workflowPath: 'WORKFLOW.md', list: false, stateDir: join(base, 'state'), command: 'baton' };
    const code = await recover({ ...fixed, ...options }, io);
    return { code, out: out.text(), err: err.text() };
  };
  /** Saves, deletes, recovers into a fresh clone, and checks out the result. */
  const roundTrip = async (branch = 'recovered/AB-1') => {
    const before = await contentOf(workspace);
    const { folder, notices } = await save();
    await rm(workspace, { recursive: true });
    const clone = await fresh();
    const result = await call(clone);
    if (result.code === 0) await git(clone, 'checkout', '--quiet', branch);
    return { before, after: await contentOf(clone), clone, folder: folder ?? '', notices, ...result };
  };
  const branches = async (dir: string) =>
    (await git(dir, 'for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads/recovered')).split('\n');
  return { ...place, call, roundTrip, branches };
}

/** Every file below a folder, git's own apart: its path (bytes as Latin-1) with kind, executable bit and bytes. */
export async function contentOf(folder: string): Promise<{ [path: string]: string }> {
  const content: { [path: string]: string } = {};
  const look = async (dir: Buffer): Promise<void> => {
    for (const entry of await readdir(dir, { withFileTypes: true, encoding: 'buffer' })) {
      const path = Buffer.concat([dir, Buffer.from('/'), entry.name]);
      const name = path.subarray(Buffer.byteLength(folder) + 1).toString('latin1');
      if (entry.name.toString() === '.git') continue;
      if (entry.isDirectory()) await look(path);
      else if (entry.isSymbolicLink()) content[name] = `link to ${await readlink(path)}`;
      else content[name] = `${(await lstat(path)).mode & 0o111 ? 'program' : 'file'} ${await readFile(path, 'latin1')}`;
    }
  };
  await look(Buffer.from(folder));
  return content;
}

function collector() {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk, _, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  return { stream, text: () => chunks.join('') };
}
