// Never answers the named method (argv); says so with a notification of its own.
import { serve } from './app-server.mjs';

serve({ [process.argv[2]]: (agent) => agent.notify('fake/ready', {}) });
