import { webhook as azure } from 'geohook/azure'
import { webhook as express } from 'geohook/express'
import { webhook as fastify } from 'geohook/fastify'
import { webhook as h3 } from 'geohook/h3'
import { webhook as hono } from 'geohook/hono'
import { webhook as koa } from 'geohook/koa'
import { webhook as lambda } from 'geohook/lambda'
import { webhook as node } from 'geohook/node'
import { describe, expect, it } from 'vitest'

const NOTHINGS = [undefined, null, {}, 'parcels2026', { receive: 'x' }, { signatureKey: '' }]
const invalid = expect.objectContaining({ code: 'config_invalid' })

// From plain JavaScript, where no type says what is wrong: at construction, and not at the first request of a stranger.
describe.each<[string, (given: never) => unknown]>([
  ['express', express],
  ['fastify', fastify],
  ['koa', koa],
  ['hono', hono],
  ['h3', h3],
])('webhook() of geohook/%s', (_, webhook) => {
  it.each(NOTHINGS)('refuses %j', (given) => {
    expect(() => webhook(given as never)).toThrow(invalid)
  })
})

describe.each<[string, (given: never) => unknown]>([
  ['node', node],
  ['lambda', lambda],
  ['azure', azure],
])('webhook() of geohook/%s, behind which nothing comes,', (_, webhook) => {
  it.each([...NOTHINGS, { signatureKey: 'parcels2026' }])('refuses %j', (given) => {
    expect(() => webhook(given as never)).toThrow(invalid)
    expect(() => webhook(given as never)).toThrow('createReceiver()')
  })
})
