import { performance } from 'node:perf_hooks';
import { BatonError } from '../../domain/errors.js';
import { endpointOf } from '../http/endpoint.js';
import { LabelStates, labelStatesOf } from '../label-states.js';
import { ProviderSettings } from '../provider-settings.js';
import type { TrackerEntry } from '../registry.js';
import { GithubApi, type RepoName } from './api.js';
import { GithubTracker } from './tracker.js';
import { OWN_STATES } from './own-states.js';
import { verifyGithubWebhook } from './webhook.js';

const KIND = 'github';
const DEFAULTS = { activeStates: ['open'], terminalStates: ['closed'] };
const KEYS = ['repo', 'endpoint', 'token', 'assignee', 'state_labels', 'raw_tool'];
const ENDPOINT = 'https://api.github.com';
const VARIABLES = ['GITHUB_TOKEN', 'GH_TOKEN'];

export const githubTracker: TrackerEntry = githubTrackerWith(() => performance.now());

/** `nowMs` is for telling how long ago the repository was looked at. */
export function githubTrackerWith(nowMs: () => number): TrackerEntry {
  return {
    kind: KIND,
    defaults: DEFAULTS,
    verifyWebhook: verifyGithubWebhook,
    create(options) {
      const settings = new ProviderSettings(options, KEYS);
      const repo = repoOf(settings);
      const endpoint = apiOf(settings);
      const api = new GithubApi({
        endpoint,
        repo,
        token: settings.token('token', VARIABLES),
        mask: (text) => options.mask(text),
      });
      return new GithubTracker({
        ...{ kind: KIND, defaults: DEFAULTS, api, nowMs },
        scope: `${KIND}:${endpoint.host}/${repo.owner}/${repo.name}`.toLowerCase(),
        states: new LabelStates(OWN_STATES, labelStatesOf(settings, OWN_STATES)),
        assignee: settings.text('assignee')?.replace(/^@/, '') ?? null,
        rawTool: settings.rawTool('off'),
        settings: () => options.settings(),
      });
    },
  };
}

/** Strict, since it becomes part of every path. */
function repoOf(settings: ProviderSettings): RepoName {
  const written = settings.needText('repo', 'owner/name');
  const [, owner, name] = /^([A-Za-z0-9][A-Za-z0-9_-]{0,99})\/([A-Za-z0-9._-]{1,100})$/.exec(written) ?? [];
  if (owner === undefined || name === undefined || /^\.{1,2}$|\.git$/i.test(name))
    throw settings.wrong('repo', 'must be owner/name, without address and ending');
  return { owner, name };
}

function apiOf(settings: ProviderSettings): URL {
  const endpoint = endpointOf(settings.text('endpoint') ?? ENDPOINT, 'tracker.provider.endpoint');
  if (!/^(?:www\.)?github\.com$/.test(endpoint.hostname)) return endpoint;
  const message = `tracker.provider.endpoint is the address of GitHub's pages. Leave it out, or write ${ENDPOINT}, where its API is.`;
  throw new BatonError('invalid_tracker_config', message);
}
