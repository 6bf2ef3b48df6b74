import { createReceiver, type Observer, type Outcome } from 'geohook'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { deliver, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { receiverPort } from '../helpers/receiver-port.ts'
import { createRecorder } from '../helpers/recorder.ts'
import { warningsOf } from '../helpers/warnings.ts'

describe('the observer', () => {
  it('receives the delivery, the request and the duration', async () => {
    let now = 1000
    const calls: Record<string, unknown>[] = []
    const observer: Observer = { handled: (call) => calls.push({ ...call }) }
    const receiver = createReceiver({ signatureKey: KEY, observer, clock: () => now }).on('*', () => {
      now += 25
    })
    await deliver(receiver, payloadOf('A'))
    expect(calls).toMatchObject([
      {
        milliseconds: 25,
        delivery: { receivedAt: new Date(1000) },
        request: { method: 'POST', url: 'http://receiver.example/hook' },
      },
    ])
  })

  it('receives the bytes of a refused request, for explain()', async () => {
    const { observer, calls } = createRecorder()
    const body = payloadOf('A')
    await deliver(createReceiver({ signatureKey: KEY, observer }), body, {
      'x-service': signatureOf('other'),
    })
    expect(Buffer.from(calls[0]?.body ?? []).toString()).toBe(body)
  })

  it('cannot change the response', async () => {
    const change = (call: { outcome: Outcome }): void => {
      Object.assign(call.outcome, { status: 299, body: 'changed' })
      call.outcome.headers['x-changed'] = 'yes'
    }
    const receiver = createReceiver({ signatureKey: KEY, observer: { handled: change } }).on('*', () => {})
    const response = await deliver(receiver, payloadOf('A'))
    expect([response.status, response.body, response.headers.get('x-changed')]).toEqual([
      200,
      { status: 'handled' },
      null,
    ])
  })

  it('receives the fingerprint of the key of an accepted delivery, unless a function returned the key', async () => {
    const seen: unknown[] = []
    const observer: Observer = { accepted: ({ keyFingerprint }) => seen.push(keyFingerprint) }
    const list = createReceiver({ signatureKey: ['newer', KEY], observer })
    await deliver(list, payloadOf('A'))
    await deliver(createReceiver({ signatureKey: () => KEY, observer }), payloadOf('A'))
    await deliver(createReceiver({ unsigned: 'accept', observer }), payloadOf('A'), { 'x-service': '' })
    expect(seen).toEqual([(await list.stats()).keys?.[1]?.fingerprint, undefined, undefined])
  })

  it('never receives a key', async () => {
    const calls: unknown[] = []
    const keep = (call: unknown) => calls.push(call)
    const observer: Observer = { accepted: keep, refused: keep, unhandled: keep, failed: keep }
    const receiver = createReceiver({ signatureKey: 'topsecret', observer }).on('Bad', () => {
      throw new Error('x')
    })
    for (const key of ['topsecret', 'wrong']) {
      for (const type of ['Good', 'Bad']) {
        const body = payloadOf(type)
        await deliver(receiver, body, { 'x-service': signatureOf(body, key) })
      }
    }
    expect(calls.length).toBe(6)
    const { inspect } = await import('node:util')
    expect(inspect(calls, { depth: 20, showHidden: true })).not.toContain('topsecret')
  })

  it('can be an instance of a class whose methods throw or reject', async () => {
    class Failing {
      calls = 0
      accepted() {
        this.calls++
        throw new Error('oops')
      }
      async handled() {
        this.calls++
        throw new Error('later')
      }
    }
    const observer = new Failing()
    const receiver = createReceiver({ signatureKey: KEY, observer }).on('*', () => {})
    expect((await deliver(receiver, payloadOf('A'))).status).toBe(200)
    expect(observer.calls).toBe(2)
  })

  it('can have a getter that throws', async () => {
    const observer: Observer = {
      get accepted(): never {
        throw new Error('getter')
      },
    }
    const receiver = createReceiver({ signatureKey: KEY, observer })
    expect((await deliver(receiver, payloadOf('A'))).status).toBe(200)
  })
})

describe('the log', () => {
  it('says why a request was rejected and how to fix it, at most once a minute per code', async () => {
    let now = 0
    const receiver = createReceiver({ signatureKey: KEY, clock: () => now })
    const lines = await warningsOf(async () => {
      for (let i = 0; i < 5; i++) await deliver(receiver, '{}', { 'x-service': '0'.repeat(64) })
      await deliver(receiver, '{}', { 'x-service': '' })
      now = 60_000
      await deliver(receiver, '{}', { 'x-service': '0'.repeat(64) })
    })
    expect(lines).toEqual([
      'signature_mismatch: /hook: Signature mismatch. To find the cause, set SIGNATURE_KEY and run ' +
        '"npx geohook listen --save captures" in place of this receiver, then "npx geohook explain captures".',
      expect.stringMatching(/^signature_missing: \/hook: Signature missing\. To find the cause, set /),
      expect.stringMatching(
        /^signature_mismatch: \/hook: Signature mismatch \(4 more since the last warning\)\. To find the cause, /,
      ),
    ])
  })

  it('writes one line for wrong signatures and missing keys, so that its timing does not distinguish them', async () => {
    let key: string | undefined
    const receiver = createReceiver({ signatureKey: () => key })
    const lines = await warningsOf(async () => {
      for (key of [undefined, 'another', ' ']) await deliver(receiver, '{}')
    })
    expect(lines).toEqual([expect.stringMatching(/^key_unknown: \/hook: Key unknown\. .*mergeParams/)])
  })

  it('includes the errors of handlers', async () => {
    const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {
      throw new Error('no database')
    })
    const lines = await warningsOf(() => deliver(receiver, payloadOf('A')))
    expect(lines).toEqual([
      'handler_failed: /hook: Handler failed: Error: no database. To log the stack trace, add the function failed to the observer.',
    ])
  })

  it('has a limited length and escapes control characters', async () => {
    const receiver = createReceiver({ signatureKey: KEY }).on('*', (event) => {
      throw new Error(`bad\n(node:1) Warning: fake\u001b[2J ${event.changeType}`)
    })
    const [line = ''] = await warningsOf(() =>
      deliver(receiver, payloadOf(...Array(5000).fill('x'.repeat(50)))),
    )
    expect(line.length).toBeLessThan(700)
    expect(line).toContain('bad%0A(node:1) Warning: fake%1B[2J')
    expect(line).not.toMatch(/\p{Cc}/u)
  })

  it('escapes characters that change the direction of text or start a line', async () => {
    const range = (first: number, last: number) =>
      Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index))
    const groups = [
      [...range(0, 0x1f), ...range(0x7f, 0x9f)],
      ['\u061c', ...range(0x200e, 0x200f), ...range(0x2028, 0x202e), ...range(0x2066, 0x2069), '\ufeff'],
    ]
    for (const characters of groups) {
      const receiver = createReceiver({ signatureKey: KEY }).on('*', () => {
        throw new Error(`\u00fc${characters.join('')}\u{1f30d}`)
      })
      const lines = await warningsOf(() => deliver(receiver, payloadOf('A')))
      const written = `\u00fc${encodeURIComponent(characters.join(''))}\u{1f30d}`
      expect(lines).toEqual([expect.stringContaining(`: Handler failed: Error: ${written}. `)])
    }
  })

  it.each([
    ['without its query', '/hook/7?token=secret', '/hook/7: '],
    ['without a host and its user', 'http://user:secret@a.example/hook#secret', '/hook: '],
    ['as / if it has none', 'http://a.example?token=secret', '/: '],
    ['with at most 200 characters', `/${'x'.repeat(1_000)}`, `/${'x'.repeat(199)}: `],
    [
      'without control characters and spaces',
      '/a\u001b[2J\n: Fake warning',
      '/a%1B[2J%0A:%20Fake%20warning: ',
    ],
    ['as nothing if the URL is empty', '', ''],
  ])('names the path %s', async (_, url, path) => {
    const receiver = createReceiver({ signatureKey: KEY })
    const head = { method: 'PUT', url, headers: {} }
    const lines = await warningsOf(() =>
      receiverPort(receiver).receive({ ...head, read: () => expect.unreachable() }),
    )
    expect(lines).toEqual([expect.stringMatching(/^method_not_allowed: .*Method not allowed\. \S/)])
    expect(lines[0]).toContain(`method_not_allowed: ${path}Method not allowed.`)
  })

  it('has one rate limit per code, whatever the path is, so that the path reveals nothing', async () => {
    const receiver = createReceiver({ signatureKey: ({ url }) => (url === '/a' ? KEY : null) })
    const lines = await warningsOf(async () => {
      for (const url of ['/a', '/b', '/a', '/c']) {
        const headers = { 'x-service': '0'.repeat(64) }
        await receiverPort(receiver).receive({ method: 'POST', url, headers, read: () => new Uint8Array() })
      }
    })
    expect(lines).toEqual([expect.stringMatching(/^signature_mismatch: \/a: /)])
  })

  it('names the first issue of an invalid payload, but no objects', async () => {
    const schema = z.object({ a: z.string() })
    const lines = await warningsOf(() => deliver(createReceiver({ signatureKey: KEY, schema }), '{}'))
    expect(lines).toEqual([
      expect.stringMatching(/^payload_invalid: \/hook: Invalid input: .* undefined\. To find /),
    ])
  })

  it('reports errors that cannot be printed', async () => {
    const thrown = [
      Object.create(null),
      {
        toString: () => {
          throw new Error('x')
        },
      },
      undefined,
      null,
    ]
    for (const value of thrown) {
      const receiver = createReceiver({ signatureKey: KEY }).on('*', () => Promise.reject(value))
      const lines = await warningsOf(() => deliver(receiver, payloadOf('A')))
      expect(lines).toEqual([expect.stringMatching(/^handler_failed: \/hook: Handler failed: /)])
    }
  })

  it('reports only failures without a matching observer function', async () => {
    const receiver = createReceiver({ signatureKey: KEY, observer: { refused: () => {} } }).on('*', () => {
      throw new Error('x')
    })
    const lines = await warningsOf(async () => {
      await deliver(receiver, '{}', { 'x-service': '' })
      await deliver(receiver, payloadOf('A'))
    })
    expect(lines).toEqual([expect.stringMatching(/^handler_failed/)])
  })

  it('replaces the log of what it observes', async () => {
    const observer: Observer = { refused() {}, failed() {} }
    const receiver = createReceiver({ signatureKey: KEY, observer }).on('*', () => Promise.reject('x'))
    const lines = await warningsOf(async () => {
      await deliver(receiver, '{}', { 'x-service': '' })
      await deliver(receiver, payloadOf('A'))
    })
    expect(lines).toEqual([])
  })

  it('may lack functions, and get them later', async () => {
    const observer: Observer = { handled: undefined } as object
    const receiver = createReceiver({ signatureKey: KEY, observer })
    const lines = await warningsOf(() => deliver(receiver, '{}', { 'x-service': '' }))
    expect(lines).toEqual([expect.stringMatching(/^signature_missing/)])
    const codes: string[] = []
    observer.refused = ({ error }) => codes.push(error.code)
    await deliver(receiver, '{}', { 'x-service': '' })
    expect(codes).toEqual(['signature_missing'])
  })

  it('always reports a body that was already parsed', async () => {
    const receiver = createReceiver({ signatureKey: KEY, observer: { refused: () => {} } })
    const request = new Request('http://a.example', {
      method: 'POST',
      body: '{}',
      headers: { 'x-service': signatureOf('{}') },
    })
    await request.text()
    const lines = await warningsOf(() => receiver.fetch(request))
    expect(lines).toEqual([expect.stringMatching(/^body_already_parsed: .*clone\(\).*Mount geohook before/)])
  })
})
