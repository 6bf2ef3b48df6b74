import { createReceiver, type ExplainedRefusal, explainRefusals, WebhookError } from 'geohook'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { deliver, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Creates a receiver that explains its refusals, and a function that returns the next diagnosis. */
function createExplained(options: Parameters<typeof explainRefusals>[0] = { signatureKey: KEY }) {
  const reports: ExplainedRefusal[] = []
  let resolve: (refusal: ExplainedRefusal) => void = () => {}
  const refused = explainRefusals(options, (refusal) => {
    reports.push(refusal)
    resolve(refusal)
  })
  const receiver = createReceiver({ signatureKey: KEY, ...options, observer: { refused } } as never).on(
    '*',
    () => {},
  )
  const nextReport = () =>
    new Promise<ExplainedRefusal>((done) => {
      resolve = done
    })
  return { receiver, reports, nextReport }
}

const forged = (key: string) => ({ 'x-service': signatureOf(payloadOf('A'), key) })

describe('explainRefusals', () => {
  it('reports the cause of a refusal after the response', async () => {
    const { receiver, reports, nextReport } = createExplained()
    const report = nextReport()
    const { status } = await deliver(receiver, payloadOf('A'), forged(`${KEY}\n`))
    expect([status, reports]).toEqual([401, []])
    const { diagnosis, error, request, skipped } = await report
    expect(diagnosis.cause).toBe('key_whitespace')
    expect(error.code).toBe('signature_mismatch')
    expect(request.url).toBe('http://receiver.example/hook')
    expect(skipped).toBe(0)
  })

  it('passes the body, the route and the options of the receiver on', async () => {
    const { receiver, nextReport } = createExplained({
      signatureKey: ({ url }) => (url.endsWith('/hook') ? KEY : undefined),
      maxAge: 60_000,
      clock: () => 1730385704000 + 3_600_000,
    })
    const report = nextReport()
    expect((await deliver(receiver, payloadOf('A'))).status).toBe(400)
    expect((await report).diagnosis.cause).toBe('delivery_too_old')
  })

  it('explains a request to which an observer has added members', async () => {
    const reports: ExplainedRefusal[] = []
    const refused = explainRefusals({ signatureKey: KEY }, (report) => reports.push(report))
    const request = { method: 'POST', url: '/', headers: { host: 'h' }, params: {}, requestId: '7' }
    const error = new WebhookError('signature_missing')
    refused({
      request,
      error,
      body: new TextEncoder().encode('{}'),
      outcome: { kind: 'refused', status: 401, headers: {}, body: '', error },
      milliseconds: 1,
    })
    await vi.waitUntil(() => reports.length > 0)
    expect(reports[0]?.diagnosis.cause).toBe('signature_header_missing')
  })

  it('explains one refusal a second, and counts the others', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(0)
    const { receiver, reports, nextReport } = createExplained()
    const first = nextReport()
    for (let i = 0; i < 3; i++) await deliver(receiver, payloadOf('A'), forged(`${KEY}\n`))
    await first
    await new Promise(setImmediate) // lets the function note the time at which the diagnosis ended
    now.mockReturnValue(999)
    await deliver(receiver, payloadOf('A'), forged(`${KEY}\n`))
    now.mockReturnValue(1000)
    const second = nextReport()
    await deliver(receiver, payloadOf('A'), forged(`${KEY}\r\n`))
    expect((await second).request.url).toBe('http://receiver.example/hook')
    expect(reports.length).toBe(2)
    expect(reports.reduce((total, { skipped }) => total + skipped, 0)).toBe(3)
  })

  it('explains only the code for a body over 1 MiB', async () => {
    const { receiver, nextReport } = createExplained({ signatureKey: KEY, limit: '2mb' })
    const report = nextReport()
    const body = JSON.stringify({ events: [], note: 'x'.repeat(1024 * 1024) })
    await deliver(receiver, body, { 'x-service': signatureOf(body, `${KEY}\n`) })
    expect((await report).diagnosis.evidence).toMatch(/^The receiver reported signature_mismatch\./)
  })

  it('continues after a report that throws', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(0)
    const called: string[] = []
    const refused = explainRefusals({ signatureKey: KEY }, ({ diagnosis }) => {
      called.push(diagnosis.cause)
      throw new Error('the log is full')
    })
    const receiver = createReceiver({ signatureKey: KEY, observer: { refused } }).on('*', () => {})
    for (const time of [0, 5000]) {
      now.mockReturnValue(time)
      await deliver(receiver, payloadOf('A'), forged(`${KEY}\n`))
      await vi.waitFor(() => expect(called.length).toBe(time === 0 ? 1 : 2), { timeout: 60_000 })
    }
    expect(called).toEqual(['key_whitespace', 'key_whitespace'])
  })

  it('continues after 30 seconds if a report never settles', async () => {
    vi.useFakeTimers()
    const report = vi.fn(() => new Promise(() => {}))
    const refused = explainRefusals({ signatureKey: KEY }, report)
    const receiver = createReceiver({ signatureKey: KEY, observer: { refused } }).on('*', () => {})
    const refuse = async (milliseconds: number, count: number) => {
      await deliver(receiver, payloadOf('A'), forged(`${KEY}\n`))
      await vi.advanceTimersByTimeAsync(milliseconds)
      await vi.waitFor(() => expect(report).toHaveBeenCalledTimes(count), { timeout: 60_000 })
    }
    await refuse(29_000, 1)
    await refuse(3000, 1)
    await refuse(1000, 2)
    expect(report).toHaveBeenLastCalledWith(expect.objectContaining({ skipped: 1 }))
  })

  it('rejects unknown options and a report that is not a function', () => {
    for (const call of [
      () => explainRefusals({ signatureKey: KEY, signatureHeaders: 'x' } as never, () => {}),
      () => explainRefusals({ signatureKey: KEY }, undefined as never),
      () => explainRefusals({ signatureKey: KEY, profile: 'arcgsi' as never }, () => {}),
      () => explainRefusals({ signatureKey: KEY, limit: 'zz' }, () => {}),
      () => explainRefusals({ signatureKey: KEY, unsigned: 'acept' as never }, () => {}),
    ])
      expect(call).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    expect(() => explainRefusals({ signatureKey: KEY }, 'log' as never)).toThrow(WebhookError)
  })
})
