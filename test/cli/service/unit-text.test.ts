import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  assignment,
  barePath,
  commandProgram,
  commandWord,
  globPath,
  readMark,
  type UnitFacts,
  unitText,
} from '../../../src/cli/service/unit-text.js';

const NASTY = `/a b/%h%n/$HOME\${X}/"q"/'s'/\\x41\\/[z]*?{a,b};#= é `;

function facts(overrides: Partial<UnitFacts> = {}): UnitFacts {
  return {
    scope: 'user',
    name: 'demo',
    runAs: null,
    program: '/usr/bin/node',
    args: ['/opt/baton/main.js', 'run', '/p/WORKFLOW.md'],
    workingDirectory: '/p',
    environment: { PATH: '/usr/bin:/bin' },
    shutdownTimeoutMs: 30_000,
    notifies: true,
    mark: { workflow: '/p/WORKFLOW.md', stateDir: '/s', environmentFile: '/c/baton/demo.env' },
    ...overrides,
  };
}

/** The values of a setting, as they stand there. */
const valuesOf = (unit: string, key: string) =>
  unit
    .split('\n')
    .filter((line) => line.startsWith(`${key}=`))
    .map((line) => line.slice(key.length + 1));

describe('the text of the unit', () => {
  const unit = unitText(facts());
  const expectation: [string, string][] = [
    ['Type', 'notify'],
    ['NotifyAccess', 'main'],
    ['KillMode', 'mixed'],
    ['Restart', 'on-failure'],
    ['RestartPreventExitStatus', '2'],
    ['StartLimitBurst', '5'],
    ['Delegate', 'cpu memory pids'],
    ['WatchdogSec', '120'],
    ['WorkingDirectory', '/p'],
    ['Environment', '"PATH=/usr/bin:/bin"'],
    ['EnvironmentFile', '-/c/baton/demo.env'],
    ['ExecStart', '"/usr/bin/node" "/opt/baton/main.js" "run" "/p/WORKFLOW.md"'],
    ['WantedBy', 'default.target'],
  ];

  test.each(expectation)('%s is %s', (key, value) => {
    expect(valuesOf(unit, key)).toEqual([value]);
  });

  test('without notices systemd waits for none', () => {
    const silent = unitText(facts({ notifies: false }));

    expect(valuesOf(silent, 'Type')).toEqual(['exec']);
    expect(valuesOf(silent, 'NotifyAccess')).toEqual([]);
    expect(valuesOf(silent, 'WatchdogSec')).toEqual([]);
  });

  test.each([0, 1, 30_000, 3_600_000])('systemd waits longer for the stop than a shutdown of %i ms takes', (ms) => {
    const [seconds] = valuesOf(unitText(facts({ shutdownTimeoutMs: ms })), 'TimeoutStopSec');

    expect(Number(seconds) * 1000).toBeGreaterThan(ms + 45_000);
  });

  test('a system unit runs as a user, waits for the network and protects the system', () => {
    const system = unitText(facts({ scope: 'system', runAs: 'worker' }));

    expect(valuesOf(system, 'User')).toEqual(['worker']);
    expect(valuesOf(system, 'WantedBy')).toEqual(['multi-user.target']);
    expect(valuesOf(system, 'After')).toEqual(['network-online.target']);
    expect(valuesOf(system, 'ProtectSystem')).toEqual(['full']);
    // It would make the delegated control group read-only.
    expect(valuesOf(system, 'ProtectControlGroups')).toEqual([]);
    expect(valuesOf(unit, 'User')).toEqual([]);
  });

  test.each([
    'RestrictNamespaces',
    'PrivateUsers',
    'ProtectKernelTunables',
    'ProtectKernelLogs',
    'ProtectProc',
    'SystemCallFilter',
    'MemoryDenyWriteExecute',
    'NoNewPrivileges',
  ])('%s is absent, because it would restrict agents and hooks', (key) => {
    for (const text of [unit, unitText(facts({ scope: 'system', runAs: 'worker' }))]) {
      expect(valuesOf(text, key)).toEqual([]);
    }
  });

  test('our own units are recognised, and no others', () => {
    const mark = { workflow: NASTY, stateDir: `${NASTY}/s`, environmentFile: '/c/x.env' };

    expect(readMark(unitText(facts({ mark })))).toEqual(mark);
    expect(readMark('[Service]\nExecStart=/bin/true\n')).toBeNull();
    expect(readMark('[X-Baton]\nInstalled={"workflow":1}\n')).toBeNull();
    expect(readMark('[X-Baton]\nInstalled={\n')).toBeNull();
  });
});

