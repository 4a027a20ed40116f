/** What a unit of ours says about itself, for us: systemd does not look at sections whose names begin with X-. */
export interface UnitMark {
  /** The real path of the workflow. */
  readonly workflow: string;
  readonly stateDir: string;
  readonly environmentFile: string;
}

export function markText({ workflow, stateDir, environmentFile }: UnitMark): readonly string[] {
  return ['[X-Baton]', `Installed=${JSON.stringify({ workflow, stateDir, environmentFile })}`];
}

/** `null`: not a unit that we wrote. */
export function readMark(unit: string): UnitMark | null {
  const [, json] = /^\[X-Baton\]\nInstalled=(.*)$/m.exec(unit) ?? [];
  if (json === undefined) return null;
  try {
    const mark = JSON.parse(json) as Partial<Record<keyof UnitMark, unknown>>;
    const { workflow, stateDir, environmentFile } = mark;
    const isWhole = [workflow, stateDir, environmentFile].every((value) => typeof value === 'string');
    return isWhole ? (mark as UnitMark) : null;
  } catch {
    return null;
  }
}
