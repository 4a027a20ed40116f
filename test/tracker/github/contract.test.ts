import { startFakeGithub } from '../../support/trackers/fake-github.js';
import { trackerContract } from '../contract/tracker-contract.js';

trackerContract('github', {
  start: startFakeGithub,
  active: 'open',
  other: 'In progress',
  terminal: 'closed',
  endpointKey: 'endpoint',
  tokenKey: 'token',
  rawTool: 'github_api',
  rawRead: (mark) => ({ method: 'GET', path: `/issues?labels=${mark}` }),
  provider: { state_labels: ['In progress', 'Review'] },
});
