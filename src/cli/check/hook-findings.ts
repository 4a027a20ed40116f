import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hookVariables } from '../../../hooks/hook-variables.js';
import { type Environment, environmentFor } from '../../../runner/environment.js';
import { HOOK_NAMES, type HookName } from '../../domain/config.js';
import { askLoginShell, type LoginShell } from '../login-shell.js';
import type { CheckContext } from './check-context.js';
import { type Finding, reporter } from './finding.js';
import { SAMPLE_ISSUE } from './sample-issue.js';
import { scriptPlace } from './script-place.js';
import { invisibleVariables, type ScriptUnderCheck } from './variable-findings.js';

const SHIPPED = /\$\{?BATON_HOOKS\}?"?\/([\w.-]+)/g;

/** Scripts that are not there, and variables that hooks and the agent command will not see. */
export async function hookFindings(context: CheckContext, agentShell: LoginShell | null): Promise<Finding[]> {
  const { file, at, lines, loaded, containment } = context;
  const report = reporter('Hooks', file);
  const { hooks, codex } = loaded.workflow.config;
  const environment = hookEnvironment(context);
  const cwd = loaded.workflow.dir;
  const findings: Finding[] = [];
  const configured = HOOK_NAMES.flatMap((name) => {
    const text = hooks.scripts[name];
    return text === null ? [] : [{ name, text, place: scriptPlace(lines, at(['hooks', name]), text) }];
  });

  const shell = configured.length === 0 ? null : await askLoginShell({ word: null, ...environment, cwd }, containment);
  for (const { name, text, place } of configured) {
    const script: ScriptUnderCheck = { label: `hooks.${name}`, kind: 'hook', text, place, shipped: [] };
    for (const { index, 1: wanted = '' } of text.matchAll(SHIPPED)) {
      const before = text.slice(0, index).split('\n');
      const where = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
      const path = join(environment.env.BATON_HOOKS ?? '', wanted);
      const shipped = await readFile(path, 'utf8').catch(() => null);
      if (shipped !== null) script.shipped.push({ name: wanted, text: shipped, ...where });
      else {
        const message = `hooks.${name} uses $BATON_HOOKS/${wanted}, which is not among the scripts that Baton ships`;
        const advice = 'There are clone-or-update.sh, worktree-from-cache.sh and commit-and-push.sh.';
        findings.push(report('error', 'hook_script_missing', place(where.line, where.column), message, advice));
      }
    }
    if (shell !== null && typeof shell !== 'string') findings.push(...invisibleVariables(context, script, shell));
  }
  if (agentShell !== null) {
    const place = scriptPlace(lines, at(['codex', 'command']), codex.command);
    const script = { label: 'codex.command', kind: 'agent', text: codex.command, place, shipped: [] } as const;
    findings.push(...invisibleVariables(context, { ...script, shipped: [] }, agentShell));
  }
  if (findings.length === 0)
    findings.push(report('note', 'hooks_fine', at(['hooks']), said(configured.map(({ name }) => name))));
  return findings;
}

function hookEnvironment({ io, loaded }: CheckContext): Environment {
  const { workflow } = loaded;
  const { runtime, hooks } = workflow.config;
  const variables = hookVariables({
    hook: 'before_run',
    issue: SAMPLE_ISSUE,
    workspace: workflow.dir,
    workflowDir: workflow.dir,
    issueFile: join(tmpdir(), 'issue.json'),
    runId: 'check',
    attempt: null,
    runOutcome: null,
  });
  return environmentFor('hook', {
    base: io.env,
    policy: runtime.env,
    allow: runtime.envAllow,
    hookAllow: hooks.envAllow,
    secretNames: workflow.secretNames,
    extra: { ...variables, TMPDIR: tmpdir() },
  });
}

function said(names: readonly HookName[]): string {
  if (names.length === 0) return 'there are no hooks: workspaces start empty, and nothing leaves them';
  return `${names.join(', ')}: they see every variable they use`;
}
