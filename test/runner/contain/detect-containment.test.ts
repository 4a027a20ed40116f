import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { DIST } from '../../support/dist.js';
import { namespacesAre } from '../../support/limited-namespaces.js';
import { forms, realClock } from './workbench.js';

function lockFolder(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-locks-')));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

const recordIn = (lockDir: string) => join(lockDir, 'namespaces-worked');
const BOOT = () => `${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()} ${release()}\n`;

/** The kind of containment that another process finds, or the code of its error. */
function detectedWhen(state: Parameters<typeof namespacesAre>[0], isolation: string, lockDir: string): string {
  const script = `
    import { detectContainment } from ${JSON.stringify(join(DIST, 'runner/contain/detect-containment.js'))};
    import { createClock } from ${JSON.stringify(join(DIST, 'src/clock.js'))};
    const clock = createClock();
    const options = { isolation: '${isolation}', hide: [], lockDir: ${JSON.stringify(lockDir)}, clock };
    console.log(await detectContainment(options).then(({ kind }) => kind, ({ code }) => code));
    clock.close();`;
  const [file, ...args] = [...namespacesAre(state), process.execPath, '--input-type=module', '--eval', script];
  return execFileSync(file, args, { encoding: 'utf8' }).trim();
}

describe.runIf(forms.includes('pidns'))('the detection of namespaces', () => {
  test.each([
    ['auto', 'free', 'pidns'],
    ['auto', 'forbidden', 'none'],
    ['auto', 'exhausted', 'isolation_failed'],
    ['pidns', 'forbidden', 'isolation_unavailable'],
    ['pidns', 'exhausted', 'isolation_failed'],
    ['none', 'exhausted', 'none'],
  ] as const)('SEC-12 with isolation %s and namespaces that are %s has the result %s', (isolation, state, result) => {
    expect(detectedWhen(state, isolation, lockFolder())).toBe(result);
  });

  test('SEC-12 records for this user that namespaces have worked since the machine was started', async () => {
    const lockDir = lockFolder();

    await detectContainment({ isolation: 'auto', hide: [], lockDir, clock: realClock });

    expect(readFileSync(recordIn(lockDir), 'utf8')).toBe(BOOT());
    expect(statSync(recordIn(lockDir)).mode & 0o777).toBe(0o600);
  });

  test('SEC-12 does not fall back to none when namespaces have worked before, whatever the reason of the failure', () => {
    const lockDir = lockFolder();
    detectedWhen('free', 'auto', lockDir);

    expect(detectedWhen('forbidden', 'auto', lockDir)).toBe('isolation_failed');
  });

  test('falls back to none when namespaces have worked before the machine was started, or with another kernel', () => {
    const lockDir = lockFolder();
    const recorded = [BOOT().replace(/^\S+/, 'b0a7-another-boot'), BOOT().replace(/ .*/, ' 1.0')];

    const results = recorded.map((text) => {
      writeFileSync(recordIn(lockDir), text);
      return detectedWhen('forbidden', 'auto', lockDir);
    });

    expect(results).toEqual(['none', 'none']);
  });
});
