import { randomInt } from 'node:crypto';
import { chownSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

const NOBODY = 65534;

/** The folder of cgroup v2 in which tests can make groups; null when they are no root or there is none. */
export const groupRoot: string | null =
  process.platform === 'linux' && process.geteuid?.() === 0
    ? (/^\d+ \d+ \S+ \/ (\S+) rw\S* .*- cgroup2 \S+ rw/m.exec(readFileSync('/proc/self/mountinfo', 'utf8'))?.[1] ??
      null)
    : null;

const read = (folder: string, name: string) => readFileSync(join(folder, name), 'utf8');

/** The controllers that a group of a test has. Systems that still use cgroup v1 have none. */
export const groupControllers: readonly string[] =
  groupRoot === null ? [] : read(groupRoot, 'cgroup.subtree_control').trim().split(' ');

/** A group of its own for a test, given to an ordinary user as systemd does it for `Delegate=`. */
export function delegatedGroup(owner: 'root' | 'an ordinary user' = 'root'): string {
  if (groupRoot === null) throw new Error('no cgroup v2');
  const group = join(groupRoot, `baton-test-${randomInt(1_000_000_000)}`);
  mkdirSync(group);
  if (owner !== 'root')
    for (const name of ['.', 'cgroup.procs', 'cgroup.subtree_control', 'cgroup.threads'])
      chownSync(join(group, name), NOBODY, NOBODY);
  onTestFinished(() => removeGroup(group));
  return group;
}

export function processesIn(group: string): readonly number[] {
  return (read(group, 'cgroup.procs').match(/\d+/g) ?? []).map(Number);
}

async function removeGroup(group: string): Promise<void> {
  writeFileSync(join(group, 'cgroup.kill'), '1');
  for (let tries = 0; ; tries += 1) {
    try {
      return removeTree(group);
    } catch (error) {
      if (tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function removeTree(group: string): void {
  for (const entry of readdirSync(group, { withFileTypes: true }))
    if (entry.isDirectory()) removeTree(join(group, entry.name));
  rmdirSync(group);
}
