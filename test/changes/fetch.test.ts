import { describe, expect, it } from 'vitest'
import { FAST, startService } from './support.ts'

describe('the option fetch', () => {
  it('sends every request, and sees that redirects must not be followed', async () => {
    const service = await startService({ extractChanges: { answer: 'job', redirect: true } })
    const seen: string[] = []
    const changes = service.changes({
      fetch(url, init) {
        seen.push(`${init.method ?? 'GET'} ${url.pathname.split('/').at(-2)} ${init.redirect}`)
        return fetch(url, init)
      },
    })
    const { layers } = await changes.of(service.event())
    expect(layers[0]?.adds).toHaveLength(2)
    expect(seen[0]).toBe('POST FeatureServer manual')
    expect(seen.at(-1)).toBe('GET changefiles manual')
    expect(seen.filter((request) => request.includes(' jobs '))).toHaveLength(seen.length - 3)
  })

  it('fails like the network if it throws', async () => {
    const service = await startService()
    const changes = service.changes({
      pollInterval: FAST,
      fetch: () => Promise.reject(new Error('the proxy is down')),
    })
    await expect(changes.of(service.event())).rejects.toMatchObject({
      code: 'changes_unavailable',
      message: expect.stringContaining('the proxy is down'),
    })
  })

  it('cannot delay an error by ignoring its signal', async () => {
    const service = await startService()
    const changes = service.changes({ timeout: 1000, fetch: () => new Promise(() => {}) })
    const attachment = {
      attachmentId: 1,
      globalId: '',
      parentGlobalId: '',
      name: '',
      contentType: '',
      size: 1,
    }
    const calls = [changes.of(service.event()), changes.download({ ...attachment, url: `${service.url}/a` })]
    for (const call of await Promise.allSettled(calls))
      expect(call).toMatchObject({ status: 'rejected', reason: { code: 'changes_timeout' } })
  })

  it('must be a function', async () => {
    const service = await startService()
    expect(() => service.changes({ fetch: 'node-fetch' as never })).toThrow('fetch must be a function')
  })
})
