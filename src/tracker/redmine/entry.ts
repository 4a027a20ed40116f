import { performance } from 'node:perf_hooks';
import { endpointOf } from '../http/endpoint.js';
import { TrackerHttp } from '../http/tracker-http.js';
import { ProviderSettings } from '../provider-settings.js';
import type { TrackerEntry } from '../registry.js';
import { RedmineTracker } from './tracker.js';

const KIND = 'redmine';
/** Of Redmine's own default statuses. "Resolved" is neither: it waits for a person. */
const DEFAULTS = { activeStates: ['New', 'In Progress'], terminalStates: ['Closed', 'Rejected'] };
const KEYS = ['endpoint', 'project', 'api_key', 'assignee', 'include_subprojects', 'label_fields', 'raw_tool'];
const VARIABLES = ['REDMINE_API_KEY'];

export const redmineTracker: TrackerEntry = redmineTrackerWith(() => performance.now());

/** `nowMs` is for telling how old is what we know of statuses and people. */
export function redmineTrackerWith(nowMs: () => number): TrackerEntry {
  return {
    kind: KIND,
    defaults: DEFAULTS,
    create(options) {
      const settings = new ProviderSettings(options, KEYS);
      const base = endpointOf(
        settings.needText('endpoint', 'https://redmine.example.org'),
        'tracker.provider.endpoint',
      );
      const project = projectOf(settings);
      const withSubprojects = flagOf(settings, 'include_subprojects', options.config.provider.include_subprojects);
      const labelFields = settings.list('label_fields');
      const rawTool = settings.rawTool('off');
      const assignee = settings.text('assignee');
      const token = settings.token('api_key', VARIABLES);
      const mask = (text: string) => options.mask(text).replaceAll(token.value, '[secret]');
      const http = new TrackerHttp({
        name: 'Redmine',
        base,
        headers: { 'x-redmine-api-key': token.value },
        tokenFrom: token.from,
        // Redmine counts nothing; a proxy in front of it says 429 when it does.
        readQuota: () => null,
        mask,
      });
      return new RedmineTracker({
        ...{ kind: KIND, defaults: DEFAULTS, http, base, tokenFrom: token.from, mask, nowMs },
        ...{ assignee, labelFields, rawTool },
        scope: { project, withSubprojects },
        settings: () => options.settings(),
      });
    },
  };
}

/** An identifier or a number, as in the address of the project's page. Strict, since it becomes part of paths. */
function projectOf(settings: ProviderSettings): string {
  const project = settings.needText('project', 'my-app');
  if (/^[a-z0-9][a-z0-9_-]{0,99}$/.test(project)) return project;
  throw settings.wrong('project', "must be the project's identifier, as in the address of its page, or its number");
}

function flagOf(settings: ProviderSettings, key: string, written: unknown): boolean {
  if (written === undefined || written === null) return false;
  if (typeof written === 'boolean') return written;
  throw settings.wrong(key, 'must be true or false');
}
