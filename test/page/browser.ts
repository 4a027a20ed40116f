import { existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, expect, onTestFinished } from 'vitest';

const CHROMIUM = '/usr/bin/chromium';
const FLAGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface OpenOptions {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
  /** Expected console messages, for example of a request that is refused on purpose. */
  readonly allowed?: RegExp;
  /** Run in the page before anything else. */
  readonly before?: string;
}

let browser: Promise<Browser> | null = null;

afterAll(async () => {
  await (await browser)?.close();
  browser = null;
});

/** Opens a new tab. At the end of the test its console must be clean, without requests to other hosts. */
export async function openPage(url: string, options: OpenOptions = {}): Promise<Page> {
  const { width = 1280, height = 900, scheme = 'light', allowed } = options;
  browser ??= launch();
  const context = await (await browser).newContext({
    viewport: { width, height },
    colorScheme: scheme,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
    deviceScaleFactor: 1,
  });
  const { host } = new URL(url);
  const problems: string[] = [];
  const page = await context.newPage();
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !allowed?.test(message.text())) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on('request', (request) => {
    const asked = new URL(request.url());
    if (!['blob:', 'file:'].includes(asked.protocol) && asked.host !== host)
      problems.push(`request to ${request.url()}`);
  });
  onTestFinished(async () => {
    await context.close();
    expect(problems).toEqual([]);
  });
  if (options.before !== undefined) await page.addInitScript(options.before);
  await page.goto(url);
  return page;
}

/** For a person to look at: into docs/screenshots when BATON_SCREENSHOTS=1, else into a folder that git does not see. */
export async function screenshot(page: Page, name: string, options: ScreenshotOptions = {}): Promise<void> {
  const kept = options.isForReadme ? '../../docs' : '../../docs/screenshots';
  const folder = fileURLToPath(new URL(process.env.BATON_SCREENSHOTS === '1' ? kept : 'out', import.meta.url));
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}/${name}.png`, fullPage: options.whole ?? true });
}

interface ScreenshotOptions {
  /** `false`: only the visible part. */
  readonly whole?: boolean;
  readonly isForReadme?: boolean;
}

async function launch(): Promise<Browser> {
  if (!existsSync(CHROMIUM)) {
    throw new Error(
      `These tests need Debian's Chromium at ${CHROMIUM}: sudo apt-get install --no-install-recommends chromium`,
    );
  }
  // Chromium's sandbox needs rights that containers and CI often lack. The browser opens only our page.
  return chromium.launch({ executablePath: CHROMIUM, headless: true, chromiumSandbox: false, args: FLAGS });
}
