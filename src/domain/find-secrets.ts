import { base64Cores, piecesOf, utf8Bytes } from './secret-spellings.js';
import { sha256 } from './sha256.js';

/** A secret in a text that is about to leave this machine. */
export interface SecretFinding {
  /** What it is, as a noun: "GitHub token". */
  readonly kind: string;
  /** The line of the text, from 1. */
  readonly line: number;
  /** The beginning of the line, with the secret masked. Safe to show. */
  readonly excerpt: string;
}

/**
 * Prints of known secrets, as JSON: they find a secret in a text, and a process that has them does not have the secrets. A print of a password that can
 * be guessed can be tried out, so prints are for trusted processes only.
 */
export interface KnownSecrets {
  readonly salt: string;
  readonly prints: readonly SecretPrint[];
}

interface SecretPrint {
  readonly length: number;
  /** A short hash of the last characters: a filter, so that few places need the digest. */
  readonly filter: number;
  /** SHA-256 of the salt and the text. */
  readonly digest: string;
  /** The text is a part of the secret in base64. */
  readonly isBase64?: true;
}

/** Longer texts are not scanned to their end, and have the finding `TOO_LARGE`, so that size is no way out. */
const MAX_SCANNED_CHARS = 32 * 1024 * 1024;
export const TOO_LARGE = 'text that is too large to be scanned';
export const KNOWN_SECRET = 'secret that Baton knows';
const MAX_FINDINGS = 50;
const CHUNK_CHARS = 1024 * 1024;
/** Longer than any match. */
const OVERLAP_CHARS = 4096;
const MAX_UNESCAPES = 3;
/** A shorter text is too ordinary to hold a push for. */
const MIN_KNOWN_LENGTH = 8;
const WINDOW = 6;
const FILTER_BITS = 20;

/**
 * Finds known secrets and well-known formats of secrets in a text: as they are, with escapes of JSON, XML and URIs, with invisible characters or the
 * NULs of UTF-16 between them, and in base64 or hexadecimal, also wrapped into lines or groups. In time linear in the text. A text that is encrypted, reversed or split over several texts is
 * not recognised. Give it the text itself and not a diff, whose `+` breaks a secret that is wrapped. Pure.
 */
export function findSecrets(text: string, known: KnownSecrets | null = null): readonly SecretFinding[] {
  const found = new Map<string, Match>();
  const index = known === null ? null : indexPrints(known);
  for (let start = 0; start < text.length && start < MAX_SCANNED_CHARS; start += CHUNK_CHARS) {
    const chunk = text.slice(start, start + CHUNK_CHARS + OVERLAP_CHARS);
    for (const view of viewsOf(chunk)) {
      for (const match of [...formatsIn(view.text), ...(index === null ? [] : knownIn(view.text, index))]) {
        const at = start + view.indexIn(match.at);
        const key = `${match.kind} ${at}`;
        if (!found.has(key)) found.set(key, { ...match, at, isEncoded: view.isEncoded });
        if (found.size >= MAX_FINDINGS) return findingsOf(text, found);
      }
    }
  }
  const findings = findingsOf(text, found);
  return text.length > MAX_SCANNED_CHARS ? [...findings, { kind: TOO_LARGE, line: 1, excerpt: '' }] : findings;
}

/** One sentence about findings, without the secrets: "a GitHub token (line 3), a private key (line 9)". Pure. */
export function nameSecrets(findings: readonly SecretFinding[]): string {
  return findings.map(({ kind, line }) => `${/^[AEIO]/.test(kind) ? 'an' : 'a'} ${kind} (line ${line})`).join(', ');
}

interface Match {
  readonly kind: string;
  readonly at: number;
  /** The public beginning of the secret: `ghp_`. */
  readonly prefix: string;
  readonly isEncoded?: boolean;
}

const MAX_BEFORE = 40;
/** Read further back than is shown, so that a secret is masked and not cut. */
const MAX_READ_BEFORE = 400;

