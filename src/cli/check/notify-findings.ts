import { tmpdir } from 'node:os';
import { notifyEnvironment } from '../../daemon/notify-targets.js';
import { isLoopback } from '../../domain/host.js';
import { resolveSecret } from '../../workflow/secrets.js';
import { readLoginShell } from '../shell.js';
import type { CheckContext } from './finding.js';
import { type Finding, firstWord, positionIn, reporter } from './finding.js';

/** Checks the targets of notices. Sends none; `baton notify test` does. */
export async function notifyFindings(context: CheckContext): Promise<Finding[]> {
  const { file, at, loaded, frontMatter } = context;
  const { url, command, on } = loaded.workflow.config.notify;
  const report = reporter('Notifications', file);
  if (url === null && command === null) {
    if (!frontMatter.positions.has(['notify', 'on'])) return [];
    const message = 'notify.on is set, but neither notify.url nor notify.command is, so no notices are sent';
    return [report('warning', 'notify_nowhere', at(['notify', 'on']), message, 'Set one of the two.')];
  }
  const findings = [
    ...(url === null ? [] : urlFindings(url, context)),
    ...(command === null ? [] : await commandFindings(command, context)),
  ];
  if (on.length === 0) {
    const message = 'notify.on is empty, so no notices are sent';
    findings.push(report('warning', 'notify_nothing', at(['notify', 'on']), message, 'List the kinds of notices.'));
  }
  if (findings.length > 0) return findings;
  const targets = [...(url === null ? [] : ['notify.url']), ...(command === null ? [] : ['notify.command'])];
  const message = `${targets.join(' and ')}: get notices of ${on.join(', ')}; \`baton notify test\` sends a sample`;
  return [report('note', 'notify_fine', at(['notify']), message)];
}

/** Messages never show the address, because it allows anyone to write into the channel. */
function urlFindings(written: string, { file, at, io, redactor }: CheckContext): Finding[] {
  const report = reporter('Notifications', file);
  const where = at(['notify', 'url']);
  const url = resolveSecret(written, io.env)?.trim();
  if (url === undefined) {
    const message = `notify.url is ${written.trim()}, which is not set here`;
    return [report('error', 'variable_missing', where, message, 'Set it where the daemon is started.')];
  }
  redactor.add(url);
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')) {
    const message = 'notify.url is not an http or https address, so no notices can be sent';
    const advice = 'Write the whole address, with https:// in front.';
    return [report('error', 'invalid_workflow_config', where, message, advice)];
  }
  if (parsed.protocol === 'http:' && !isLoopback(parsed.hostname)) {
    const message =
      'notify.url is plain http to another machine, so titles, questions and the address can be read in transit';
    return [report('warning', 'notify_in_clear', where, message, 'Use https.')];
  }
  return [];
}

/** Looks the program up as the daemon does. An expression instead of a name is not evaluated. */
async function commandFindings(command: string, context: CheckContext): Promise<Finding[]> {
  const { file, at, lines, loaded, io, containment } = context;
  const word = firstWord(command);
  if (word === null) return [];
  const { workflow } = loaded;
  const environment = notifyEnvironment({ workflow, env: io.env, tmpDir: tmpdir() });
  const shell = await readLoginShell({ word: word.raw, ...environment, cwd: workflow.dir }, containment);
  // A missing shell is reported by other checks.
  if (typeof shell === 'string' || shell.found !== '') return [];
  const position = positionIn(lines, at(['notify', 'command']), command);
  const message = `notify.command starts ${word.raw}, which the login shell does not find; its PATH is ${shell.searchPath}`;
  const advice = 'Install it, set PATH in ~/.profile, or write the full path.';
  const report = reporter('Notifications', file);
  return [report('error', 'notify_command_missing', position(1, word.offset + 1), message, advice)];
}
