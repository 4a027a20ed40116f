import type { Target } from '../../notify/sent.js';

/** What to do about a notice that did not arrive, by the code of the failure. */
export function deliveryAdvice(name: Target['name'], code: string): string {
  if (code === 'cancelled') return 'It was interrupted: try again.';
  return name === 'url' ? aboutUrl(code) : aboutCommand(code);
}

function aboutUrl(code: string): string {
  if (code === 'variable_unset')
    return 'Set the variable where Baton is started, for example in the unit of its service.';
  if (code === 'bad_url') return 'Write the whole address, with https:// in front.';
  if (code === 'timeout')
    return 'The receiver takes the request and does not answer: try it with curl from this machine.';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return 'The name of the host cannot be resolved: check it, and the network.';
  if (/CERT|TLS|SSL|SELF_SIGNED/.test(code))
    return 'The certificate of the receiver is not trusted: name its authority in NODE_EXTRA_CA_CERTS.';
  if (/^http_3/.test(code)) return 'Write the address that the receiver redirects to.';
  if (/^http_(401|403|404|410)$/.test(code))
    return 'The receiver does not know this address, or no longer: make a new webhook there.';
  if (/^http_4/.test(code))
    return 'The receiver does not take this JSON: it wants another format. Use notify.command with jq and curl to give it that.';
  if (/^http_5/.test(code)) return 'The receiver is in trouble: try again later.';
  return 'Nothing answers at this address: check host and port, and whether this machine may reach it. A proxy is not used; notify.command with curl can.';
}

function aboutCommand(code: string): string {
  if (code === 'exit_127')
    return 'It runs in a login shell with a short environment: set PATH in ~/.profile, or write the full path.';
  if (code === 'exit_126') return 'The file is there but may not be run: chmod +x it.';
  if (code === 'timeout') return 'It has 10 s for a notice: let it do long work in another service.';
  if (/^(?:exit|signal)_/.test(code))
    return 'Run it by hand with a notice on its stdin. Variables that it needs are named in hooks.env_allow.';
  return 'Agents and hooks are started in the same way: `baton check` says what is wrong with it.';
}
