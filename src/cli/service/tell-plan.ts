import { neutraliseLines } from '../../text/neutralise.js';
import type { InstallPlan } from './plan-install.js';
import { systemctlArgs } from './systemd.js';

/** The calls of systemctl that an installation makes, after the files are written. */
export function systemctlCalls(plan: InstallPlan, isActive: boolean): readonly (readonly string[])[] {
  const { unit, before, unitFile, wanted } = plan;
  const reload = ['daemon-reload'];
  // It would end at once, and a service that was never up is harder to understand than one that waits.
  if (wanted.missing.length > 0 && !isActive) return [reload, ['enable', unit]];
  if (!isActive || before?.text === unitFile.text) return [reload, ['enable', '--now', unit]];
  return [reload, ['enable', unit], ['restart', unit]];
}

/** What will be done, or would be. */
export function tellPlan(plan: InstallPlan, calls: readonly (readonly string[])[], isDry: boolean): string {
  const { unit, workflow, unitFile, variablesFile, before, scope } = plan;
  const [writes, runs] = isDry ? ['Would write', 'Would run'] : ['Writes', 'Runs'];
  const unitPart =
    before?.text === unitFile.text
      ? [`${unitFile.path} is there already, as it should be.`]
      : [
          `${writes} ${unitFile.path}${before === null ? '' : ', in place of the one before'}:`,
          ...indented(unitFile.text),
        ];
  const variablesPart = variablesFile.isThere
    ? [`${variablesFile.path} is there already and stays as it is.`]
    : [`${writes} ${variablesFile.path}, which only its owner can read:`, ...indented(variablesFile.text)];
  const lines = [
    `${unit}, the service of ${workflow}`,
    '',
    ...unitPart,
    '',
    ...variablesPart,
    '',
    `${runs}:`,
    ...calls.map((args) => `    systemctl ${systemctlArgs(scope, args).join(' ')}`),
    '',
  ];
  return `${neutraliseLines(lines.join('\n'))}\n`;
}

/** What the person has to know or to do besides. */
export function notesOf(plan: InstallPlan): readonly string[] {
  const { scope, unit, wanted, variablesFile, runAs } = plan;
  const start = `systemctl ${systemctlArgs(scope, ['restart', unit]).join(' ')}`;
  const { missing, leftBehind } = wanted;
  return [
    ...(missing.length === 0
      ? []
      : [
          `The workflow wants ${missing.join(', ')}: put ${missing.length > 1 ? 'them' : 'it'} into ${variablesFile.path}, then: ${start}`,
        ]),
    ...(leftBehind.length === 0
      ? []
      : [
          `Set here, but not for the service: ${leftBehind.join(', ')}. What it needs of them belongs into ${variablesFile.path}.`,
        ]),
    ...(variablesFile.isOpen ? [`Others can read ${variablesFile.path}: chmod 600 it.`] : []),
    ...(runAs === 'root' ? ['It runs as root, and so do its agents: they can read and change everything.'] : []),
  ];
}

function indented(text: string): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => (line === '' ? '' : `    ${line}`));
}
