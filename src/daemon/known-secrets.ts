import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KnownSecrets } from '../domain/find-secrets.js';
import { fieldsOf } from '../domain/json.js';
import type { Redactor } from '../logging/redact.js';
import { isSecretName } from '../workflow/secrets.js';

interface SecretSources {
  readonly env: NodeJS.ProcessEnv;
  readonly homeDir: string;
  readonly redactor: Redactor;
}

/**
 * The secrets to look for in what leaves this machine: those that Baton reads itself, variables of the daemon whose names suggest a secret (the key of
 * the model among them), and the tokens of Codex's login. From then on they are masked, too. Codex renews its tokens, so its file is read each time.
 */
export function knownSecretsOf({ env, homeDir, redactor }: SecretSources): () => Promise<KnownSecrets> {
  for (const secret of secretsInVariables(env)) redactor.add(secret);
  const login = join(env.CODEX_HOME || join(homeDir, '.codex'), 'auth.json');
  return async () => {
    for (const secret of await secretsInLogin(login)) redactor.add(secret);
    return redactor.prints();
  };
}

function secretsInVariables(env: NodeJS.ProcessEnv): string[] {
  return Object.entries(env).flatMap(([name, value = '']) =>
    isSecretName(name) && isLikeSecret(value) ? [value.trim()] : [],
  );
}

const MIN_LENGTH = 12;

/** A name only suggests a secret: `PWD` and `TOKEN_FILE_AUTH` are paths. */
function isLikeSecret(value: string): boolean {
  const text = value.trim();
  return text.length >= MIN_LENGTH && !/^[/~.]/.test(text) && new Set(text).size >= MIN_LENGTH / 2;
}

async function secretsInLogin(path: string): Promise<string[]> {
  try {
    const { tokens, ...keys } = fieldsOf(JSON.parse(await readFile(path, 'utf8')));
    return Object.entries({ ...fieldsOf(tokens), ...keys }).flatMap(([name, value]) =>
      typeof value === 'string' && isSecretName(name) && isLikeSecret(value) ? [value] : [],
    );
  } catch {
    // There is no login, or this user cannot read it; then an agent of this user cannot either.
    return [];
  }
}
