import type { ServerResponse } from 'node:http'
import { expect } from 'vitest'
import { FAST, TOKEN } from '../support.ts'
import type { Case } from './case.ts'
import { DOCUMENTS } from './documents.ts'
import { type Hostile, type Reply, raw, startHostile } from './hostile-server.ts'
import type { Start, Use, Used } from './subject.ts'

type Expected = Record<string, unknown>

export const extract = (use: Start, server: Hostile, options: Partial<Use['options']> = {}): Promise<Used> =>
  use({
    options: { origins: [server.origin], pollInterval: FAST, timeout: 30_000, limit: '1mb', ...options },
    tokens: [TOKEN],
    events: [server.event],
  })

const MALFORMED = { code: 'changes_malformed' }
const deep = (levels: number): string => `{"edits":${'['.repeat(levels)}${']'.repeat(levels)}}`
const json = (text: string): Reply => raw(200, text, { 'content-type': 'application/json' })
const huge = (res: ServerResponse): void => {
  const more = (): void => {
    while (!res.destroyed && res.write(Buffer.alloc(64 * 1024, ' ')));
  }
  res.writeHead(200, { 'content-type': 'application/json' }).on('drain', more)
  more()
}

/** Answers that are errors at each step. */
const EVERY_STEP: [name: string, reply: Reply, expected: Expected][] = [
  ['an HTML page', raw(200, '<!doctype html><title>Sign in</title>'), MALFORMED],
  ['an empty body', raw(200, ''), MALFORMED],
  ['no content', raw(204, ''), MALFORMED],
  ['text', raw(200, 'ok'), MALFORMED],
  ['a JSON list', json('[]'), MALFORMED],
  ['a JSON text', json('"ok"'), MALFORMED],
  ['null', json('null'), MALFORMED],
  ['cut JSON', json('{"edits":['), MALFORMED],
  ['invalid UTF-8', raw(200, new Uint8Array([0x7b, 0xff, 0x7d])), MALFORMED],
  ['a forbidden key', json('{"edits":[{"__proto__":{"id":0}}]}'), MALFORMED],
  ['a constructor with a prototype', json('{"constructor":{"prototype":{"id":0}}}'), MALFORMED],
  ['nested lists', json(deep(65)), MALFORMED],
  ['very deeply nested lists', json(deep(100_000)), MALFORMED],
  ['a huge body', huge, { code: 'changes_too_large' }],
  [
    'a body that is announced as huge',
    raw(200, '{}', { 'content-length': '2000000' }),
    { code: 'changes_too_large' },
  ],
  [
    'the error 403',
    { error: { code: 403, message: 'No access' } },
    { code: 'changes_token_rejected', serviceCode: 403 },
  ],
  [
    'the error 499',
    { error: { code: 499, message: 'Token Required' } },
    { code: 'changes_token_rejected', serviceCode: 499 },
  ],
  [
    'an error of the administration',
    { status: 'error', messages: ['Not found'], code: 404 },
    { code: 'changes_failed', serviceCode: 404, message: expect.stringContaining('Not found') },
  ],
  [
    'an error that is text',
    { error: 'invalid_request' },
    { code: 'changes_failed', message: expect.stringContaining('invalid_request') },
  ],
  [
    'an error that quotes the token',
    { error: { code: 400, message: `Bad token ${TOKEN}.` } },
    { message: expect.stringContaining('Bad token ***.') },
  ],
  [
    'an error with an object as its code',
    { error: { code: { toString: 1, valueOf: 1 }, message: 'no' } },
    { code: 'changes_failed' },
  ],
  ['the HTTP status 404', raw(404, 'no'), { code: 'changes_failed', serviceCode: 404 }],
  ['the HTTP status 401', raw(401, 'no'), { code: 'changes_token_rejected', serviceCode: 401 }],
  ['the HTTP status 503', raw(503, 'busy'), { code: 'changes_unavailable', serviceCode: 503 }],
  ['the HTTP status 304', raw(304, ''), { code: 'changes_failed', serviceCode: 304 }],
  [
    'a redirect loop',
    (res, origin, req) => res.writeHead(302, { location: `${origin}${req.url}` }).end(),
    { code: 'changes_url_refused' },
  ],
  ['a closed connection', (res) => res.destroy(), { code: 'changes_unavailable' }],
]

export const ANSWER_CASES: readonly Case[] = [
  ...['extractChanges', 'status', 'file'].flatMap((step) =>
    EVERY_STEP.map(([name, reply, expected]) => ({
      name: `${name} at ${step}: ${String(expected.code ?? 'an error')}`,
      async run(use: Start) {
        const server = await startHostile({ [step]: reply })
        const { error } = await extract(use, server)
        expect(error).toMatchObject({ hint: expect.stringMatching(/\w/), ...expected })
        expect(JSON.stringify(error)).not.toContain(TOKEN)
        // Retries and repeated extractions are limited.
        expect(server.got.length).toBeLessThan(80)
      },
    })),
  ),
  ...DOCUMENTS.flatMap(([name, document, layers]) =>
    ['extractChanges', 'file'].map((step) => ({
      name: `a document with ${name} at ${step}`,
      async run(use: Start) {
        const server = await startHostile({ [step]: document as object })
        const { error, changes } = await extract(use, server)
        if (layers === 'malformed') expect(error).toMatchObject(MALFORMED)
        else {
          expect(error).toBeUndefined()
          expect(changes?.layers).toMatchObject(layers as object[])
          expect(changes?.layers).toHaveLength((layers as object[]).length)
        }
      },
    })),
  ),
]
