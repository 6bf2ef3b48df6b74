import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import entries from '../../entries.json' with { type: 'json' }
import { spread, times } from '../lib/format.mjs'
import { jsonBody, KEY, signature } from '../lib/payloads.mjs'
import { interleave, ratio, summarize } from '../lib/rounds.mjs'
import { versionsOf } from '../lib/versions.mjs'

const execute = promisify(execFile)
const file = (path) => fileURLToPath(new URL(path, import.meta.url))
const LOADERS = { import: file('../start/import.mjs'), require: file('../start/require.cjs') }

const PEERS = [
  'express',
  'fastify',
  'hono',
  '@octokit/webhooks-methods',
  '@octokit/webhooks',
  'stripe',
  'standardwebhooks',
  'svix',
  '@hookflo/tern',
]
const NOTHING = {
  name: '(an empty file)',
  import: file('../start/nothing.mjs'),
  require: file('../start/nothing.cjs'),
}
const MODULES = [
  NOTHING,
  ...Object.keys(entries)
    .map((name) => (name === 'index' ? 'geohook' : `geohook/${name}`))
    .map((name) => ({ name, import: name, require: name })),
  ...PEERS.map((name) => ({ name, import: name })),
]

const FIRST_LOADER = file('../start/first.mjs')
const BODY = jsonBody(1024).toString()
const PEER = '@octokit/webhooks'
const FIRST = ['geohook', PEER, '@octokit/webhooks-methods', 'node:crypto']

/** Measures the milliseconds to import a package and verify a first signature. */
async function verifyFirst(name) {
  const { stdout } = await execute(process.execPath, [
    FIRST_LOADER,
    name,
    BODY,
    `sha256=${signature(BODY)}`,
    KEY,
  ])
  return Number(stdout)
}

/** Measures the milliseconds to load one module in a new process, and to run that whole process. */
async function load({ how, path }) {
  const started = performance.now()
  const { stdout } = await execute(process.execPath, [LOADERS[how], path])
  return { loading: Number(stdout), whole: performance.now() - started }
}

/** @type {import('../lib/part.mjs').Run} */
export async function run({ smoke }) {
  const subjects = MODULES.flatMap((module) =>
    Object.keys(LOADERS).flatMap((how) =>
      module[how] ? [{ name: module.name, how, path: module[how] }] : [],
    ),
  )
  const measured = await interleave(subjects, {
    rounds: smoke ? 1 : 9,
    seconds: 18,
    // No warm-up: one slow first round with a cold disk cache changes no median.
    warmup: 0,
    measure: load,
  })

  const first = await interleave(FIRST, {
    rounds: smoke ? 1 : 25,
    seconds: 10,
    warmup: 0,
    measure: verifyFirst,
  })

  const find = (name, how) =>
    measured.get(subjects.find((subject) => subject.name === name && subject.how === how))
  const text = (name, how, field) => {
    const figures = find(name, how)
    return figures ? spread(summarize(figures.map((figure) => figure[field]))) : '-'
  }
  const figures = {}
  for (const { name, how } of subjects)
    figures[`start/${how} ${name}`] = summarize(find(name, how).map(({ loading }) => loading))
  const loading = (name) => find(name, 'import').map((figure) => figure.loading)
  figures['start/geohook'] = ratio(loading('geohook'), loading(PEER))
  figures['start/first'] = ratio(first.get('geohook'), first.get(PEER))
  return {
    tables: [
      {
        title: 'start: milliseconds to load a module in a new process, and of the whole process',
        columns: ['', 'import', 'require', 'process, with import', 'process, with require'],
        rows: MODULES.map(({ name }) => [
          name,
          ...['loading', 'whole'].flatMap((field) =>
            Object.keys(LOADERS).map((how) => text(name, how, field)),
          ),
        ]),
      },
      {
        title: 'start: milliseconds to import a package and verify a first signature in a new process',
        columns: ['', 'milliseconds', `relative to ${PEER}`],
        rows: FIRST.map((name) => [
          name,
          spread(summarize(first.get(name))),
          times(ratio(first.get(name), first.get(PEER))),
        ]),
      },
    ],
    figures,
    plots: [
      {
        name: 'start',
        title: 'start: loading a module in a new process',
        kind: 'bars',
        x: '',
        y: 'milliseconds of import',
        points: MODULES.map(({ name }) => {
          const { median, low, high } = figures[`start/import ${name}`]
          return { series: 'all', x: name, y: median, low, high }
        }),
      },
    ],
    versions: versionsOf(PEERS),
  }
}
