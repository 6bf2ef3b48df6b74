// Time to load each entry of the package, and other packages, in a new process.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { jsonBody, KEY, signature } from './payloads.mjs'
import { ROOT, spread, times, versionsOf } from './report.mjs'
import { interleave, ratio, summarize } from './rounds.mjs'

const LOADER = fileURLToPath(new URL('start/load.mjs', import.meta.url))
const PEER = '@octokit/webhooks'
const PEERS = ['express', 'fastify', 'hono', PEER, 'stripe', 'standardwebhooks', '@hookflo/tern']
const FIRST = ['geohook', PEER, 'node:crypto']

const BODY = jsonBody(1024).toString()
const SIGNED = [BODY, `sha256=${signature(BODY)}`, KEY]

/** Measures the milliseconds to load a module in a new process. */
export async function load(module, ...args) {
  const { stdout } = await promisify(execFile)(process.execPath, [LOADER, module, ...args])
  return Number(stdout)
}

/** @type {import('./report.mjs').Run} */
export async function run({ smoke }) {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const entries = Object.keys(exports).filter((name) => name !== './package.json')
  const modules = [...entries.map((name) => name.replace('.', 'geohook')), ...PEERS]
  // No warm-up: one slow first round with a cold disk cache changes no median.
  const options = { rounds: smoke ? 1 : 15, seconds: 20, warmup: 0 }
  const loading = await interleave(modules, { ...options, measure: (name) => load(name) })
  const first = await interleave(FIRST, { ...options, measure: (name) => load(name, ...SIGNED) })
  const toRows = (measured) =>
    [...measured].map(([name, figures]) => [
      name,
      spread(summarize(figures)),
      times(ratio(figures, measured.get(PEER))),
    ])
  const columns = ['', 'milliseconds', `relative to ${PEER}`]
  return {
    tables: [
      { title: 'start: loading a module in a new process', columns, rows: toRows(loading) },
      {
        title: 'start: importing a package and verifying a first signature in a new process',
        columns,
        rows: toRows(first),
      },
    ],
    figures: {
      'start/geohook': ratio(loading.get('geohook'), loading.get(PEER)),
      'start/first': ratio(first.get('geohook'), first.get(PEER)),
    },
    versions: versionsOf(PEERS),
  }
}
