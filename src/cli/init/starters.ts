/** What `init` knows of a kind of tracker, besides what its section of the workflow says. */
export interface StarterKind {
  readonly kind: string;
  /** As people call it. */
  readonly name: string;
  /** Where the prompt sends an issue whose work is complete. */
  readonly done: string;
  /** How an issue is called there. */
  readonly example: string;
  /** How to say which project is meant; `null`: there is nothing to say. */
  readonly project: string | null;
  /** Variables that must be set, in groups of which one is enough, and where the token comes from. */
  readonly variables: readonly (readonly string[])[];
  readonly token: string;
}

/** The first is what we propose: it needs no account, and the first run has something to do. */
export const STARTER_KINDS: readonly StarterKind[] = [
  {
    ...{ kind: 'local', name: 'local', done: 'Done', example: 'TASK-1' },
    ...{ project: null, variables: [], token: '' },
  },
  {
    ...{ kind: 'linear', name: 'Linear', done: 'Done', example: 'ENG-1' },
    project:
      'the address of a project, such as https://linear.app/acme/project/app-0123456789ab, or the key of a team, such as ENG',
    variables: [['LINEAR_API_KEY']],
    token: 'a personal API key that may read and write (Linear: Settings, Security & access)',
  },
  {
    ...{ kind: 'github', name: 'GitHub', done: 'closed', example: 'GH-1' },
    project: 'owner/name, or the address of a repository',
    variables: [['GITHUB_TOKEN', 'GH_TOKEN']],
    token: 'a token that may read and write its issues (GitHub: Settings, Developer settings)',
  },
  {
    ...{ kind: 'gitlab', name: 'GitLab', done: 'closed', example: 'GL-1' },
    project: 'group/project, or the address of a project',
    variables: [['GITLAB_TOKEN']],
    token: 'an access token of the project or of a person, with the scope api (GitLab: Settings, Access tokens)',
  },
  {
    ...{ kind: 'jira', name: 'Jira', done: 'Done', example: 'ABC-1' },
    project: 'the address of a project, such as https://yourteam.atlassian.net/browse/ABC',
    variables: [['JIRA_EMAIL'], ['JIRA_API_TOKEN']],
    token: 'the address of an account, and an API token of it (https://id.atlassian.com/manage-profile/security)',
  },
  {
    ...{ kind: 'redmine', name: 'Redmine', done: 'Resolved', example: 'RM-1' },
    project: 'the address of a project, such as https://redmine.example.org/projects/my-app',
    variables: [['REDMINE_API_KEY']],
    token: 'the API key of an account (Redmine: My account; the REST service must be switched on in its settings)',
  },
  {
    ...{ kind: 'command', name: 'command', done: 'Done', example: 'TASK-1' },
    ...{ project: null, variables: [], token: '' },
  },
];

export function starterKind(kind: string): StarterKind {
  const found = STARTER_KINDS.find((each) => each.kind === kind);
  if (found === undefined) throw new Error(`there is no starter for ${kind}`);
  return found;
}
