/** The part of Linear's published schema that Baton uses, with Linear's names and types. A query beyond it fails. */
export const LINEAR_SCHEMA = `
  scalar DateTime
  enum PaginationOrderBy { createdAt updatedAt }

  type Query {
    viewer: User!
    issue(id: String!): Issue!
    issues(filter: IssueFilter, first: Int, last: Int, after: String, before: String, includeArchived: Boolean, orderBy: PaginationOrderBy): IssueConnection!
    projects(filter: ProjectFilter, first: Int, last: Int, after: String, before: String, includeArchived: Boolean, orderBy: PaginationOrderBy): ProjectConnection!
    teams(filter: TeamFilter, first: Int, last: Int, after: String, before: String, includeArchived: Boolean, orderBy: PaginationOrderBy): TeamConnection!
  }
  type Mutation {
    issueUpdate(id: String!, input: IssueUpdateInput!): IssuePayload!
    commentCreate(input: CommentCreateInput!): CommentPayload!
  }
  type Subscription { issueUpdated: Issue }

  type PageInfo { hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String }
  type IssueConnection { nodes: [Issue!]! pageInfo: PageInfo! }
  type ProjectConnection { nodes: [Project!]! pageInfo: PageInfo! }
  type TeamConnection { nodes: [Team!]! pageInfo: PageInfo! }
  type WorkflowStateConnection { nodes: [WorkflowState!]! pageInfo: PageInfo! }
  type CommentConnection { nodes: [Comment!]! pageInfo: PageInfo! }
  type IssueLabelConnection { nodes: [IssueLabel!]! pageInfo: PageInfo! }
  type IssueRelationConnection { nodes: [IssueRelation!]! pageInfo: PageInfo! }

  type User {
    id: ID! name: String! displayName: String! email: String!
    active: Boolean! admin: Boolean! app: Boolean! guest: Boolean! isMe: Boolean!
  }
  type ExternalUser { id: ID! name: String! displayName: String! email: String }
  type ActorBot { id: ID type: String! subType: String name: String userDisplayName: String avatarUrl: String }
  type WorkflowState { id: ID! name: String! type: String! position: Float! team: Team! }
  type IssueLabel { id: ID! name: String! }
  type IssueRelation { id: ID! type: String! issue: Issue! relatedIssue: Issue! }
  type Project {
    id: ID! name: String! slugId: String!
    teams(first: Int, last: Int, after: String, before: String): TeamConnection!
  }
  type Team {
    id: ID! key: String! name: String!
    states(first: Int, last: Int, after: String, before: String): WorkflowStateConnection!
  }
  type Issue {
    id: ID! identifier: String! number: Float! title: String! description: String
    priority: Float! priorityLabel: String! branchName: String! url: String!
    createdAt: DateTime! updatedAt: DateTime! archivedAt: DateTime trashed: Boolean
    state: WorkflowState! team: Team! project: Project
    assignee: User creator: User externalUserCreator: ExternalUser asksExternalUserRequester: ExternalUser botActor: ActorBot
    labels(first: Int, last: Int, after: String, before: String): IssueLabelConnection!
    inverseRelations(first: Int, last: Int, after: String, before: String): IssueRelationConnection!
    comments(first: Int, last: Int, after: String, before: String, orderBy: PaginationOrderBy): CommentConnection!
  }
  type Comment {
    id: ID! body: String! createdAt: DateTime! updatedAt: DateTime!
    user: User externalUser: ExternalUser botActor: ActorBot
  }
  type IssuePayload { success: Boolean! issue: Issue }
  type CommentPayload { success: Boolean! comment: Comment! }

  input StringComparator { eq: String neq: String in: [String!] nin: [String!] eqIgnoreCase: String neqIgnoreCase: String }
  input IDComparator { eq: ID neq: ID in: [ID!] nin: [ID!] }
  input IssueIDComparator { eq: ID neq: ID in: [ID!] nin: [ID!] }
  input NumberComparator { eq: Float neq: Float in: [Float!] nin: [Float!] lt: Float lte: Float gt: Float gte: Float }
  input ProjectFilter { id: IDComparator name: StringComparator slugId: StringComparator and: [ProjectFilter!] or: [ProjectFilter!] }
  input NullableProjectFilter { id: IDComparator name: StringComparator slugId: StringComparator null: Boolean and: [NullableProjectFilter!] or: [NullableProjectFilter!] }
  input TeamFilter { id: IDComparator key: StringComparator name: StringComparator and: [TeamFilter!] or: [TeamFilter!] }
  input WorkflowStateFilter { id: IDComparator name: StringComparator type: StringComparator and: [WorkflowStateFilter!] or: [WorkflowStateFilter!] }
  input IssueFilter {
    id: IssueIDComparator number: NumberComparator state: WorkflowStateFilter team: TeamFilter project: NullableProjectFilter
    and: [IssueFilter!] or: [IssueFilter!]
  }
  input IssueUpdateInput { stateId: String title: String description: String priority: Int assigneeId: String projectId: String labelIds: [String!] }
  input CommentCreateInput { issueId: String body: String parentId: String }
`;
