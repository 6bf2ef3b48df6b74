// Compares what users can observe of two built checkouts, to show what a change of the structure changes:
//   node scripts/compare-checkouts.mjs <old> <new> [part…]
// Parts: declarations (of all entries), commands (help, JSON output and exit codes), mock (every operation), tests
// (titles). Prints the differences, and exits with 1 if there are any. Both folders need `npm run build`.
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'

const run = promisify(execFile)
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g
const PARTS = { declarations, commands, mock, tests }

/** Lists the exports of each entry with their declarations, without doc comments. */
async function declarations(folder) {
  const { exports } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const files = Object.values(exports)
    .map((target) => target.import?.types)
    .filter(Boolean)
    .map((path) => join(folder, path))
  const program = ts.createProgram(files, { module: ts.ModuleKind.NodeNext, skipLibCheck: true })
  const checker = program.getTypeChecker()
  const lines = []
  for (const file of files) {
    lines.push(`## ${file.slice(folder.length)}`)
    const symbols = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)))
    for (const symbol of symbols.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const original = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
      const texts = (original.declarations ?? []).map((node) => withoutComments(node.getText()))
      lines.push(...`${symbol.name}: ${texts.join('\n')}`.split('\n'))
    }
  }
  return lines
}

const withoutComments = (text) =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{2,}/g, '\n')

