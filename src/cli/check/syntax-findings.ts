import type { Containment } from '../../../runner/contain/process.js';
import { HOOK_NAMES } from '../../domain/config.js';
import type { JsonObject } from '../../domain/json.js';
import { runShell } from '../run-shell.js';
import type { WorkflowText } from './check-context.js';
import { type Finding, type Group, reporter } from './finding.js';
import { scriptPlace } from './script-place.js';

const TIME_LIMIT_MS = 5_000;

/** `bash -n` on every hook, the agent command and that of notices, as they stand in the file: also when other settings are faulty. */
export async function syntaxFindings(text: WorkflowText, cwd: string, containment: Containment): Promise<Finding[]> {
  const scripts: [Group, string, string][] = [
    ['Agent', 'codex', 'command'],
    ...HOOK_NAMES.map((name): [Group, string, string] => ['Hooks', 'hooks', name]),
    ['Notifications', 'notify', 'command'],
  ];
  const found = await Promise.all(
    scripts.map(async ([group, section, key]) => {
      const script = (text.frontMatter.values[section] as JsonObject | null | undefined)?.[key];
      if (typeof script !== 'string' || script.trim() === '') return [];
      const error = await syntaxError(script, cwd, containment);
      if (error === null) return [];
      const at = scriptPlace(text.lines, text.at([section, key]), script)(error.line);
      const advice = 'Correct the script: bash would refuse all of it.';
      return [reporter(group, text.file)('error', 'syntax_error', at, `${section}.${key}: ${error.message}`, advice)];
    }),
  );
  return found.flat();
}

async function syntaxError(
  script: string,
  cwd: string,
  containment: Containment,
): Promise<{ line: number; message: string } | null> {
  const bash = ['-n', '-c', script];
  const env = { LC_ALL: 'C' };
  const result = await runShell({ bash, env, cwd, timeoutMs: TIME_LIMIT_MS }, containment);
  if (result.ended === 'not_started') return { line: 1, message: result.message };
  if (result.ended === 'timeout' || result.code === 0) return null;
  const [, line, message] = /line (\d+): (.*)/.exec(result.stderr) ?? [];
  return { line: Number(line ?? 1), message: message ?? 'bash does not take it' };
}