/** One finding for each kind and line. */
function findingsOf(text: string, found: ReadonlyMap<string, Match>): SecretFinding[] {
  const findings = new Map<string, SecretFinding>();
  let line = 1;
  let counted = 0;
  for (const { kind, at, prefix, isEncoded } of [...found.values()].sort((a, b) => a.at - b.at)) {
    for (let next = text.indexOf('\n', counted); next !== -1 && next < at; next = text.indexOf('\n', counted)) {
      line += 1;
      counted = next + 1;
    }
    const before = text.slice(Math.max(counted, at - MAX_READ_BEFORE), at);
    // What stands before may be a part of another secret, or, in encoded text, of this one.
    const shown = before
      .replace(/[\p{Cc}\p{Cf}]/gu, ' ')
      .replace(/[\w+/=.~%\\-]{12,}/g, '***')
      .slice(-MAX_BEFORE);
    const key = `${kind} ${line}`;
    if (!findings.has(key)) findings.set(key, { kind, line, excerpt: `${isEncoded ? '' : shown + prefix}***` });
  }
  return [...findings.values()];
}

/** A text that is derived from the scanned one by decoding. */
interface View {
  readonly text: string;
  readonly isEncoded: boolean;
  /** About where a place of this view is in the scanned text; exact enough for its line. */
  indexIn(at: number): number;
}

function* viewsOf(text: string): Generator<View> {
  let view: View = { text, isEncoded: false, indexIn: (at) => at };
  yield view;
  for (const escapes of ESCAPES) {
    for (let round = 0; round < MAX_UNESCAPES; round++) {
      const plain = replaceIn(view, escapes, unescaped);
      if (plain === null) break;
      view = plain;
      yield view;
    }
  }
  const joined = replaceIn(view, LINE_WRAPS, () => '') ?? view;
  if (joined !== view) yield joined;
  for (const [pattern, decode] of ENCODINGS) {
    const decoded = replaceIn(joined, pattern, decode);
    if (decoded !== null) yield decoded;
  }
}

/** Escapes of JSON and XML together with characters that are not seen; then, since a secret may itself contain a `%41`, those of URIs. */
const ESCAPES = [
  // biome-ignore lint/suspicious/noControlCharactersInRegex: UTF-16 that is read as UTF-8 has a NUL beside each letter
  /\\u[0-9a-fA-F]{4}|\\["\\/bfnrt]|&#(?:\d{1,6}|[xX][0-9a-fA-F]{1,5});|\x00+|\p{Default_Ignorable_Code_Point}/gu,
  /%[0-9a-fA-F]{2}/g,
];
const LINE_WRAPS = /(?<=[A-Za-z0-9+/=_-])\r?\n[ \t>]{0,8}(?=[A-Za-z0-9+/_-])/g;
const ENCODINGS: readonly (readonly [RegExp, (run: string) => string])[] = [
  [/[A-Za-z0-9+/_-]{24,}/g, fromBase64],
  [/[0-9a-fA-F]{24,}/g, fromHex],
  [/[0-9a-fA-F]{2,8}(?:[: ][0-9a-fA-F]{2,8}){5,}/g, (groups) => fromHex(groups.replace(/[: ]/g, ''))],
];

function unescaped(written: string): string {
  if (written.startsWith('\\u')) return String.fromCharCode(Number.parseInt(written.slice(2), 16));
  if (written.startsWith('&')) return String.fromCodePoint(Number(written.slice(2, -1).replace(/^x/i, '0x')));
  if (written.startsWith('%')) return String.fromCharCode(Number.parseInt(written.slice(1), 16));
  if (!written.startsWith('\\')) return '';
  return SHORT_ESCAPES[written.charAt(1)] ?? written.charAt(1);
}

const SHORT_ESCAPES: { readonly [letter: string]: string } = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

function fromBase64(run: string): string {
  const whole = run.slice(0, run.length - (run.length % 4 === 1 ? 1 : 0));
  return ` ${atob(whole.replaceAll('-', '+').replaceAll('_', '/'))} `;
}

function fromHex(run: string): string {
  return ` ${(run.match(/../g) ?? []).map((pair) => String.fromCharCode(Number.parseInt(pair, 16))).join('')} `;
}

/** The view with all matches replaced; null when there are none. */
function replaceIn(view: View, pattern: RegExp, replace: (match: string) => string): View | null {
  const parts: string[] = [];
  /** Where each part begins: in the new text, and in the view. */
  const starts: [number, number][] = [[0, 0]];
  let length = 0;
  let end = 0;
  for (const match of view.text.matchAll(pattern)) {
    const kept = view.text.slice(end, match.index);
    const put = replace(match[0]);
    parts.push(kept, put);
    starts.push([length + kept.length, match.index]);
    length += kept.length + put.length;
    end = match.index + match[0].length;
    starts.push([length, end]);
  }
  if (parts.length === 0) return null;
  parts.push(view.text.slice(end));
  return {
    text: parts.join(''),
    isEncoded: true,
    indexIn(at) {
      let [low, high] = [0, starts.length];
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if ((starts[middle]?.[0] ?? 0) <= at) low = middle;
        else high = middle;
      }
      const [here, there] = starts[low] ?? [0, 0];
      const next = starts[low + 1]?.[1] ?? view.text.length;
      return view.indexIn(Math.min(there + at - here, Math.max(there, next - 1)));
    },
  };
}

