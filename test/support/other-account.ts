import { rmSync } from 'node:fs';
import { onTestFinished, vi } from 'vitest';

const UID = 3_999_999_999;

/** Makes this process take itself for another account, so that the folder for Codex that it makes in /tmp seems to be someone else's. */
export function otherAccount(): void {
  const spy = vi.spyOn(process, 'geteuid').mockReturnValue(UID);
  onTestFinished(() => {
    spy.mockRestore();
    rmSync(`/tmp/codex-daemon-${UID}`, { recursive: true, force: true });
  });
}
