/** An address that may be given a token, without a slash at its end; or why it may not. The address itself is not shown: it may hold a password. */
export function serviceUrl(text: string, isInsecureAllowed: boolean): { url: string } | { problem: string } {
  if (!URL.canParse(text)) return { problem: 'must be an address such as https://gateway.example.org' };
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return { problem: 'must begin with https:// or http://' };
  if (url.username !== '' || url.password !== '')
    return { problem: 'must not hold a name or password; use token for that' };
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(text))
    return { problem: 'must not have a query (?) or fragment (#)' };
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !isInsecureAllowed)
    return {
      problem: 'is plain http to another machine, which shows the token to the network; use https, or `insecure: true`',
    };
  return { url: url.href.replace(/\/+$/, '') };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
