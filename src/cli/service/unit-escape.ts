import { BatonError } from '../../domain/errors.js';

// How systemd reads a value differs from setting to setting; systemd.service(5), systemd.exec(5) and systemd.syntax(7) say how.
// `%` begins a specifier in all of them, and a line break would begin the next setting: nobody but us writes lines here.

/** A word of ExecStart: unquoted, C escapes taken, `%` and `$` replaced. */
export function commandWord(text: string): string {
  return quoted(text).replaceAll('$', '$$$$');
}

/** The program of ExecStart: as a word, but `$` stays: variables are not looked for in it. */
export function commandProgram(text: string): string {
  return quoted(text);
}

/** One assignment of Environment: as a word, but `$` means nothing. */
export function assignment(name: string, value: string): string {
  return quoted(`${name}=${value}`);
}

/** A path that is taken as it stands up to the end of the line (WorkingDirectory): quotes and blanks belong to it. */
export function barePath(path: string): string {
  const text = withoutSpecifiers(path);
  // A backslash would join the next line to it, and blanks at the end are dropped; a slash there changes nothing.
  return /[\\\s]$/.test(text) ? `${text}/` : text;
}

/** A path of EnvironmentFile: as a bare one, but wildcards are looked for. */
export function globPath(path: string): string {
  return withoutSpecifiers(path.replace(/[\\*?[\]{}]/g, '\\$&'));
}

/** Text for people. */
export function plainText(text: string): string {
  return withoutSpecifiers(text);
}

function quoted(text: string): string {
  return `"${withoutSpecifiers(text).replace(/[\\"]/g, '\\$&')}"`;
}

function withoutSpecifiers(text: string): string {
  if (/\p{Cc}/u.test(text)) {
    const message = `${JSON.stringify(text)} holds a line break or another control character, which a unit cannot hold. Rename it`;
    throw new BatonError('service_failed', message);
  }
  return text.replaceAll('%', '%%');
}
