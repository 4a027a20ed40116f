import { basename } from 'node:path';

/** Whose systemd: that of the user, or that of the machine. */
export type Scope = 'user' | 'system';

const MAX_LENGTH = 48;

/** What `--name` may be: it becomes part of the names of files and of a unit. */
export function isServiceName(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(text) && text.length <= MAX_LENGTH && !text.endsWith('.service');
}

/** The name of a service by the folder of its workflow, as near to it as may be. */
export function nameOfFolder(folder: string): string {
  const plain = basename(folder)
    .replace(/[^A-Za-z0-9_.-]+/g, '-')
    .replace(/\.service$/, '')
    .slice(0, MAX_LENGTH)
    .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '');
  return plain === '' ? 'workflow' : plain;
}

export function unitNameOf(name: string): string {
  return `baton-${name}.service`;
}

/** The name of a service by the name of its unit file; `null` for a file that cannot be ours. */
export function serviceNameOf(file: string): string | null {
  const name = /^baton-(.+)\.service$/.exec(file)?.[1];
  return name !== undefined && isServiceName(name) ? name : null;
}
