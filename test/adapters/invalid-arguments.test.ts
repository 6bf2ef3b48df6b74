import { webhook as azure } from 'geohook/azure'
import { webhook as express } from 'geohook/express'
import { webhook as fastify } from 'geohook/fastify'
import { webhook as h3 } from 'geohook/h3'
import { webhook as hono } from 'geohook/hono'
import { webhook as koa } from 'geohook/koa'
import { webhook as lambda } from 'geohook/lambda'
import { webhook as node } from 'geohook/node'
import { describe, expect, it } from 'vitest'

const INVALID = [undefined, null, {}, 'parcels2026', { receive: 'x' }, { signatureKey: '' }]
const invalid = expect.objectContaining({ code: 'config_invalid' })

// JavaScript users see no type errors, so mistakes must throw at construction, not at the first request.
describe.each<[string, (options: never) => unknown]>([
  ['express', express],
  ['fastify', fastify],
  ['koa', koa],
  ['hono', hono],
  ['h3', h3],
])('webhook() of geohook/%s', (_, webhook) => {
  it.each(INVALID)('rejects %j', (options) => {
    expect(() => webhook(options as never)).toThrow(invalid)
  })
})

describe.each<[string, (options: never) => unknown]>([
  ['node', node],
  ['lambda', lambda],
  ['azure', azure],
])('webhook() of geohook/%s, which has no next handler,', (_, webhook) => {
  it.each([...INVALID, { signatureKey: 'parcels2026' }])('rejects %j', (options) => {
    expect(() => webhook(options as never)).toThrow(invalid)
    expect(() => webhook(options as never)).toThrow('createReceiver(), or options with an inbox')
  })

  it('accepts options with an inbox', () => {
    expect(webhook({ signatureKey: 'parcels2026', inbox: { put: async () => {} } } as never)).toBeTypeOf(
      'function',
    )
  })
})
