import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import entries from '../../entries.json' with { type: 'json' }
import { spread } from '../lib/format.mjs'
import { interleave, summarize } from '../lib/rounds.mjs'
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
  ...Object.keys(entries).map((name) => ({
    name: name === 'index' ? 'geohook' : `geohook/${name}`,
    import: file(`../../dist/${name}.js`),
    require: file(`../../dist/${name}.cjs`),
  })),
  ...PEERS.map((name) => ({ name, import: name })),
]

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
    rounds: smoke ? 1 : 5,
    // No warm-up: a slow first round with a cold disk cache is outside the quartiles of five rounds.
    warmup: 0,
    measure: load,
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