/** Prints the help of every command, and the results of command lines that need no server, or find none. */
async function commands(folder) {
  const work = await mkdtemp(join(tmpdir(), 'compare-'))
  const body = '{"changeType":"FeaturesCreated","n":1.0}'
  await writeFile(join(work, 'body.json'), body)
  const { stdout: help } = await geohook(folder, work, ['--help'])
  const names = [...help.matchAll(/^ {2}([a-z][a-z-]+) [ <[]/gm)].map(([, name]) => name)
  const subcommands = names.includes('inbox')
    ? [...(await geohook(folder, work, ['inbox', '--help'])).stdout.matchAll(/^ {2}([a-z]+) \[options\]/gm)]
    : []
  const nowhere = ['--url', 'http://127.0.0.1:9', '--json']
  const key = ['--key', 'k'.repeat(32), '--json']
  const lines = [
    ['--help'],
    ['--version'],
    ['nonsense', '--json'],
    ...names
      .filter((name) => name !== 'help')
      .flatMap((name) => [
        [name, '--help'],
        [name, '--nonsense', '--json'],
      ]),
    ...subcommands.map(([, name]) => ['inbox', name, '--help']),
    ...subcommands.map(([, name]) => ['inbox', name, '--inbox', 'missing.db', '--json']),
    ['sign', 'body.json', ...key],
    ['verify', 'body.json', '--signature', '0'.repeat(64), ...key],
    ['explain', 'body.json', '--signature', '0'.repeat(64), ...key],
    ['sign', 'missing.json', ...key],
    ['send', 'body.json', ...key, '--to', 'http://127.0.0.1:9/'],
    ['list', ...nowhere],
    ['create', 'Buffer.GPServer', ...nowhere],
    ['delete', 'Buffer.GPServer', ...nowhere],
    ['check', 'http://127.0.0.1:9/', ...key],
  ]
  const output = []
  for (const args of lines) {
    const { code, stdout, stderr } = await geohook(folder, work, args)
    const text = `${stdout}\n${stderr}`
      .replaceAll(work, '')
      .replaceAll(folder, '')
      .replace(/"duration": \d+/, '"duration": <n>')
      .replace(TIME, '<time>')
    output.push(`$ geohook ${args.join(' ')}`, ...text.trim().split('\n'), `exit code ${code}`)
  }
  await rm(work, { recursive: true })
  return output
}

async function geohook(folder, cwd, args) {
  const env = { ...process.env, NO_COLOR: '1', COLUMNS: '110' }
  try {
    return {
      code: 0,
      ...(await run(process.execPath, [join(folder, 'bin/geohook.js'), ...args], { cwd, env })),
    }
  } catch ({ code, stdout, stderr }) {
    return { code, stdout, stderr }
  }
}

/** Calls each operation of the mock's OpenAPI document without and with parameters, in each format. */
async function mock(folder) {
  const cli = join(folder, 'bin/geohook.js')
  const child = spawn(process.execPath, [cli, 'mock', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  for await (const data of child.stdout) {
    printed += data
    if (/http:\/\/[\d.:]+/.test(printed)) break
  }
  const [base] = /http:\/\/[\d.:]+/.exec(printed)
  const output = []
  try {
    const document = await (await fetch(`${base}/_mock/openapi.json`)).json()
    output.push(...JSON.stringify(document, null, 1).split('\n'))
    const webhook = await createWebhook(base)
    for (const [path, item] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        const isStream = JSON.stringify(operation.responses).includes('text/event-stream')
        if (isStream || /state|reset/.test(path)) continue
        for (const f of ['json', 'pjson', 'html'])
          output.push(...(await call(base, method, fill(path, webhook), f)))
      }
    }
  } finally {
    child.kill()
    await once(child, 'exit')
  }
  return output.map((line) => normalised(line, base))
}

async function createWebhook(base) {
  const body = new URLSearchParams({
    name: 'compared',
    hookUrl: `${base}/hook`,
    changeTypes: '["*"]',
    signatureKey: 'k'.repeat(32),
    f: 'json',
  })
  const created = await fetch(`${base}/services/Buffer.GPServer/webhooks/create`, { method: 'POST', body })
  return (await created.json()).id ?? 'none'
}

const fill = (path, webhook) =>
  path.replace(/\{(\w+)\}/g, (_, name) =>
    /webhookId/i.test(name)
      ? webhook
      : name === 'service'
        ? 'Buffer.GPServer'
        : /Id$/.test(name)
          ? '0'
          : name,
  )

async function call(base, method, path, f) {
  const url = `${base}${path}?f=${f}`
  const response = await fetch(url, { method: method.toUpperCase(), redirect: 'manual' })
  const headers = [...response.headers].filter(([name]) => !/^(date|etag|connection|keep-alive)$/.test(name))
  const text = await response.text()
  return [
    `${method} ${path} f=${f}: ${response.status}`,
    ...headers.map((header) => header.join(': ')),
    ...text.split('\n'),
  ]
}

const normalised = (line, base) =>
  line
    .replaceAll(base, 'http://mock')
    .replaceAll(new URL(base).host, 'mock')
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<uuid>')
    .replace(/\b[0-9a-f]{32}\b/gi, '<id>')
    .replace(/\b1[6-9]\d{11}\b/g, '<time>')
    .replace(TIME, '<time>')
    .replace(/^content-length: \d+/, 'content-length: <n>')

/** Lists the titles of all tests in the source. */
async function tests(folder) {
  const entries = await readdir(join(folder, 'test'), { recursive: true })
  const files = entries.filter((path) => path.endsWith('.ts') && !path.includes('node_modules'))
  const titles = []
  for (const file of files) {
    const text = await readFile(join(folder, 'test', file), 'utf8')
    for (const [, , title] of text.matchAll(/\bit(?:\.\w+|\([^)]*\)(?=\())*\(\s*(['"`])(.+?)\1/g))
      titles.push(title)
  }
  return titles.sort()
}

const [, , ...args] = process.argv
if (args.length < 2) {
  process.stderr.write(
    'usage: node scripts/compare-checkouts.mjs <old> <new> [declarations|commands|mock|tests…]\n',
  )
  process.exit(2)
}
const [old, changed] = args.slice(0, 2).map((folder) => resolve(folder))
const chosen = args.length > 2 ? args.slice(2) : Object.keys(PARTS)
const folder = await mkdtemp(join(tmpdir(), 'compare-'))
for (const part of chosen) {
  const files = await Promise.all(
    [old, changed].map(async (checkout, index) => {
      const file = join(folder, `${part}-${index === 0 ? 'old' : 'new'}`)
      await writeFile(file, `${(await PARTS[part](checkout)).join('\n')}\n`)
      return file
    }),
  )
  const { status } = spawnSync('git', ['diff', '--no-index', '--unified=1', '--', ...files], {
    stdio: 'inherit',
  })
  if (status !== 0) process.exitCode = 1
}
await rm(folder, { recursive: true })