describe('values', () => {
  test('are read back from systemd unchanged', () => {
    fc.assert(
      fc.property(pathText(), pathText(), (one, two) => {
        const unit = unitText(
          facts({
            program: one,
            args: [two, one],
            workingDirectory: two,
            environment: { PATH: one },
            mark: { workflow: two, stateDir: one, environmentFile: `${two}.env` },
          }),
        );

        const [command = ''] = valuesOf(logicalLines(unit), 'ExecStart');
        const [program = '', ...args] = unquote(command).map(withoutPercent);
        expect([program, ...args.map(withoutDollar)]).toEqual([one, two, one]);
        expect(unquote(valuesOf(logicalLines(unit), 'Environment')[0] ?? '').map(withoutPercent)).toEqual([
          `PATH=${one}`,
        ]);
        const [folder = ''] = valuesOf(logicalLines(unit), 'WorkingDirectory').map(withoutPercent);
        expect(folder.replace(/\/$/, '')).toBe(two.replace(/\/$/, ''));
        const [file = ''] = valuesOf(logicalLines(unit), 'EnvironmentFile').map(withoutPercent);
        expect(file.slice(1).replace(/\\(.)/gs, '$1')).toBe(`${two}.env`);
        expect(file.slice(1).replace(/\\./gs, '')).not.toMatch(/[*?[\]{}\\]/);
      }),
    );
  });

  test.each(['a\nb', 'a\rb', 'a\0b', '\u007f', '\u0085'])('with a control character are refused: %j', (text) => {
    for (const write of [commandWord, commandProgram, barePath, globPath, (value: string) => assignment('A', value)]) {
      expect(() => write(text)).toThrow(expect.objectContaining({ code: 'service_failed' }));
    }
  });
});

const ANALYZE = spawnSync('systemd-analyze', ['--version']).status === 0;

describe.skipIf(!ANALYZE && !process.env.CI)('systemd-analyze verify', () => {
  /** Its complaints about a unit. */
  function verify(text: string, scope: 'user' | 'system'): string {
    const base = realpathSync(mkdtempSync(join(tmpdir(), 'baton-unit-')));
    onTestFinished(() => rmSync(base, { recursive: true, force: true }));
    mkdirSync(join(base, 'run'));
    const file = join(base, 'baton-demo.service');
    writeFileSync(file, text);
    const env = { PATH: process.env.PATH ?? '', XDG_RUNTIME_DIR: join(base, 'run'), HOME: base };
    const args = ['verify', ...(scope === 'user' ? ['--user'] : []), '--man=no', '--recursive-errors=no', file];
    const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { env, encoding: 'utf8' });
    const about = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('baton-demo'));
    return status === 0 ? about.join('\n') : `${status}: ${about.join('\n')}`;
  }

  test('accepts our units, whatever the names are', () => {
    const program = execFileSync('bash', ['-c', 'type -P true'], { encoding: 'utf8' }).trim();
    const nasty = {
      ...{ program, args: [NASTY], workingDirectory: `${NASTY}\\`, environment: { PATH: NASTY, LANG: 'C' } },
      mark: { workflow: NASTY, stateDir: NASTY, environmentFile: NASTY },
    };

    expect(verify(unitText(facts(nasty)), 'user')).toBe('');
    expect(verify(unitText(facts({ ...nasty, scope: 'system', runAs: 'root' })), 'system')).toBe('');
    expect(verify(unitText(facts({ ...nasty, notifies: false })), 'user')).toBe('');
  });

  test('reports a broken unit', () => {
    const unit = unitText(facts({ program: '/bin/true' }));

    expect(verify(unit.replace('"/bin/true"', '"/bin/true'), 'user')).not.toBe('');
    expect(verify(unit.replace('KillMode=mixed', 'KillMode=some'), 'user')).not.toBe('');
  });
});

function pathText() {
  const odd = fc.constantFrom(
    '%',
    '$',
    '"',
    "'",
    '\\',
    ' ',
    '*',
    '[',
    ']',
    '{',
    '}',
    '?',
    ';',
    '#',
    'é',
    'a',
    '/',
    'n',
    'h',
  );
  return fc.array(odd, { maxLength: 12 }).map((characters) => `/${characters.join('')}`.replace(/\/+/g, '/'));
}

// The code below parses a unit by systemd.syntax(7) and systemd.service(5), independently of our writer.

/** A backslash joins the next line; blanks at the end of a line are dropped. */
function logicalLines(unit: string): string {
  return unit.replaceAll('\\\n', ' ').replace(/[ \t]+$/gm, '');
}

function unquote(value: string): string[] {
  const words = Array.from(value.matchAll(/"((?:[^"\\]|\\.)*)"|[^\s"]+/g), (match) => match[1] ?? match[0]);
  return words.map((word) => word.replace(/\\(.)/g, '$1'));
}

function withoutPercent(text: string): string {
  return text.replace(/%(.)/g, (_, next: string) => (next === '%' ? '%' : `<specifier ${next}>`));
}

function withoutDollar(text: string): string {
  return text.replace(/\$(.)/g, (_, next: string) => (next === '$' ? '$' : `<variable ${next}>`));
}
