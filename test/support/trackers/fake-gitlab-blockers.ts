import { BLOCKERS_QUERY } from '../../../src/tracker/gitlab/read.js';
import type { GitlabScene } from './fake-gitlab.js';
import { labelsOf } from './fake-gitlab-shapes.js';
import type { FakeAnswer, FakeRequest } from './fake-server.js';

/** Answers the one query that there is, in the shape of GitLab's GraphQL API. */
export function answerBlockers({ body }: FakeRequest, { world, board }: GitlabScene): FakeAnswer {
  const { query, variables } = body;
  if (query !== BLOCKERS_QUERY) return { body: { errors: [{ message: 'the fake does not know this query' }] } };
  if (world.missingField !== null) return { body: { errors: [undefinedField(world.missingField)] } };
  const path = world.renamedTo ?? world.project;
  if (variables.project.toLowerCase() !== path.toLowerCase()) return { body: { data: { project: null } } };
  const iids = variables.iids as string[];
  const nodes = [...board.keys()]
    .filter((id) => iids.includes(id) && !world.hidden.has(id))
    .slice(0, 100)
    .map((id) => ({ iid: id, widgets: [{}, widgetOf(id, { world, board }), {}] }));
  return { body: { data: { project: { workItems: { nodes } } } } };
}

function widgetOf(id: string, { world, board }: GitlabScene) {
  const own = (board.get(id)?.blockedBy ?? []).flatMap((each) => {
    const issue = board.get(each);
    if (!issue) return [];
    const labels = labelsOf(issue).map((title) => ({ title }));
    const state = issue.state === 'closed' ? 'CLOSED' : 'OPEN';
    return {
      ...{ iid: each, state, reference: `${world.project}#${each}` },
      widgets: [{}, { labels: { nodes: labels } }],
    };
  });
  const foreign = (world.foreignBlockers.get(id) ?? []).map(({ reference, state }) => ({
    ...{ iid: reference.split('#')[1], state, reference },
    widgets: [{ labels: { nodes: [{ title: 'Review' }] } }],
  }));
  const seen = [...own, ...foreign];
  const open = seen.filter(({ state }) => state === 'OPEN').length + (world.hiddenBlockers.get(id) ?? 0);
  const related = { linkType: 'relates_to', workItem: { iid: '77', state: 'OPEN', reference: `${world.project}#77` } };
  const blocking = { linkType: 'blocks', workItem: { iid: '78', state: 'OPEN', reference: `${world.project}#78` } };
  const links = seen.map((workItem) => ({ linkType: 'is_blocked_by', workItem }));
  return { blockedByCount: open, linkedItems: { nodes: [related, ...links, blocking] } };
}

function undefinedField(fieldName: string) {
  const message = `Field '${fieldName}' doesn't exist on type 'WorkItemWidgetLinkedItems'`;
  const extensions = { code: 'undefinedField', typeName: 'WorkItemWidgetLinkedItems', fieldName };
  return { message, locations: [{ line: 8, column: 13 }], path: ['query BatonBlockers'], extensions };
}
