import { basename } from 'node:path';
import type { ApiModule } from './api.js';
import { searchWorkspace } from './search.js';

export const PROJECT_API: ApiModule = {
  module: 'project',
  types: ['projectEvent', 'settingEvent'],
  actions: {
    getProjectPath: async (_, { context }) => ({
      projectPath: context.workspace,
      projectName: basename(context.workspace),
    }),
    getProjectFiles: async (_, session) => {
      const { results, truncated } = await searchWorkspace({ mode: 'list', pattern: '', path: '.' }, session);
      return { files: results.map(({ path }) => path), truncated };
    },
  },
};
