/**
 * Page sizes. A query may cost 10,000 points: an object costs one point, a field a tenth, and a list costs its content times
 * the requested `first`, whatever its real length.
 */
export const PAGE = {
  /** An issue with `nested` = 10 costs 14 + 10 × 1.1 (labels) + 10 × 3.6 (relations) = 61 points, so a full page costs 6,100. */
  issues: 100,
  nested: 10,
  /** Ids per query: 50 × 61 = 3,050 points. */
  ids: 50,
  /** Issues with more labels or relations are read again: 7 × (14 + 250 × 4.7) = 8,330 points. */
  deepIssues: 7,
  deep: 250,
} as const;

/** 4,100 points: 30 × 100 × 1.3 for the states of a project's teams, and little for the rest. */
export const SCOPE_QUERY = `
query BatonScope($project: ProjectFilter, $team: TeamFilter, $byProject: Boolean!, $byTeam: Boolean!) {
  viewer { id name displayName email }
  projects(filter: $project, first: 1) @include(if: $byProject) {
    nodes { id name teams(first: 30) { nodes { key states(first: 100) { nodes { name type position } } } } }
  }
  teams(filter: $team, first: 1) @include(if: $byTeam) {
    nodes { id key name states(first: 100) { nodes { name type position } } }
  }
}`;

/** Every page also asks for project and team: without access to them, an empty list proves nothing. */
export const ISSUES_QUERY = `
query BatonIssues(
  $filter: IssueFilter!, $first: Int!, $after: String, $nested: Int!
  $project: ProjectFilter, $team: TeamFilter, $byProject: Boolean!, $byTeam: Boolean!
) {
  projects(filter: $project, first: 1) @include(if: $byProject) { nodes { id } }
  teams(filter: $team, first: 1) @include(if: $byTeam) { nodes { id } }
  issues(filter: $filter, first: $first, after: $after, orderBy: createdAt) {
    nodes {
      id identifier title description priority branchName url createdAt updatedAt archivedAt trashed
      state { name }
      assignee { id name displayName email }
      creator { id displayName email active guest app }
      externalUserCreator { name }
      asksExternalUserRequester { name }
      botActor { name userDisplayName }
      labels(first: $nested) { nodes { name } pageInfo { hasNextPage } }
      inverseRelations(first: $nested) {
        nodes { type issue { id identifier archivedAt trashed state { name } } }
        pageInfo { hasNextPage }
      }
    }
    pageInfo { hasNextPage endCursor }
  }
}`;

/** 2 × 100 × 5 points. Reads both ends, because Linear does not document which one is the newest. */
export const COMMENTS_QUERY = `
query BatonComments($id: String!) {
  issue(id: $id) {
    id
    one: comments(first: 100, orderBy: createdAt) { nodes { ...BatonComment } }
    other: comments(last: 100, orderBy: createdAt) { nodes { ...BatonComment } }
  }
}
fragment BatonComment on Comment {
  id body createdAt
  user { id displayName email active guest app }
  externalUser { name }
  botActor { name userDisplayName }
}`;

export const STATE_QUERY = `
query BatonState($id: String!) {
  issue(id: $id) { id state { name } }
}`;

/** An issue can only be moved to a state of its own team. */
export const MOVES_QUERY = `
query BatonMoves($id: String!) {
  issue(id: $id) {
    id identifier archivedAt trashed
    state { id name }
    team { key states(first: 100) { nodes { id name } } }
  }
}`;

export const MOVE_MUTATION = `
mutation BatonMove($id: String!, $stateId: String!) {
  issueUpdate(id: $id, input: { stateId: $stateId }) { success issue { id state { name } } }
}`;

export const COMMENT_MUTATION = `
mutation BatonComment($id: String!, $body: String!) {
  commentCreate(input: { issueId: $id, body: $body }) { success }
}`;
