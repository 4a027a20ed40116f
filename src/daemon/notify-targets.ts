import type { Clock } from '../domain/clock.js';
import type { Redactor } from '../logging/redact.js';
import { postNotice } from '../notify/post-notice.js';
import { notSent, type Target } from '../notify/sent.js';
import { resolveSecret } from '../workflow/provider-secrets.js';
import { type CommandPlace, runNotifyCommand } from './notify-command.js';

export interface TargetParts extends CommandPlace {
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly version: string;
}

/** Where the settings send notices. The value of `$NAME` is looked up for each notice, and masked from then on. */
export function notifyTargets(parts: TargetParts): readonly Target[] {
  const { url, command } = parts.workflow.config.notify;
  const targets: Target[] = [];
  if (url !== null) targets.push(urlTarget(url, parts));
  if (command !== null) {
    const send: Target['send'] = (body, signal) => runNotifyCommand(command, body, signal, parts);
    targets.push({ name: 'command', send });
  }
  return targets;
}

function urlTarget(written: string, { env, redactor, clock, version }: TargetParts): Target {
  return {
    name: 'url',
    async send(body, signal) {
      const url = resolveSecret(written, env)?.trim();
      if (url === undefined) {
        return notSent('variable_unset', `notify.url is ${written}, which is not set`, { isFinal: true });
      }
      redactor.add(url);
      return postNotice({ url, body, signal, clock, userAgent: `baton/${version}` });
    },
  };
}
