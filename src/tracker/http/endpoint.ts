import { isIP } from 'node:net';
import { BatonError } from '../../domain/errors.js';

/** The base of a tracker's API, without credentials, query and slash at its end. A token travels only over https; loopback aside. */
export function endpointOf(written: string, key: string): URL {
  if (!URL.canParse(written)) throw wrong(key, `is not a URL: write one such as https://tracker.example.org`);
  const url = new URL(written);
  if (url.username !== '' || url.password !== '') {
    throw wrong(key, 'holds a login: take it out, and give the token by its own key');
  }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) {
    throw wrong(key, `begins with ${url.protocol}//: the token is sent over https only, except to this machine`);
  }
  const base = new URL(url.origin);
  base.pathname = url.pathname.replace(/\/+$/, '');
  return base;
}

function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return isIP(bare) === 4 ? bare.startsWith('127.') : bare === '::1' || bare === 'localhost';
}

function wrong(key: string, problem: string): BatonError {
  return new BatonError('invalid_tracker_config', `${key} ${problem}.`);
}
