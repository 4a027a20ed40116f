import { findSecrets, type KnownSecrets, nameSecrets, type SecretFinding } from '../../../src/domain/find-secrets.js';
import { sha256 } from '../../../src/domain/sha256.js';
import { type AgentQuestion, yesOrNo } from './questions.js';

/** A call of a host tool that is not made until a person allows it, because its text contains secrets. */
export interface HeldCall {
  readonly question: AgentQuestion<boolean>;
  /** For the agent, when nobody allows the call. */
  readonly refusal: string;
}

/** Null when the call contains no secret. `input` is what the agent wrote. */
export function holdOf(tool: string, input: unknown, known: KnownSecrets): HeldCall | null {
  const text = textsIn(input).join('\n');
  const findings = findSecrets(text, known);
  if (findings.length === 0) return null;
  return {
    question: yesOrNo([
      `Let the agent write this with ${tool}, although it seems to contain ${nameSecrets(findings)}`,
      ...findings.map(excerptLine),
      // An approval that comes after the run has ended counts for a call with exactly this content.
      `Content: ${text.length} characters, SHA-256 ${sha256(text)}`,
    ]),
    refusal: `Nothing was written: the text seems to contain ${nameSecrets(findings)}, and no person allowed it. Write it without the secret.`,
  };
}

function excerptLine({ line, excerpt }: SecretFinding): string {
  return `Line ${line}: ${excerpt}`;
}

/** Names of members, too: they reach the tracker as the values do. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    typeof member === 'string' ? [`${name}: ${member}`] : [name, ...textsIn(member)],
  );
}
