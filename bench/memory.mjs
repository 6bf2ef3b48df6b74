// Peak memory of uploads at once, minus the idle memory, per upload and as a multiple of the body. Includes parsing.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { start, withProcesses } from './child.mjs'
import { jsonBody, signedHeaders, sizeName } from './payloads.mjs'
import { spread } from './report.mjs'
import { interleave, ratio, summarize } from './rounds.mjs'

const LISTENERS = { geohook: 'geohook/node', rawBody: 'raw-body by hand, hashing on arrival' }
const FULL = { count: 16, size: 5 * 1024 ** 2, rounds: 15, warmup: 200 }
const SMOKE = { count: 2, size: 5 * 1024 ** 2, rounds: 1, warmup: 1 }

/** Sends all of a body except for its last byte. Returns a function that sends it, and resolves with the status. */
function begin(port, body) {
  const headers = { ...signedHeaders(body), 'content-length': body.length }
  const upload = request({ port, host: '127.0.0.1', method: 'POST', path: '/hook', headers, agent: false })
  const responded = once(upload, 'response')
  upload.write(body.subarray(0, -1))
  return async () => {
    upload.end(body.subarray(-1))
    const [response] = await responded
    response.resume()
    return response.statusCode
  }
}

/** All uploads wait for their last byte at the same time. Each figure is from a new, warmed-up process. */
async function measureUploads(name, { count, size, warmup }) {
  const path = fileURLToPath(new URL('memory/server.mjs', import.meta.url))
  const server = start(path, { core: 0, args: [name], execArgv: ['--expose-gc', '--no-warnings'] })
  return withProcesses([server], async ({ ready: port, ask }) => {
    for (let sent = 0; sent < warmup; sent++) assert.equal(await begin(port, jsonBody(1024))(), 200)
    const idle = await ask('watch')
    const body = jsonBody(size)
    const uploads = Array.from({ length: count }, () => begin(port, body))
    while ((await ask('arrived')) < count * (size - 1)) await setTimeout(5)
    for (const status of await Promise.all(uploads.map((finish) => finish()))) assert.equal(status, 200)
    assert.equal(await ask('handled'), count, `${name} handles each upload`)
    return ((await ask('peak')) - idle) / count / size
  })
}

/** @type {import('./report.mjs').Run} */
export async function run({ smoke }) {
  const plan = smoke ? SMOKE : FULL
  const measured = await interleave(Object.keys(LISTENERS), {
    rounds: plan.rounds,
    seconds: 20,
    warmup: 0,
    measure: (name) => measureUploads(name, plan),
  })
  return {
    tables: [
      {
        title: `memory: uploads at once, ${plan.count} × ${sizeName(plan.size)} of JSON with one long text, including parsing: peak memory over idle per upload, in bodies`,
        columns: ['receiver', 'bodies'],
        rows: [...measured].map(([name, figures]) => [LISTENERS[name], spread(summarize(figures))]),
      },
    ],
    figures: { 'memory/uploads': ratio(measured.get('geohook'), measured.get('rawBody')) },
  }
}
