import { createReceiver, type Observer } from 'geohook'
import { createInspector, createRequestLog } from 'geohook/inspector'
import { describe, expect, it } from 'vitest'
import { deliver, JSON_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { warningsOf } from '../helpers/warnings.ts'
import { quiet, startInspected, textOf } from './helpers/request-log-support.ts'

const body = payloadOf('FeaturesCreated')
const signed = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body) }

describe('a request log', () => {
  it('records the requests of the fetch adapter', async () => {
    const requestLog = createRequestLog({ signatureKey: KEY })
    const receiver = createReceiver({ signatureKey: KEY, observer: requestLog.observer }).on('*', () => {})
    const page = createInspector(requestLog, { token: 'a token of the test' })
    await deliver(receiver, body)
    const response = await page.fetch(
      new Request('http://app.example/', { headers: { authorization: 'Bearer a token of the test' } }),
    )
    expect(textOf(await response.text())).toContain('FeaturesCreated Parcels 200 handled')
  })

  it('changes no response, whatever the request', async () => {
    const requests: [string, Record<string, string>][] = [
      [body, {}],
      [body, { 'x-service': 'bad' }],
      [body, { 'x-service': signatureOf('other') }],
      ['{', {}],
      [body, { 'content-type': 'text/plain' }],
    ]
    const requestLog = createRequestLog({ signatureKey: KEY })
    const plain = createReceiver({ signatureKey: KEY, observer: quiet }).on('*', () => {})
    const inspected = createReceiver({ signatureKey: KEY, observer: requestLog.observer }).on('*', () => {})
    for (const [text, headers] of requests) {
      const [a, b] = [await deliver(plain, text, headers), await deliver(inspected, text, headers)]
      expect({ ...b, headers: [...b.headers] }).toEqual({ ...a, headers: [...a.headers] })
    }
    expect(requestLog.size).toBe(requests.length)
  })

  it('passes everything on to the observer of its options, and the rest to the log', async () => {
    const seen: string[] = []
    class Mine implements Observer {
      name = 'mine'
      accepted(): void {
        seen.push(`${this.name} accepted`)
      }
      handled(): void {
        seen.push(`${this.name} handled`)
        throw new Error('a broken observer')
      }
      around({ run }: { run: () => Promise<unknown> }): void {
        seen.push('around')
        void run()
      }
    }
    const requestLog = createRequestLog({ signatureKey: KEY, observer: new Mine() })
    const receiver = createReceiver({ signatureKey: KEY, observer: requestLog.observer }).on('*', () => {})
    const warnings = await warningsOf(async () => {
      expect((await deliver(receiver, body)).status).toBe(200)
      await deliver(receiver, body, { 'x-service': 'bad' })
    })
    expect(seen).toEqual(['around', 'mine accepted', 'mine handled', 'around'])
    expect(warnings).toEqual([expect.stringMatching(/^signature_malformed: /)])
  })

  it('keeps the newest 1,000 requests', async () => {
    const requestLog = createRequestLog({ signatureKey: KEY })
    const receiver = createReceiver({ signatureKey: KEY, observer: requestLog.observer }).on('*', () => {})
    for (let index = 0; index <= 1000; index++) await deliver(receiver, body)
    expect(requestLog.size).toBe(1000)
    const page = createInspector(requestLog, { token: 'a token of the test' })
    const get = async (path: string): Promise<string> => {
      const headers = { authorization: 'Bearer a token of the test' }
      return (await page.fetch(new Request(`http://app.example${path}`, { headers }))).text()
    }
    const ids = [...(await get('/')).matchAll(/<li data-id="([^"]+)"/g)].map(([, id]) => id)
    expect(ids).toHaveLength(1000)
    expect(ids[0]).toMatch(/^1001-/)
    expect(ids.at(-1)).toMatch(/^2-/)
  })

  it('drops the oldest requests when they exceed maxBytes, but never the newest', async () => {
    const { hook, requestLog } = await startInspected({ maxBytes: 10_000 })
    const small = { headers: { ...signed, 'x-service': signatureOf('other') }, body: '{}' }
    const sendTimes = async (
      count: number,
      url: string,
      request: Parameters<typeof send>[1],
    ): Promise<number> => {
      for (let index = 0; index < count; index++) await send(url, request)
      return requestLog.size
    }
    expect(await sendTimes(5, hook, small)).toBe(5)
    expect(await sendTimes(5, hook, { ...small, body: ' '.repeat(4000) })).toBe(2)
    expect(await sendTimes(5, `${hook}?${'a'.repeat(4000)}`, small)).toBe(2)
    expect(
      await sendTimes(5, hook, { ...small, headers: { ...small.headers, 'x-a': 'a'.repeat(4000) } }),
    ).toBe(2)
    expect(await sendTimes(2, `${hook}?${'a'.repeat(12_000)}`, small)).toBe(1)
  })

  it('records no body that alone exceeds maxBytes', async () => {
    const { hook, page } = await startInspected({ maxBytes: 2 * body.length })
    const large = body.padEnd(3 * body.length)
    await send(hook, { headers: { ...signed, 'x-service': signatureOf(large) }, body: large })
    const [id] = await page.ids()
    expect((await page.get(`/deliveries/${id}/body`)).text).toContain('newer deliveries took its place')
    expect((await page.get(`/deliveries/${id}`)).text).toContain(`${large.length} bytes`)
    expect((await page.get(`/deliveries/${id}/download`)).status).toBe(404)
  })

  it.each([
    [{ maxRequests: 0 }, 'maxRequests must be a whole number from 1 to 10000'],
    [{ maxBytes: '1tb' }, /^maxBytes must be a number of bytes/],
    [{ ca: 'none' }, /^ca: a CA certificate must be a PEM text/],
    [{ resendTo: 'ftp://x/' }, 'resendTo must be a URL that begins with http:// or https://'],
    [{ title: '' }, 'title is empty'],
    [{ signatureKey: KEY }, 'unknown option signatureKey'],
  ])('refuses invalid options: %o', (options, message) => {
    expect(() => createRequestLog({ signatureKey: KEY }, options as never)).toThrow(message)
  })

  it.each<[object, string | RegExp]>([
    [{ signatureKeys: KEY }, 'unknown option signatureKeys: did you mean signatureKey?'],
    [{ observer: { handeld() {} } }, 'unknown observer function handeld: did you mean handled?'],
    [{ encoding: 'ascii' }, /^encoding must be/],
  ])('refuses invalid options of the receiver: %o', (options, message) => {
    expect(() => createRequestLog({ signatureKey: KEY, ...options } as never)).toThrow(message)
  })
})
