import { describe, expect, it } from 'vitest'
import { listen } from '../../helpers/mounts/mounted.ts'
import { findPort } from '../../helpers/port.ts'
import { capture, seed } from '../support.ts'
import { alter, CREATED, createAt, named, PLAIN, receive, statusesOf } from './support.ts'

describe('delivers to a receiver that', () => {
  it.each(['keeps', 'closes'])(
    'responds before it reads a large body, and %s the connection',
    async (then) => {
      const mounted = await listen((req, res) => {
        if (then === 'closes') res.shouldKeepAlive = false
        res.writeHead(413).end('too much')
        req.resume()
      })
      const events = Array.from({ length: 9_000 }, () => CREATED)
      const { service } = createAt([seed(PLAIN, { hookUrl: mounted.url })], {
        settings: { notificationAttempts: 1 },
      })
      const [attempt] = await service.trigger(events)
      expect(attempt?.request.body.length).toBeGreaterThan(400_000)
      expect([attempt?.answer?.status, attempt?.answer?.body]).toEqual([413, 'too much'])
      await mounted.close()
    },
  )

  it('closes the connection after every response', async () => {
    const { url, requests } = await receive(
      (_n, _req, res) => void res.setHeader('connection', 'close').end(),
    )
    const { service } = createAt(named(url, { a: {} }))
    for (let count = 0; count < 5; count++) expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
    expect(requests).toHaveLength(5)
  })

  it('sends informational responses first', async () => {
    const { url } = await receive((_n, _req, res) => {
      res.writeProcessing()
      res.writeEarlyHints({ link: '</style.css>; rel=preload' })
      res.writeHead(202).end()
    })
    const { service } = createAt(named(url, { a: {} }))
    for (const fault of ['slow_drip', undefined] as const) {
      if (fault) service.faults.add({ fault, delay: 0, times: 1 })
      expect(statusesOf(await service.trigger(CREATED))).toEqual([202])
    }
  })

  it('expects the query of its payload URL, without the fragment', async () => {
    const { url, requests } = await receive()
    const { service } = createAt(named(`${url}/a%20b?c=d%26e&f#g`, { a: {} }))
    for (const fault of ['slow_drip', undefined] as const) {
      if (fault) service.faults.add({ fault, delay: 0, times: 1 })
      expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
      expect(requests.pop()?.url).toBe('/hook/a%20b?c=d%26e&f')
    }
  })

  it('restarts between two deliveries', async () => {
    const port = await findPort()
    const first = await capture(undefined, port)
    const { service } = createAt(named(first.url, { a: {} }), { settings: { notificationAttempts: 1 } })
    expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
    await first.close()
    expect((await service.trigger(CREATED))[0]?.error).toContain('ECONNREFUSED')
    await capture(undefined, port)
    expect(statusesOf(await service.trigger(CREATED))).toEqual([200])
  })

  it('is replaced by an edit after the delivery has begun', async () => {
    const [before, after] = await Promise.all([receive(), receive()])
    const { service } = createAt(named(before.url, { a: {} }))
    const triggered = service.trigger(CREATED)
    alter(service, { hookUrl: after.url })
    expect(await triggered).toMatchObject([{ hookUrl: before.url, answer: { status: 200 } }])
    expect(after.requests).toEqual([])
  })
})
