import type { LoginShell } from '../login-shell.js';
import type { CheckContext } from './check-context.js';
import { type Finding, reporter } from './finding.js';
import type { ScriptPlace } from './script-place.js';
import { shellVariables } from './shell-variables.js';

export interface ScriptUnderCheck {
  /** The setting that holds it. */
  readonly label: string;
  readonly kind: 'hook' | 'agent';
  readonly text: string;
  readonly place: ScriptPlace;
  /** Ready-made scripts that it starts, and where it does. */
  readonly shipped: { readonly name: string; readonly text: string; readonly line: number; readonly column: number }[];
}

/** Set by bash in the course of a script. */
const BY_BASH = new Set([
  'REPLY',
  'OPTARG',
  'OPTIND',
  'OLDPWD',
  'BASH_REMATCH',
  'MAPFILE',
  'COPROC',
  'RANDOM',
  'LINENO',
]);

interface Wanted {
  readonly name: string;
  readonly line: number;
  readonly column: number;
  readonly isRequired: boolean;
  /** The ready-made script that asks for it. */
  readonly by: string | null;
}

/** Variables that a script reads, and that its environment and login shell will not have. One finding for each name. */
export function invisibleVariables(context: CheckContext, script: ScriptUnderCheck, shell: LoginShell): Finding[] {
  const own = shellVariables(script.text);
  const wanted: Wanted[] = own.uses.map((use) => ({ ...use, by: null }));
  for (const { name: by, text, line, column } of script.shipped) {
    const { uses } = shellVariables(text);
    wanted.push(
      ...uses.filter(({ isRequired }) => isRequired).map(({ name }) => ({ name, line, column, isRequired: true, by })),
    );
  }
  const told = new Set<string>();
  return wanted.flatMap((want) => {
    const given = want.by === null ? own.assigned : own.exported;
    const isSeen = given.has(want.name) || shell.variables.has(want.name) || BY_BASH.has(want.name);
    if (isSeen || told.has(want.name)) return [];
    told.add(want.name);
    return [describe(context, script, want, own.assigned.has(want.name))];
  });
}

function describe(
  { file, io, loaded }: CheckContext,
  script: ScriptUnderCheck,
  want: Wanted,
  isAssigned: boolean,
): Finding {
  const { name, isRequired, by } = want;
  const report = reporter(script.kind === 'hook' ? 'Hooks' : 'Agent', file);
  const level = isRequired ? 'error' : 'warning';
  const code = isRequired ? 'variable_missing' : 'variable_unseen';
  const at = script.place(want.line, want.column);
  const user = by === null ? `${script.label} uses` : `${by} in ${script.label} needs`;
  const [allow, who] = script.kind === 'hook' ? ['hooks.env_allow', 'hooks'] : ['runtime.env_allow', 'agents'];
  if (isAssigned) {
    const message = `${user} $${name}, which the hook sets but does not export`;
    return report(level, code, at, message, `Write: export ${name}=…`);
  }
  if (loaded.workflow.secretNames.includes(name)) {
    const message = `${user} $${name}, a secret of the tracker, which ${who} do not get`;
    const advice =
      script.kind === 'hook'
        ? `Name ${name} in hooks.env_allow if the hook must have it.`
        : 'Use another token for agents.';
    return report(level, code, at, message, advice);
  }
  if ((io.env[name] ?? '') !== '') {
    const message = `${user} $${name}, which is set here but not passed on to ${who}`;
    return report(level, code, at, message, `Add ${name} to ${allow}.`);
  }
  const message = `${user} $${name}, which is not set`;
  return report(
    level,
    code,
    at,
    message,
    `Assign it in the script, or set it for the daemon and add ${name} to ${allow}.`,
  );
}
