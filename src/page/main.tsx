import { render } from 'preact';
import { App } from './app.js';
import { pauseTicker } from './components/ticker.js';
import { takeToken } from './live/api.js';

// First of all, so that the token leaves the address bar at once.
const replaceHash = (hash: string) => history.replaceState(null, '', `${location.pathname}${location.search}${hash}`);
const readToken = () => takeToken({ hash: location.hash, storage: sessionStorage, replaceHash });
const token = readToken();

document.addEventListener('visibilitychange', () => pauseTicker(document.hidden));

const root = document.getElementById('page');
if (root) render(<App base={document.baseURI.replace(/#.*$/, '')} firstToken={token} readToken={readToken} />, root);
