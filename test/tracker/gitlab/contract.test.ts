import { startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import { trackerContract } from '../contract/tracker-contract.js';

trackerContract('gitlab', {
  start: startFakeGitlab,
  active: 'opened',
  other: 'In progress',
  terminal: 'closed',
  endpointKey: 'endpoint',
  tokenKey: 'token',
  rawTool: 'gitlab_api',
  rawRead: (mark) => ({ method: 'GET', path: `/issues?labels=${mark}` }),
  provider: { state_labels: ['In progress', 'Review'] },
});
