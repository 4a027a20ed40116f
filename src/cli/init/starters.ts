import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { BatonError } from '../../domain/errors.js';
import { shellWord } from '../../domain/shell-word.js';
import type { TrackerProject } from './project-address.js';

/** What `init` knows about a kind of tracker, besides its section of the workflow. */
export interface StarterKind {
  readonly kind: string;
  /** The display name. */
  readonly name: string;
  /** The state of a finished issue. */
  readonly done: string;
  /** An identifier of an issue. */
  readonly example: string;
  /** How to name a project; null when there are none. */
  readonly project: string | null;
  /** Required variables (one of each group is enough), and where to get the token. */
  readonly variables: readonly (readonly string[])[];
  readonly token: string;
}

/** The first one is proposed: it needs no account. */
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

const STARTERS = new URL('../../../templates/workflows/', import.meta.url);

interface StarterValues {
  readonly tracker: StarterKind;
  /** Null: keep the settings of the starter. */
  readonly project: TrackerProject | null;
  readonly label: string;
  /** Shell command of the agent. */
  readonly command: string;
  /** The repository that agents clone and push to; null for none. */
  readonly repoUrl: string | null;
  /** Null: the default branch of the remote. */
  readonly baseBranch: string | null;
  /** Where results are copied without a repository. */
  readonly resultsDir: string;
}

/** The starter workflow, with or without `steps:`, with the section of the tracker and the given values. */
export function fillStarter(values: StarterValues, hasSteps = false): string {
  const { tracker, repoUrl, baseBranch } = values;
  const name = hasSteps ? 'steps.md' : 'one-agent.md';
  let text = read(name);
  const put = (own: string, given: string, times = 1) => {
    const parts = text.split(own);
    if (parts.length !== times + 1) {
      throw new BatonError('internal_error', `${name} holds ${JSON.stringify(own)} ${parts.length - 1} times`);
    }
    text = parts.join(given);
  };
  put('"Done"', `"${tracker.done}"`);
  put('TASK-1', tracker.example, 2);
  put('# <tracker>\n', `${trackerSection(tracker.kind, values.project)}\n`);
  put('required_labels: [baton]', `required_labels: [${yamlText(values.label)}]`);
  put('command: codex app-server', `command: ${yamlText(values.command)}`);
  const hooks = /^ {2}# <repository>\n([\s\S]*?)^ {2}# <\/repository>\n/m.exec(text);
  put(hooks?.[0] ?? '# <repository>', repoUrl === null ? copyHooks(values.resultsDir) : (hooks?.[1] ?? ''));
  if (repoUrl !== null) {
    const base = baseBranch === null ? '' : `\n    export BATON_BASE_BRANCH=${shellWord(baseBranch)}`;
    put('BATON_REPO_URL=git@example.org:team/project.git', `BATON_REPO_URL=${shellWord(repoUrl)}${base}`, 2);
  }
  return text;
}

function trackerSection(kind: string, project: TrackerProject | null): string {
  const section = read(`trackers/${kind}.yaml`);
  return section.replace(/^ {4}(\w+): .*\n/gm, (line, key: string) => {
    const given = project?.provider[key];
    if (given === undefined) return line;
    return given === null ? '' : `    ${key}: ${yamlText(given)}\n`;
  });
}

function read(name: string): string {
  return readFileSync(fileURLToPath(new URL(name, STARTERS)), 'utf8');
}

function copyHooks(resultsDir: string): string {
  return `  # There is no git repository, so workspaces start empty. After each run this copies the results, because the workspace
  # is removed once its issue is done.
  after_run: |
    results=${shellWord(resultsDir)}/$(basename "$PWD")
    mkdir -p "$results"
    cp -a . "$results"
`;
}

/** Quotes a text unless YAML reads the plain word as the same text. */
function yamlText(text: string): string {
  return /^[A-Za-z][\w ./:-]*\w$/.test(text) && parse(text) === text ? text : JSON.stringify(text);
}
