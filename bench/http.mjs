// Signed POST requests per second over keep-alive connections, compared with code by hand and with other packages.
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { start, withProcesses } from './child.mjs'
import { jsonBody, signedHeaders, sizeName } from './payloads.mjs'
import { number, ROOT, times, versionsOf } from './report.mjs'
import { interleave, ratio, summarize } from './rounds.mjs'

/** A usual delivery, and a body that does not arrive in the same chunk as the headers. */
const [SMALL, LARGE] = [1024, 256 * 1024]

const NAMES = {
  bare: 'node:http, createHmac, JSON.parse',
  node: 'geohook/node',
  octokit: 'octokit on node:http',
  fastify: 'geohook/fastify',
  fetch: "geohook fetch on Hono's Node server",
  expressJson: 'Express, express.json({ verify })',
  express: 'geohook/express',
  ahead: 'geohook/node ahead of Express',
  nodeRawBody: 'node:http, raw-body by hand',
}

/** `passes`: each in new processes, because compilation and memory layout vary by process. */
const FULL = { connections: 32, passes: 2, rounds: 8, milliseconds: 300, warmup: 24_000 }
const SMOKE = { connections: 4, passes: 1, rounds: 1, milliseconds: 30, warmup: 0 }

const path = (name) => fileURLToPath(new URL(`http/${name}`, import.meta.url))

/** Checks that a server rejects unsigned requests and handles signed ones. */
async function check(server, name, size) {
  const body = jsonBody(size)
  const changed = Buffer.from(body.toString().replace('Parcels', 'Parcelt'))
  const { handled } = await server.ask('state')
  const expect = async (description, status, headers, body) => {
    const response = await fetch(`http://127.0.0.1:${server.ready}/hook`, { method: 'POST', headers, body })
    await response.arrayBuffer()
    assert.match(String(response.status), status, `${name}: ${description}`)
  }
  await expect('valid signature', /^200$/, signedHeaders(body), body)
  await expect('signature of another body', /^4\d\d$/, signedHeaders(changed), body)
  await expect('no signature', /^4\d\d$/, { 'content-type': 'application/json' }, body)
  assert.equal((await server.ask('state')).handled - handled, 1, `${name} handles one event`)
}

/**
 * Measures requests per second, and CPU microseconds per request. The load generator runs on one core, and all servers
 * on another, where only one of them is active at a time.
 *
 * @param {{ server: string, root?: string }[]} subjects `root`: another checkout of geohook
 * @returns {Promise<{ rate: number, cpu: number }[][]>} by subject, one figure per round
 */
export async function measureHttp(subjects, { size = SMALL, smoke = false, ...changes } = {}) {
  const { connections, passes, rounds, milliseconds, warmup } = { ...(smoke ? SMOKE : FULL), ...changes }
  const figures = subjects.map(() => [])
  const measureWith = async (load, ...servers) => {
    for (const [index, { server }] of subjects.entries()) await check(servers[index], server, size)
    const measured = await interleave(servers, {
      rounds,
      warmup: Math.sign(warmup),
      async measure({ ready: port, ask }, round) {
        const before = await ask('state')
        const atLeast = round < 0 ? warmup : 0
        const { responses, seconds } = await load.ask({ port, size, connections, milliseconds, atLeast })
        const after = await ask('state')
        assert.equal(after.handled - before.handled, responses, 'each request is handled')
        return { rate: responses / seconds, cpu: (after.cpu - before.cpu) / responses }
      },
    })
    for (const [index, server] of servers.entries()) figures[index].push(...measured.get(server))
  }
  for (let pass = 0; pass < passes; pass++) {
    // Without `--no-warnings`, geohook would emit warnings for the invalid requests of `check`.
    const servers = subjects.map(({ server, root = ROOT }) =>
      start(path('servers.mjs'), { core: 0, args: [server, root], execArgv: ['--no-warnings'] }),
    )
    await withProcesses([start(path('load.mjs'), { core: 1 }), ...servers], measureWith)
  }
  return figures
}

/** The ratio of requests per second. */
export const rateRatio = (figures, base) => {
  const [own, other] = [figures, base].map((list) => list.map(({ rate }) => rate))
  return ratio(own, other)
}

/** @type {import('./report.mjs').Run} */
export async function run({ smoke, say }) {
  const measureAll = async (servers, size) => {
    say(`${servers.length} servers, ${sizeName(size)}`)
    const subjects = servers.map((server) => ({ server }))
    const figures = await measureHttp(subjects, {
      size,
      smoke,
      ...(size === LARGE && !smoke ? { warmup: 2_000 } : {}),
    })
    return Object.fromEntries(servers.map((server, index) => [server, figures[index]]))
  }
  const small = await measureAll(Object.keys(NAMES).slice(0, -1), SMALL)
  const large = await measureAll(['bare', 'node', 'nodeRawBody'], LARGE)
  const toTable = (size, measured) => ({
    title: `POSTs of ${sizeName(size)} over keep-alive, server on one core`,
    columns: ['server', 'requests/s', 'vs bare node:http', 'CPU µs per request'],
    rows: Object.entries(measured).map(([server, figures]) => {
      const median = (figure) => summarize(figures.map((round) => round[figure])).median
      const relative = times(rateRatio(figures, measured.bare))
      return [NAMES[server], number(median('rate')), relative, number(median('cpu'), 1)]
    }),
  })
  return {
    tables: [toTable(SMALL, small), toTable(LARGE, large)],
    figures: {
      'http/node': rateRatio(small.node, small.bare),
      'http/fastify': rateRatio(small.fastify, small.bare),
      'http/hono': rateRatio(small.fetch, small.bare),
      'http/express': rateRatio(small.express, small.expressJson),
      'http/ahead': rateRatio(small.ahead, small.express),
      'http/256KiB': rateRatio(large.node, large.nodeRawBody),
    },
    versions: versionsOf([
      '@hono/node-server',
      '@octokit/webhooks',
      'express',
      'fastify',
      'hono',
      'raw-body',
    ]),
  }
}
