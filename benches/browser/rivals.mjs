// Reads the same pages by Waypost's browser, @playwright/mcp and agent-browser, and prints how much
// each says of them (tokens: letters / 4) and how long that takes.
//
//   node benches/browser/rivals.mjs PAGES BROWSER [--runs COUNT] [--miniwob FOLDER]
//
// PAGES is the program `speed-browser`, BROWSER the program `browser`. The others are installed in
// target/rivals and get Debian's Chromium. Nothing is measured that the others cannot see either: each
// page is opened once, then read COUNT times (5 if missing), and the median is told. Who has not opened a
// page and read it so often within two minutes is not waited for any longer.
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { createInterface } from 'node:readline';

const VERSIONS = ['@playwright/mcp@0.0.83', 'agent-browser@0.41.2'];
const CHROMIUM = '/usr/bin/chromium';
const LIMIT_MS = 120_000;
const SAMPLE = ['book-flight', 'click-checkboxes', 'click-pie', 'email-inbox', 'login-user'];
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.png': 'image/png' };

const [pagesProgram, browserProgram, ...rest] = process.argv.slice(2);
const option = (name) => (rest.includes(name) ? rest[rest.indexOf(name) + 1] : null);
if (!browserProgram) throw new Error('usage: rivals.mjs PAGES BROWSER [--runs COUNT] [--miniwob FOLDER]');
const runs = Number(option('--runs') ?? 5);
const root = new URL('../../', import.meta.url).pathname;
const folder = join(root, 'target/rivals');
const bin = (name) => join(folder, 'node_modules/.bin', name);

const started = [];
const start = (program, given, settings = {}) => {
  const child = spawn(program, given, { stdio: ['pipe', 'pipe', 'inherit'], ...settings });
  started.push(child);
  return child;
};
const firstLine = (child) => new Promise((done) => { createInterface(child.stdout).once('line', done); });
const serve = async (files) => {
  const server = createServer((request, response) => {
    const path = new URL(request.url, 'http://localhost').pathname;
    response.setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream');
    try {
      response.end(readFileSync(join(files, path)));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  server.unref();
  return `http://127.0.0.1:${server.address().port}`;
};

// Each has a name, `open(url)` and, by what is measured, how it reads.
const ours = async () => {
  const address = '127.0.0.1:14748';
  const child = start(browserProgram, ['about:blank', '--headless', '--no-mesh', '--no-sandbox',
    '--allow', 'private', '--listen', address], { stdio: ['pipe', 'pipe', 'pipe'] });
  // It says on its error output that it listens.
  await new Promise((done) => { createInterface(child.stderr).once('line', done); });
  const ask = async (command, given) => {
    const answer = await fetch(`http://${address}/${command}`, { method: 'POST', body: JSON.stringify(given) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return text;
  };
  return {
    open: (url) => ask('navigate', { url }),
    reads: {
      'waypost full': () => ask('read', {}),
      'waypost interactive': () => ask('read', { mode: 'interactive' }),
    },
  };
};
const playwright = async () => {
  const child = start(bin('playwright-mcp'), ['--headless', '--isolated', '--no-sandbox',
    '--executable-path', CHROMIUM], { cwd: folder });
  const waiting = new Map();
  createInterface(child.stdout).on('line', (line) => {
    const { id, result, error } = JSON.parse(line);
    waiting.get(id)?.(error ?? result);
  });
  let last = 0;
  const call = (method, params) => new Promise((done) => {
    last += 1;
    waiting.set(last, done);
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: last, method, params })}\n`);
  });
  const clientInfo = { name: 'rivals', version: '1' };
  await call('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  const tool = async (name, given) => {
    const answer = await call('tools/call', { name, arguments: given });
    return (answer.content ?? []).map((it) => it.text ?? '').join('\n');
  };
  return {
    open: (url) => tool('browser_navigate', { url }),
    reads: { 'playwright-mcp snapshot': () => tool('browser_snapshot', {}) },
  };
};
const agentBrowser = async () => {
  const env = { ...process.env, AGENT_BROWSER_EXECUTABLE_PATH: CHROMIUM, AGENT_BROWSER_ARGS: '--no-sandbox' };
  const ask = async (...given) => {
    const child = start(bin('agent-browser'), given, { env, cwd: folder });
    let text = '';
    child.stdout.on('data', (part) => { text += part; });
    const code = await new Promise((done) => { child.on('close', done); });
    if (code !== 0) throw new Error(`agent-browser ${given.join(' ')}: ${text.slice(0, 200)}`);
    return text;
  };
  return {
    open: (url) => ask('open', url),
    reads: { 'agent-browser snapshot': () => ask('snapshot'), 'agent-browser snapshot -i': () => ask('snapshot', '-i') },
    end: () => ask('close'),
  };
};

// What comes of a promise before the limit, or nothing.
const within = (limit, promise) => {
  let timer;
  const over = new Promise((done) => { timer = setTimeout(done, limit, null); });
  return Promise.race([promise, over]).finally(() => clearTimeout(timer));
};
// What a reader says of a page, and how long that takes.
const measure = async (reader, url) => {
  const end = performance.now() + LIMIT_MS;
  const left = () => Math.max(end - performance.now(), 0);
  const figures = {};
  const late = `over ${LIMIT_MS / 1000} s`;
  const opened = await within(left(), reader.open(url).then(() => true));
  for (const [name, read] of Object.entries(reader.reads)) {
    const times = [];
    let text = opened ? '' : null;
    while (text !== null && times.length < runs) {
      const begun = performance.now();
      text = await within(left(), read().catch((error) => { console.error(name, url, error.message); return ''; }));
      if (text !== null) times.push(performance.now() - begun);
    }
    times.sort((one, other) => one - other);
    const median = times[Math.floor(times.length / 2)];
    if (text === null) figures[name] = late;
    else if (text === '') figures[name] = 'none';
    else figures[name] = `${Math.round(text.length / 4)} / ${median < 10 ? median.toFixed(1) : Math.round(median)}`;
  }
  return figures;
};

execFileSync('npm', ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', ...VERSIONS],
  { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1' } });
const readers = [];
try {
  const made = await firstLine(start(pagesProgram, ['--serve']));
  const pages = [['shop', `${made}/shop`], ['article', `${made}/article`]];
  if (option('--miniwob')) {
    const tasks = await serve(join(option('--miniwob'), 'miniwob/html'));
    pages.push(...SAMPLE.map((it) => [`MiniWoB++ ${it}`, `${tasks}/miniwob/${it}.html`]));
  }
  // The last: who is late with it would be late with those after it, too.
  pages.push(['60,000 rows', `${made}/rows`]);
  for (const make of [ours, playwright, agentBrowser]) readers.push(await make());
  const names = readers.flatMap((it) => Object.keys(it.reads));
  console.log(`| page | ${names.join(' | ')} |\n|---|${names.map(() => '---|').join('')}`);
  for (const [name, url] of pages) {
    const figures = {};
    for (const reader of readers) Object.assign(figures, await measure(reader, url));
    console.log(`| ${name} | ${names.map((it) => figures[it]).join(' | ')} |`);
  }
} finally {
  for (const reader of readers) await reader.end?.();
  for (const child of started) child.kill();
}
// Calls that nobody waits for any longer.
process.exit();
