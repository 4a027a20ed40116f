/** Why an issue is left to others, going on from "it …"; `null`: it is assigned to whom it must be. For trackers that know people by login. */
export function assignedElsewhere(assignees: readonly string[], wanted: string): string | null {
  if (assignees.some((login) => login.toLowerCase() === wanted.toLowerCase())) return null;
  const whom = assignees.length === 0 ? 'nobody' : assignees.join(' and ');
  return `is assigned to ${whom}, not to ${wanted}`;
}
