import { access, constants } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';

export interface Desk {
  readonly platform: NodeJS.Platform;
  readonly env: NodeJS.ProcessEnv;
  readonly isRoot: boolean;
}

/** The program that shows a URL to the person who sits here; `null`: nobody does, or there is none. */
export async function findOpener(desk: Desk): Promise<string | null> {
  const name = openerName(desk);
  if (name === null) return null;
  const folders = (desk.env.PATH ?? '').split(':').filter((folder) => isAbsolute(folder));
  for (const folder of folders) {
    const path = join(folder, name);
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return null;
}

/** A browser as root is asking for trouble, and root's desktop is nobody's. */
function openerName({ platform, env, isRoot }: Desk): string | null {
  if (isRoot) return null;
  const isSet = (name: string) => (env[name] ?? '') !== '';
  if (platform === 'darwin') return isSet('SSH_CONNECTION') ? null : 'open';
  return platform === 'linux' && (isSet('DISPLAY') || isSet('WAYLAND_DISPLAY')) ? 'xdg-open' : null;
}
