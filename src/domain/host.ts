/** Does this host name or address mean the machine itself? An IPv6 address may be in brackets, as in a URL. */
export function isLoopback(host: string): boolean {
  const bare = withoutBrackets(host).toLowerCase();
  return bare === '::1' || bare === 'localhost' || LOOPBACK_V4.test(bare);
}

const LOOPBACK_V4 = /^127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/;

export function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}
