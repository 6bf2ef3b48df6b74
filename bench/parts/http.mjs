import { measureHttp } from '../http/measure.mjs'
import { LARGE, packages, SMALL, subjects } from '../http/subjects.mjs'
import { rateRatio, summary } from '../http/summaries.mjs'
import { number, times } from '../lib/format.mjs'
import { sizeName } from '../lib/payloads.mjs'
import { versionsOf } from '../lib/versions.mjs'

/** @type {import('../http/measure.mjs').Plan} */
const FULL = {
  connections: 32,
  passes: 2,
  seconds: 70,
  milliseconds: 300,
  rounds: { [SMALL]: { warmup: 24_000, all: 2, goals: 8 }, [LARGE]: { warmup: 2_000, all: 2, goals: 6 } },
}
/** @type {import('../http/measure.mjs').Plan} */
const SMOKE = {
  connections: 4,
  passes: 1,
  seconds: 300,
  milliseconds: 30,
  rounds: { [SMALL]: { warmup: 0, all: 1, goals: 1 }, [LARGE]: { warmup: 0, all: 1, goals: 0 } },
}

/** @type {import('../lib/part.mjs').Run} */
export async function run({ smoke, say }) {
  const rounds = await measureHttp(subjects, smoke ? SMOKE : FULL, say)
  const small = rounds.get(SMALL)
  const large = rounds.get(LARGE)
  return {
    tables: [...[...rounds].map(([size, measured]) => sizeTable(size, measured)), expressTable(small)],
    figures: {
      'http/node': rateRatio(small, 'node', 'bare'),
      'http/fastify': rateRatio(small, 'fastify', 'bare'),
      'http/hono': rateRatio(small, 'fetch', 'bare'),
      'http/express': rateRatio(small, 'express', 'expressJson'),
      'http/ahead': rateRatio(small, 'ahead', 'express'),
      'http/256KiB/node': rateRatio(large, 'node', 'nodeRawBody'),
      'http/256KiB/express': rateRatio(large, 'express', 'expressRawBody'),
      'http/256KiB/koa': rateRatio(large, 'koa', 'koaRawBody'),
      'http/256KiB/fastify': rateRatio(large, 'fastify', 'fastifyRawBody'),
      'http/256KiB/fetch': rateRatio(large, 'fetch', 'fetchByHand'),
      'http/256KiB/hono': rateRatio(large, 'hono', 'honoByHand'),
    },
    plots: [plot(rounds)],
    versions: versionsOf(packages),
  }
}

function sizeTable(size, rounds) {
  return {
    title: `POSTs of ${sizeName(size)} over keep-alive, server on one core`,
    columns: ['server', 'requests/s', 'vs bare node:http', 'CPU µs per request'],
    rows: Object.entries(subjects).map(([key, { name }]) => [
      name,
      number(summary(rounds, key, 'rate').median),
      times(rateRatio(rounds, key, 'bare')),
      number(summary(rounds, key, 'cpu').median, 1),
    ]),
  }
}

function expressTable(rounds) {
  const inExpress = Object.entries(subjects).filter(([, { file }]) => file === 'express')
  return {
    title: `Express 5, POSTs of ${sizeName(SMALL)}, requests/s`,
    columns: ['server', 'vs express.json({ verify })', 'vs geohook/express'],
    rows: inExpress.map(([key, { name }]) => [
      name,
      times(rateRatio(rounds, key, 'expressJson')),
      times(rateRatio(rounds, key, 'express')),
    ]),
  }
}

function plot(rounds) {
  const points = [...rounds].flatMap(([size, measured]) =>
    Object.entries(subjects).map(([key, { name }]) => {
      const { median, low, high } = rateRatio(measured, key, 'bare')
      return { series: sizeName(size), x: name, y: median, low, high }
    }),
  )
  return {
    name: 'http',
    title: 'Signed POSTs per second, relative to bare node:http with createHmac and JSON.parse',
    kind: 'bars',
    x: 'server',
    y: 'requests/s, bare node:http = 1',
    base: 1,
    points,
  }
}
