/** An address as it may be written into a file: without what somebody put there to log in with. */
export function cleanUrl(written: string): { readonly url: string; readonly hadSecret: boolean } {
  const url = written.trim();
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) return { url, hadSecret: false };
  if (!URL.canParse(url)) {
    const bare = url.replace(/^([^:]+:\/\/)[^/]*@/, '$1');
    return { url: bare, hadSecret: bare !== url };
  }
  const parsed = new URL(url);
  const isWeb = /^https?:$/.test(parsed.protocol);
  // Over ssh the user is part of the address; over HTTP it is a login, and often the token itself.
  const hadSecret = parsed.password !== '' || (isWeb && parsed.username !== '') || (isWeb && parsed.search !== '');
  if (!hadSecret) return { url, hadSecret };
  parsed.password = '';
  if (isWeb) {
    parsed.username = '';
    parsed.search = '';
  }
  return { url: parsed.href, hadSecret };
}
