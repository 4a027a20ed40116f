import type { Trust } from '../../domain/config.js';
import { BatonError } from '../../domain/errors.js';
import { textOf } from '../../domain/fields.js';
import type { TrackerFacts } from '../../domain/ports.js';
import { type JiraCalls, misshapen } from './api.js';
import type { JiraSettings } from './settings.js';
import { allOf } from './jql.js';
import { namesOf, type Place, type PlaceReader } from './place.js';
import { scopeClauses } from './read.js';

/** Token, project, states and JQL, each asked of Jira. */
export async function inspectJira(
  calls: JiraCalls,
  places: PlaceReader,
  { jira, trust }: { readonly jira: JiraSettings; readonly trust: Trust | null },
): Promise<TrackerFacts> {
  const { displayName, emailAddress } = await calls.whoAmI();
  const place = await places.readAnew(calls).catch((error: unknown) => {
    throw isMissing(error) ? new BatonError('invalid_tracker_config', (error as BatonError).message) : error;
  });
  const { project } = place;
  if (jira.ownClause !== null) await tryJql(calls, place, jira.ownClause);
  return {
    user: textOf(displayName) ?? textOf(emailAddress),
    target: project === null ? `issues that match ${jira.ownClause}` : `project ${project.key} (${project.name})`,
    states: namesOf(place.statuses),
    warnings: warningsFor(place, jira, trust),
  };
}

function warningsFor({ project }: Place, jira: JiraSettings, trust: Trust | null): readonly string[] {
  const warnings: string[] = [];
  if (project !== null && jira.project !== project.key)
    warnings.push(
      `tracker.provider.project is ${jira.project}, which Jira calls ${project.key} by now. Write the new key.`,
    );
  if (project?.isServiceDesk && (trust === null || typeof trust === 'string')) {
    const who = trust === 'members' ? 'Customers who have an Atlassian account count as members: they' : 'Customers';
    const way = 'List the account ids or addresses of your team under tracker.trust to work on their issues only';
    warnings.push(`${who} can write issues of project ${project.key}, and agents would follow them. ${way}.`);
  }
  if (jira.site === null)
    warnings.push(
      'Issues have no links: write the address of your Jira, such as https://yourteam.atlassian.net, into tracker.provider.site.',
    );
  return warnings;
}

async function tryJql(calls: JiraCalls, place: Place, ownClause: string): Promise<void> {
  const jql = allOf(scopeClauses(place, ownClause));
  const answer = await calls.post('/search/jql', { jql, fields: ['id'], maxResults: 1 }, [400]);
  if (answer.status === 400) {
    const message = `Jira does not take tracker.provider.jql. It says: ${calls.said(answer) || 'nothing'}`;
    throw new BatonError('invalid_tracker_config', message);
  }
  if (!Array.isArray((answer.body as { readonly issues?: unknown } | null)?.issues))
    throw misshapen('the result of a search', 'has no list of issues');
}

function isMissing(error: unknown): boolean {
  return error instanceof BatonError && error.details.status === 404 && error.code === 'tracker_status';
}
