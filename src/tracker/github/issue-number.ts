const PREFIX = 'GH-';

/** GitHub makes links of this form by itself, and it is a clean name for folders and branches. */
export function identifierOf(number: number): string {
  return `${PREFIX}${number}`;
}

/** `12`, `#12` and `GH-12` are one issue; `null`: no issue can have that name. */
export function numberOf(written: string): number | null {
  const [, digits] = /^(?:GH-|#)?(\d{1,15})$/i.exec(written.trim()) ?? [];
  const number = Number(digits ?? 0);
  return number > 0 ? number : null;
}
