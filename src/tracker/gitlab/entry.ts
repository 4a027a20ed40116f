import { performance } from 'node:perf_hooks';
import { endpointOf } from '../http/endpoint.js';
import { type LabelState, LabelStates, labelStatesOf } from '../label-states.js';
import { ProviderSettings } from '../provider-settings.js';
import type { TrackerEntry } from '../registry.js';
import { GitlabApi } from './api.js';
import { GitlabTracker } from './tracker.js';
import { OWN_STATES } from './own-states.js';

const KIND = 'gitlab';
const DEFAULTS = { activeStates: ['opened'], terminalStates: ['closed'] };
const KEYS = ['project', 'endpoint', 'token', 'assignee', 'state_labels', 'raw_tool'];
const ENDPOINT = 'https://gitlab.com';
const VARIABLES = ['GITLAB_TOKEN'];

export const gitlabTracker: TrackerEntry = gitlabTrackerWith(() => performance.now());

/** `nowMs` is for telling how long ago the project and its members were looked at. */
export function gitlabTrackerWith(nowMs: () => number): TrackerEntry {
  return {
    kind: KIND,
    defaults: DEFAULTS,
    create(options) {
      const settings = new ProviderSettings(options, KEYS);
      const project = projectOf(settings);
      const endpoint = instanceOf(settings);
      const api = new GitlabApi({
        ...{ endpoint, project },
        token: settings.token('token', VARIABLES),
        mask: (text) => options.mask(text),
      });
      const place = `${endpoint.host}${endpoint.pathname}`.replace(/\/$/, '');
      return new GitlabTracker({
        ...{ kind: KIND, defaults: DEFAULTS, api, nowMs },
        scope: `${KIND}:${place}/${project}`.toLowerCase(),
        states: new LabelStates(OWN_STATES, statesOf(settings)),
        assignee: settings.text('assignee')?.replace(/^@/, '') ?? null,
        rawTool: settings.rawTool('off'),
        settings: () => options.settings(),
      });
    },
  };
}

/** Strict, since it becomes part of every path. */
function projectOf(settings: ProviderSettings): string {
  const written = settings.needText('project', 'group/project');
  const isNumber = /^[1-9]\d{0,14}$/.test(written);
  const isPath = /^[A-Za-z0-9_][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_][A-Za-z0-9_.-]*)+$/.test(written);
  if (isNumber || (isPath && written.length <= 500 && !/\.git$/i.test(written))) return written;
  throw settings.wrong('project', 'must be group/project or a number, without address and ending');
}

/** People copy the address of the API as well as that of the page. */
function instanceOf(settings: ProviderSettings): URL {
  const endpoint = endpointOf(settings.text('endpoint') ?? ENDPOINT, 'tracker.provider.endpoint');
  endpoint.pathname = endpoint.pathname.replace(/\/api\/v4$/, '');
  return endpoint;
}

/** GitLab takes several labels in one text. */
function statesOf(settings: ProviderSettings): readonly LabelState[] {
  const states = labelStatesOf(settings, OWN_STATES);
  const odd = states.find(({ label }) => label.includes(','));
  if (odd) throw settings.wrong('state_labels', `names the label "${odd.label}": no label has a comma`);
  return states;
}