interface Format {
  readonly kind: string;
  /** One of these is in every match. Most texts have none, and a search for a fixed text is fast. */
  readonly hints: readonly string[];
  /**
   * All repeats are bounded, or begin where nothing of the same class stands before, so that the time is linear. The group `secret` has a
   * fixed length where possible: characters that are added to a secret do not make it a placeholder.
   */
  readonly pattern: RegExp;
}

/** A token with so short a prefix that it must stand alone. */
function word(kind: string, hints: readonly string[], body: string): Format {
  const pattern = `(?<![\\w+/-])(?<prefix>${hints.join('|')})(?<secret>${body})(?![\\w+/-])`;
  return { kind, hints, pattern: new RegExp(pattern, 'g') };
}

/** The public prefix of most tokens, and the secret after it. */
function token(kind: string, hints: readonly string[], body: string): Format {
  const prefixes = hints.map((hint) => hint.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')).join('|');
  return { kind, hints, pattern: new RegExp(`(?<prefix>${prefixes})(?<secret>${body})`, 'g') };
}

const PASSWORD = '[^\\s:/?#@"\'`<>${}()[\\]]';
/** Short passwords in documents and tests are words with a number at their end. */
const ORDINARY_PASSWORD =
  '(?:(?:my|your|the|db|pass|word|passwd|p[a4]ssw[o0]rd|pwd|pw|secret|token|test|user|name|admin|root|guest|default|postgres|mysql|mongo|redis|rabbit)[-_]?){1,4}\\d{0,6}!?';

const FORMATS: readonly Format[] = [
  {
    kind: 'private key',
    hints: ['PRIVATE KEY'],
    // The header alone stands in many documents; 40 characters of a key follow in a real one.
    pattern:
      /(?<prefix>-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)(?=[\s\S]{0,300}?(?<![A-Za-z0-9+/])(?<secret>[A-Za-z0-9+/]{40}))/g,
  },
  token('private key', ['PuTTY-User-Key-File-'], '[23]: [\\s\\S]{20}'),
  token('private key', ['AGE-SECRET-KEY-1'], '[0-9A-Z]{58}'),
  // The first bytes of an OpenSSH key, in base64.
  token('private key', ['b3BlbnNzaC1rZXktdjEA'], '[A-Za-z0-9+/]{40}'),
  token('GitHub token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], '[A-Za-z0-9]{36}'),
  // An installation of an app has a JSON Web Token behind the prefix and the number of the app.
  {
    kind: 'GitHub token',
    hints: ['ghs_'],
    pattern: /(?<prefix>ghs_(?:\d{1,12}_)?eyJ)(?<secret>[A-Za-z0-9_-]{12,1000}\.eyJ[A-Za-z0-9_-]{16})/g,
  },
  token('GitHub token', ['github_pat_'], '[A-Za-z0-9]{22}_[A-Za-z0-9]{59}'),
  token(
    'GitLab token',
    ['glpat-', 'gldt-', 'glrt-', 'glrtr-', 'glsoat-', 'glptt-', 'glcbt-', 'glft-', 'glimt-', 'glagent-', 'gloas-'],
    '[A-Za-z0-9_-]{20}',
  ),
  token('GitLab token', ['GR1348941'], '[A-Za-z0-9_-]{20}'),
  token('Linear key', ['lin_api_', 'lin_oauth_', 'lin_wh_'], '[A-Za-z0-9]{32}'),
  token('Atlassian token', ['ATATT3', 'ATCTT3', 'ATBB'], '[A-Za-z0-9_=-]{24}'),
  token(
    'Slack token',
    ['xoxb-', 'xoxp-', 'xoxa-', 'xoxe-', 'xoxo-', 'xoxr-', 'xoxs-', 'xoxc-', 'xoxd-'],
    '[A-Za-z0-9%-]{20}',
  ),
  token('Slack token', ['xapp-'], '\\d-[A-Z0-9]{8,20}-\\d{8,20}-[a-z0-9]{20}'),
  token('Slack webhook', ['hooks.slack.com/services/', 'hooks.slack.com/workflows/'], '[A-Za-z0-9/]{40}'),
  token(
    'Discord webhook',
    ['discord.com/api/webhooks/', 'discordapp.com/api/webhooks/'],
    '\\d{15,22}/[A-Za-z0-9_-]{50}',
  ),
  {
    kind: 'AWS key',
    hints: ['AKIA', 'ASIA', 'ABIA', 'ACCA'],
    pattern: /(?<![A-Za-z0-9+/_-])(?<prefix>AKIA|ASIA|ABIA|ACCA)(?<secret>[A-Z2-7]{16})(?![A-Za-z0-9+/=_-])/g,
  },
  {
    kind: 'AWS key',
    hints: ['ecret'],
    pattern:
      /(?<prefix>(?:(?:aws|AWS|Aws)_?(?:secret|SECRET|Secret)(?:_?(?:access|ACCESS|Access))?|[Ss]ecret_?[Aa]ccess)_?(?:key|KEY|Key)["']?\s{0,5}[=:]>?\s{0,5}["']?)(?<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/g,
  },
  {
    kind: 'AWS key',
    hints: ['SECRET'],
    pattern:
      /(?<prefix>AWS_SECRET(?:_ACCESS)?_KEY["']?\s{0,5}[=:]>?\s{0,5}["']?)(?<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/g,
  },
  {
    kind: 'AWS key',
    hints: ['ession', 'ESSION'],
    pattern:
      /(?<prefix>(?:[Ss]ession|SESSION)_?(?:[Tt]oken|TOKEN)["']?\s{0,5}[=:]>?\s{0,5}["']?)(?<secret>[A-Za-z0-9/+]{100})/g,
  },
  token('Google key', ['AIza'], '[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])'),
  token('Google key', ['GOCSPX-'], '[A-Za-z0-9_-]{28}'),
  token('Google token', ['ya29.'], '[A-Za-z0-9_-]{50}'),
  token('Anthropic key', ['sk-ant-'], '[a-z]{2,8}\\d\\d-[A-Za-z0-9_-]{60}'),
  token('OpenAI key', ['sk-proj-', 'sk-svcacct-', 'sk-admin-'], '[A-Za-z0-9_-]{40}'),
  {
    kind: 'OpenAI key',
    hints: ['T3BlbkFJ'],
    pattern: /(?<prefix>sk-)(?<secret>[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20})/g,
  },
  {
    kind: 'model key',
    hints: ['sk-'],
    pattern: /(?<![A-Za-z0-9_-])(?<prefix>sk-)(?<secret>[A-Za-z0-9]{32,64})(?![A-Za-z0-9_-])/g,
  },
  token('model key', ['sk-or-v1-'], '[0-9a-f]{64}'),
  token('model key', ['xai-'], '[A-Za-z0-9]{80}'),
  token('model key', ['gsk_'], '[A-Za-z0-9]{52}'),
  token('model key', ['pplx-'], '[A-Za-z0-9]{48}'),
  token('model key', ['nvapi-'], '[A-Za-z0-9_-]{60}'),
  token('LangSmith key', ['lsv2_pt_', 'lsv2_sk_'], '[a-f0-9]{32}_[a-f0-9]{10}'),
  token('Heroku key', ['HRKU-AA'], '[A-Za-z0-9_-]{58}'),
  token('Fly.io token', ['fm2_', 'fm1r_', 'fm1a_'], '[A-Za-z0-9+/]{100}'),
  token('Doppler token', ['dp.pt.', 'dp.st.', 'dp.ct.', 'dp.sa.'], '(?:[a-z0-9_-]{2,35}\\.)?[A-Za-z0-9]{40}'),
  token('PlanetScale token', ['pscale_tkn_', 'pscale_pw_', 'pscale_oauth_'], '[A-Za-z0-9_.-]{32}'),
  word('Hugging Face token', ['hf_', 'api_org_'], '[A-Za-z0-9]{34}'),
  word('Replicate token', ['r8_'], '[A-Za-z0-9]{37}'),
  word('Notion token', ['ntn_'], '[A-Za-z0-9]{46}'),
  word('Notion token', ['secret_'], '[A-Za-z0-9]{43}'),
  word('Netlify token', ['nfp_'], '[A-Za-z0-9]{36}'),
  word('Pulumi token', ['pul-'], '[a-f0-9]{40}'),
  word('Supabase token', ['sbp_'], '[a-f0-9]{40}'),
  word('Twilio key', ['SK'], '[a-f0-9]{32}'),
  word('New Relic key', ['NRAK-'], '[A-Z0-9]{27}'),
  word('CircleCI token', ['CCIPAT_', 'CCIPRJ_'], '[A-Za-z0-9]{22}_[a-f0-9]{40}'),
  word('crates.io token', ['cio'], '(?=[A-Za-z]{0,31}\\d)[A-Za-z0-9]{32}'),
  token('npm token', ['npm_'], '[A-Za-z0-9]{36}(?![A-Za-z0-9_])'),
  token('npm token', [':_authToken='], '[A-Za-z0-9_-]{20}'),
  token('PyPI token', ['pypi-AgEIcHlwaS5vcmc', 'pypi-AgENdGVzdC5weXBpLm9yZw'], '[A-Za-z0-9_-]{50}'),
  token('RubyGems key', ['rubygems_'], '[a-f0-9]{48}'),
  token('Docker token', ['dckr_pat_', 'dckr_oat_'], '[A-Za-z0-9_-]{24}'),
  token('Stripe key', ['sk_live_', 'rk_live_', 'whsec_'], '[A-Za-z0-9+/]{24}'),
  token('SendGrid key', ['SG.'], '[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}'),
  token('DigitalOcean token', ['dop_v1_', 'doo_v1_', 'dor_v1_'], '[a-f0-9]{64}'),
  token('Vault token', ['hvs.', 'hvb.'], '[A-Za-z0-9_-]{90}'),
  token('Databricks token', ['dapi'], '[a-f0-9]{32}(?![A-Za-z0-9])'),
  token('Grafana token', ['glsa_'], '[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}'),
  token('Grafana token', ['glc_eyJ'], '[A-Za-z0-9+/]{40}'),
  token('Shopify token', ['shpat_', 'shpca_', 'shppa_', 'shpss_'], '[a-fA-F0-9]{32}'),
  token('Tailscale key', ['tskey-'], '[a-z]{3,10}-[A-Za-z0-9]{8,20}-[A-Za-z0-9]{20}'),
  token('Figma token', ['figd_'], '[A-Za-z0-9_-]{40}'),
  token('Sentry token', ['sntrys_eyJ'], '[A-Za-z0-9+/=_]{60}'),
  { kind: 'Azure key', hints: ['AccountKey='], pattern: /(?<prefix>AccountKey=)(?<secret>[A-Za-z0-9+/]{86})==/g },
  {
    kind: 'Azure key',
    hints: ['Q~'],
    pattern: /(?<![\w~.-])(?<prefix>[\w~.]{3}[78]Q~)(?<secret>[\w~.-]{31,34})(?![\w~.-])/g,
  },
  {
    kind: 'Telegram token',
    hints: [':AA'],
    pattern: /(?<![\w:-])(?<prefix>\d{8,10}:)(?<secret>AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])/g,
  },
  {
    kind: 'JSON Web Token',
    hints: ['eyJ'],
    // The example of jwt.io, with the subject 1234567890, is in many repositories.
    pattern:
      /(?<![A-Za-z0-9_-])(?<prefix>eyJ)(?<secret>[A-Za-z0-9_-]{12,1000}\.eyJ(?!zdWIiOiIxMjM0NTY3ODkw)[A-Za-z0-9_-]{16})/g,
  },
  {
    kind: 'URL with a password',
    hints: ['://'],
    pattern: new RegExp(
      `(?<prefix>[a-z][a-z0-9+.-]{1,20}://[^\\s:/?#@"'\`<>]{0,100}:)(?<secret>(?=[^\\s/@]{0,60}\\d)(?=[^\\s/@]{0,60}[a-z])(?:${PASSWORD}{12,200}|(?!${ORDINARY_PASSWORD}@)${PASSWORD}{8,11}))@(?!localhost|127\\.|example\\.)`,
      'gi',
    ),
  },
  {
    kind: 'URL with a token',
    hints: ['://'],
    // The keys that Sentry puts there are public.
    pattern:
      /(?<prefix>https?:\/\/)(?<secret>(?=(?:[A-Za-z_]*\d){2})(?=[\d_]*[A-Za-z])\w{20,200})(?::[^\s:/?#@"'`<>]{0,20})?@(?![\w.-]{0,60}sentry)/g,
  },
  {
    kind: 'login in base64',
    hints: ['"auth"', '_auth'],
    pattern:
      /(?<prefix>(?:"auth"\s{0,5}:|\b_auth\s{0,5}=)\s{0,5}"?)(?<secret>(?=[^"\s]{0,60}[A-Z])(?=[^"\s]{0,60}[a-z])(?=[^"\s]{0,60}[\d+/=])[A-Za-z0-9+/]{16,400})/g,
  },
  {
    kind: 'password of a .netrc',
    hints: ['machine'],
    pattern:
      /(?<prefix>\bmachine\s{1,10}[\w.-]{1,200}\s{1,10}login\s{1,10}\S{1,200}\s{1,10}password\s{1,10})(?<secret>[^\s<>${}]{8,200})/g,
  },
  {
    kind: 'authorization header',
    hints: ['uthorization', 'UTHORIZATION'],
    pattern:
      /(?<prefix>[Aa]uthorization["']?\s{0,3}[:=]\s{0,3}["']?(?:Bearer|bearer|Basic|basic|token|Token)\s{1,3})(?<secret>(?=[\w.~+/=-]{0,60}\d)[\w.~+/=-]{24,200})/g,
  },
];

const MAX_PREFIX = 40;

function* formatsIn(text: string): Generator<Match> {
  for (const { kind, hints, pattern } of FORMATS) {
    if (!hints.some((hint) => text.includes(hint))) continue;
    for (const { index, groups } of text.matchAll(pattern)) {
      const { prefix = '', secret = '' } = groups ?? {};
      if (!isPlaceholder(secret)) yield { kind, at: index, prefix: prefix.slice(0, MAX_PREFIX) };
    }
  }
}

const PLACEHOLDER =
  /example|placeholder|dummy|redacted|changeme|your[_-]|x{4}|0{5}|\*{3}|\.{3}|1234567|abcdefg|deadbeef/i;

/** Documents and tests have values that only look like a secret. A real one is random: it has many different characters. */
function isPlaceholder(secret: string): boolean {
  return PLACEHOLDER.test(secret) || new Set(secret).size < Math.min(8, secret.length / 2);
}

/** Makes prints of secrets. The salt is random and belongs to these prints only. Pure. */
export function secretPrints(secrets: Iterable<string>, salt: string): KnownSecrets {
  const prints = new Map<string, SecretPrint>();
  const { hashOf } = windowHash(salt);
  const add = (text: string, isBase64: boolean) => {
    if (text.length < MIN_KNOWN_LENGTH) return;
    const print = {
      length: text.length,
      filter: hashOf(text.slice(-WINDOW)),
      digest: sha256(salt + text),
      ...(isBase64 ? { isBase64: true as const } : {}),
    };
    prints.set(print.digest, print);
  };
  for (const secret of secrets) {
    const trimmed = secret.trim();
    if (trimmed.length < MIN_KNOWN_LENGTH) continue;
    for (const piece of piecesOf(trimmed)) {
      add(piece, false);
      add(utf8Bytes(piece), false);
      for (const core of base64Cores(piece)) add(core, true);
    }
  }
  return { salt, prints: [...prints.values()] };
}

interface PrintIndex {
  readonly salt: string;
  readonly plain: PrintsByFilter;
  readonly base64: PrintsByFilter;
}

type PrintsByFilter = ReadonlyMap<number, readonly SecretPrint[]>;

function indexPrints({ salt, prints }: KnownSecrets): PrintIndex {
  const byFilter = (isBase64: boolean) => {
    const index = new Map<number, SecretPrint[]>();
    for (const print of prints.filter((each) => (each.isBase64 ?? false) === isBase64))
      index.set(print.filter, [...(index.get(print.filter) ?? []), print]);
    return index;
  };
  return { salt, plain: byFilter(false), base64: byFilter(true) };
}

function* knownIn(text: string, { salt, plain, base64 }: PrintIndex): Generator<Match> {
  yield* printsIn(text, plain, salt);
  if (base64.size > 0) yield* printsIn(text.replaceAll('-', '+').replaceAll('_', '/'), base64, salt);
}

function* printsIn(text: string, prints: PrintsByFilter, salt: string): Generator<Match> {
  if (prints.size === 0) return;
  const isWanted = new Uint8Array(2 ** FILTER_BITS);
  for (const filter of prints.keys()) isWanted[filter] = 1;
  const { step, filterOf } = windowHash(salt);
  let hash = 0;
  for (let at = 0; at < text.length; at++) {
    hash = step(hash, text.charCodeAt(at), at < WINDOW ? -1 : text.charCodeAt(at - WINDOW));
    const filter = filterOf(hash);
    if (at < WINDOW - 1 || isWanted[filter] === 0) continue;
    for (const { length, digest } of prints.get(filter) ?? []) {
      const start = at + 1 - length;
      if (start >= 0 && sha256(salt + text.slice(start, at + 1)) === digest)
        yield { kind: KNOWN_SECRET, at: start, prefix: '' };
    }
  }
}

/** A rolling hash of the last `WINDOW` UTF-16 units. Its base depends on the salt, so that nobody can prepare a text of false alarms. */
function windowHash(salt: string) {
  const base = Number.parseInt(sha256(salt).slice(0, 8), 16) | 1;
  let top = 1;
  for (let n = 0; n < WINDOW; n++) top = Math.imul(top, base);
  /** `left` is the unit that leaves the window; −1 for none. */
  const step = (hash: number, unit: number, left: number) =>
    (Math.imul(hash, base) + unit + 1 - Math.imul(left + 1, top)) | 0;
  const filterOf = (hash: number) => Math.imul(hash ^ (hash >>> 15), 0x9e3779b1) >>> (32 - FILTER_BITS);
  const hashOf = (window: string) => {
    let hash = 0;
    for (let at = 0; at < window.length; at++) hash = step(hash, window.charCodeAt(at), -1);
    return filterOf(hash);
  };
  return { step, filterOf, hashOf };
}
