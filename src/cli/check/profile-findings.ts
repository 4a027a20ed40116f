import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CheckContext } from './check-context.js';
import { type Finding, reporter } from './finding.js';

const PROFILES = ['.bash_profile', '.bash_login', '.profile', '.bashrc'];

/** The tracker's secrets in files that every login shell reads: ours unsets them again, one that an agent starts does not. */
export async function profileFindings({ io, loaded }: CheckContext): Promise<Finding[]> {
  const { secretNames } = loaded.workflow;
  if (secretNames.length === 0) return [];
  const found = await Promise.all(
    PROFILES.map(async (name) => {
      const text = await readFile(join(io.homeDir, name), 'utf8').catch(() => '');
      const report = reporter('Isolation', `~/${name}`);
      return text.split('\n').flatMap((line, index) => {
        const variable = secretNames.find((secret) => assigns(line, secret));
        if (variable === undefined) return [];
        const column = line.length - line.trimStart().length + 1;
        const message = `${variable}, a secret of the tracker, is set in a shell profile: an agent that starts a login shell has it`;
        const advice = 'Move it to a file that only the daemon reads, such as the EnvironmentFile of its service.';
        return [report('warning', 'secret_in_profile', { line: index + 1, column }, message, advice)];
      });
    }),
  );
  return found.flat();
}

function assigns(line: string, name: string): boolean {
  return new RegExp(`^\\s*(?:(?:export|declare|typeset|readonly)\\s+(?:-\\w+\\s+)*)?${name}=`).test(line);
}
