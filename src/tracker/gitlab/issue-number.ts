const PREFIX = 'GL-';

/** GitLab makes links of this form by itself, and it is a clean name for folders and branches. */
export function identifierOf(iid: number): string {
  return `${PREFIX}${iid}`;
}

/** `12`, `#12` and `GL-12` are one issue; `null`: no issue can have that name. */
export function iidOf(written: string): number | null {
  const [, digits] = /^(?:GL-|#)?(\d{1,15})$/i.exec(written.trim()) ?? [];
  const iid = Number(digits ?? 0);
  return iid > 0 ? iid : null;
}
