export const EXAMPLE_ISSUE = 'TASK-1';

/** Small and harmless, so that the first run has something to do. */
export function exampleIssue(hasRepository: boolean) {
  const description = hasRepository
    ? 'Look at what this repository is, and write three short sentences for a newcomer into `HELLO-BATON.md` at its top: what it is for, how it is built, how its tests are run. Change nothing else.'
    : 'Write a haiku about handing work on into `HELLO-BATON.md`. Change nothing else.';
  return { id: EXAMPLE_ISSUE, title: 'Say hello', description };
}
