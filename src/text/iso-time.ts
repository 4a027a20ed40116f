/** For people and scripts: UTC. `null` for what no calendar has, such as a reset time that a tracker sent in the wrong unit. */
export function isoTime(wallMs: number): string | null {
  const date = new Date(wallMs);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
