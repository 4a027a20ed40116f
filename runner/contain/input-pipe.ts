import { closeSync, constants, openSync, readSync } from 'node:fs';
import { Socket } from 'node:net';
import type { execa } from 'execa';
import { BatonError } from '../../src/domain/errors.js';
import type { InputPipe } from './process.js';
import { type StartedProcess, SYSTEM_PATH, startProcess } from './start-process.js';

interface OpenedPipe extends InputPipe {
  /** The descriptor for the child. */
  readonly readEnd: number;
  /** Called after the spawn. */
  closeReadEnd(): void;
}

/**
 * Opens a pipe for the stdin of a child. The stdin that Node.js makes is a socket: it cannot be opened as /dev/stdin, and it does not show
 * whether the child has read a small input. Node.js cannot make a pipe, so a shell makes one, and all ends are opened through /proc. We
 * keep an end for reading, in which unread bytes stay. Returns null on systems without /proc. Throws `BatonError`.
 */
export async function openInputPipe(run: typeof execa, bash: string): Promise<OpenedPipe | null> {
  if (process.platform !== 'linux') return null;
  const options = { cwd: '/', stdin: 'pipe', report: false, channel: false } as const;
  const shell = await startProcess(run, { file: bash, args: ['-pc', MAKE_PIPE], env: { PATH: SYSTEM_PATH } }, options);
  const opened: number[] = [];
  try {
    await untilMade(shell);
    const path = `/proc/${shell.pid}/fd/3`;
    for (const flags of [RDONLY | NONBLOCK, WRONLY | NONBLOCK, RDONLY]) opened.push(openSync(path, flags));
    return inputPipe(...(opened as [number, number, number]));
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    const why = error instanceof Error ? error.message : String(error);
    throw new BatonError(
      'spawn_failed',
      `A pipe for the stdin of a process could not be made: ${why}`,
      {},
      { cause: error },
    );
  } finally {
    shell.stdin?.end();
    shell.stdout.resume();
    shell.stderr.resume();
    await shell.exited;
  }
}

const { O_RDONLY: RDONLY, O_WRONLY: WRONLY, O_NONBLOCK: NONBLOCK } = constants;

/** Descriptor 3 of the shell is a pipe until its stdin ends. */
const MAKE_PIPE = 'exec 3< <(cat); echo; read -r _';

async function untilMade({ stdout, exited }: StartedProcess): Promise<void> {
  const made = new Promise<boolean>((resolve) => stdout.once('data', () => resolve(true)));
  if (!(await Promise.race([made, exited.then(() => false)]))) throw new Error('the shell ended too early');
}

function inputPipe(ours: number, writeEnd: number, readEnd: number): OpenedPipe {
  const writable = new Socket({ fd: writeEnd, readable: false, writable: true });
  let isOpen = true;
  return {
    readEnd,
    writable,
    closeReadEnd: () => closeSync(readEnd),
    hasUnread: () => isOpen && readsByte(ours),
    close() {
      writable.destroy();
      if (isOpen) closeSync(ours);
      isOpen = false;
    },
  };
}

function readsByte(fd: number): boolean {
  try {
    return readSync(fd, Buffer.alloc(1)) > 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
    throw error;
  }
}
