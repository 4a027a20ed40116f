// Never answers the named method (argv); sends a notification instead.
import { serve } from './app-server.mjs';

serve({ [process.argv[2]]: (agent) => agent.notify('fake/ready', {}) });
