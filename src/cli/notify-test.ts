import { mkdtemp, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import { createClock, type SystemClock } from '../clock.js';
import { notifyTargets } from '../daemon/notify-targets.js';
import type { NoticeKind } from '../domain/config.js';
import type { Workflow } from '../domain/workflow.js';
import { createRedactor, type Redactor } from '../logging/redact.js';
import { type Delivery, type Target, tryDelivery } from '../notify/deliver.js';
import { sampleNotice } from '../notify/notice.js';
import { noticeJson } from '../notify/notice-json.js';
import { neutralise, neutraliseJson } from '../text/neutralise.js';
import { type Paint, painter } from './check/finding.js';
import { type Io, printError } from './io.js';
import { openWorkflow } from './open-workflow.js';

export interface TestNotifyOptions {
  readonly workflowPath: string;
  readonly kind: NoticeKind;
  readonly stateDir?: string | undefined;
}

/** Sends a sample to every target like the daemon does, and prints a line for each. Exit code 0: all arrived, 1: one did not, 2: no target. */
export async function testNotify(options: TestNotifyOptions, io: Io): Promise<number> {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const clock = createClock();
  const redactor = createRedactor();
  const tmpDir = await realpath(await mkdtemp(join(tmpdir(), 'baton-notify-')));
  try {
    const { loaded, stateDir } = await openWorkflow(options.workflowPath, options.stateDir, io);
    const { workflow, literalSecrets } = loaded;
    for (const secret of literalSecrets) redactor.add(secret);
    const { isolation } = workflow.config.runtime;
    const containment = await detectContainment({ isolation, hide: await folders(stateDir), clock });
    const context = { workflow, env: io.env, containment, tmpDir, clock, redactor, version: 'test' };
    const targets = notifyTargets(context);
    if (targets.length === 0) return printNoTarget(options.workflowPath, io);
    const body = sampleBody(options.kind, workflow, clock, redactor);
    const deliveries = targets.map(async (target) => {
      const delivery = await tryDelivery(target, body, clock, interrupted.signal);
      const paint = painter(io.isTTY && !io.env.NO_COLOR);
      io.stdout.write(redactor.mask(`${lineOf(target.name, delivery, paint)}\n`));
      return delivery.result.ok;
    });
    const arrived = await Promise.all(deliveries);
    printNotEnabled(options.kind, workflow, io);
    return arrived.every(Boolean) ? 0 : 1;
  } catch (error) {
    return printError(error, 2, io);
  } finally {
    clock.close();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    await rm(tmpDir, { recursive: true, force: true });
  }
}

function sampleBody(kind: NoticeKind, workflow: Workflow, clock: SystemClock, redactor: Redactor): string {
  const notice = sampleNotice(kind, clock.now().wallMs);
  const context = { mask: redactor.mask, workflow, page: () => null, isTest: true };
  return neutraliseJson(redactor.maskJson(JSON.stringify(noticeJson({ notice, repeated: 0 }, 0, context))));
}

function lineOf(name: Target['name'], { result, tries, tookMs }: Delivery, paint: Paint): string {
  const time = `${(tookMs / 1000).toFixed(1)} s`;
  const how = tries === 1 ? time : `${tries} tries, ${time}`;
  if (result.ok) return `${paint('green', '✓')} notify.${name}: arrived (${result.detail}, ${how})`;
  const first = `${paint('red', '✗')} notify.${name}: did not arrive: ${neutralise(result.detail)} (${result.code}, ${how})`;
  return `${first}\n    ${deliveryAdvice(name, result.code)}`;
}

function printNoTarget(workflowPath: string, io: Io): number {
  const text = `${workflowPath} has neither notify.url nor notify.command, so no notice is sent. Set one, see docs/notifications.md`;
  io.stderr.write(`baton: ${neutralise(text)}\n`);
  return 2;
}

function printNotEnabled(kind: NoticeKind, { config }: Workflow, io: Io): void {
  if (config.notify.on.includes(kind)) return;
  io.stdout.write(`The daemon sends no notice of kind ${kind}, because notify.on does not list it.\n`);
}

async function folders(path: string): Promise<string[]> {
  const isFolder = await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  return isFolder ? [path] : [];
}

/** The advice for a failed delivery, by its code. */
export function deliveryAdvice(name: Target['name'], code: string): string {
  if (code === 'cancelled') return 'It was interrupted: try again.';
  return name === 'url' ? aboutUrl(code) : aboutCommand(code);
}

function aboutUrl(code: string): string {
  if (code === 'variable_unset')
    return 'Set the variable where Baton is started, for example in the unit of its service.';
  if (code === 'bad_url') return 'Write the whole address, with https:// in front.';
  if (code === 'timeout')
    return 'The receiver accepted the request and did not answer: try it with curl from this machine.';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return 'The host name cannot be resolved: check it, and the network.';
  if (/CERT|TLS|SSL|SELF_SIGNED/.test(code))
    return 'The certificate of the receiver is not trusted: name its authority in NODE_EXTRA_CA_CERTS.';
  if (/^http_3/.test(code)) return 'Write the address that the receiver redirects to.';
  if (/^http_(401|403|404|410)$/.test(code))
    return 'The receiver does not know this address (any more): create a new webhook there.';
  if (/^http_4/.test(code))
    return 'The receiver rejects this JSON: it needs another format. Use notify.command with jq and curl to convert it.';
  if (/^http_5/.test(code)) return 'The receiver has an internal error: try again later.';
  return 'Nothing answers at this address: check host and port, and whether this machine may reach it. A proxy is not used; notify.command with curl can.';
}

function aboutCommand(code: string): string {
  if (code === 'exit_127')
    return 'It runs in a login shell with a short environment: set PATH in ~/.profile, or write the full path.';
  if (code === 'exit_126') return 'The file is not executable: chmod +x it.';
  if (code === 'timeout') return 'It has 10 s for a notice: move longer work to another service.';
  if (/^(?:exit|signal)_/.test(code))
    return 'Run it by hand with a notice on its stdin. List the variables that it needs in hooks.env_allow.';
  return 'Agents and hooks are started in the same way: `baton check` reports the problem.';
}
