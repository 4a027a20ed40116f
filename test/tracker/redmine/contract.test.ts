import { startFakeRedmine } from '../../support/trackers/fake-redmine.js';
import { trackerContract } from '../contract/tracker-contract.js';

trackerContract('redmine', {
  start: startFakeRedmine,
  active: 'New',
  other: 'In Progress',
  terminal: 'Closed',
  endpointKey: 'endpoint',
  tokenKey: 'api_key',
  rawTool: 'redmine_api',
  rawRead: (mark) => ({ method: 'GET', path: `/issues.json?subject=${mark}` }),
});
