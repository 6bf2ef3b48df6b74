import {
  type ChangesObserver,
  createChanges,
  type Step,
  type StepResult,
  type TokenSource,
} from 'geohook/changes'
import { describe, expect, it } from 'vitest'
import { DOCUMENT, type Got, raw, redirect, startHostile } from './contract/hostile-server.ts'
import { FAST, startService, TOKEN } from './support.ts'

const ATTACHMENT = {
  attachmentId: 1,
  globalId: '',
  parentGlobalId: '',
  name: '',
  contentType: 'image/png',
  size: 5,
}

describe('tokens', () => {
  it('a service that needs no token gets none', async () => {
    const server = await startHostile()
    await createChanges({ origins: [server.origin], pollInterval: FAST }).of(server.event)
    for (const { all } of server.got) expect(all).not.toMatch(/token|authorization/i)
  })

  it('a function is called for the first request, and when the token is rejected', async () => {
    const service = await startService()
    const urls: string[] = []
    const token = async (url: string): Promise<string> => `t${urls.push(url)}-token`
    const changes = service.changes({ token })
    await changes.of(service.event())
    await changes.of(service.event())
    expect(urls).toEqual([`${service.url}/extractChanges`])
    service.service.faults.add({ fault: 'token_expired', times: 1, step: 'result' })
    await changes.of(service.event())
    expect(urls).toHaveLength(2)
  })

  it('simultaneous extractions share a renewal', async () => {
    const service = await startService({ extractChanges: { answer: 'embedded' } })
    let count = 0
    const changes = service.changes({ token: () => (count++ === 0 ? 'expired' : TOKEN) })
    await Promise.all([1, 2, 3, 4].map(() => changes.of(service.event())))
    expect(count).toBe(2)
  })

  it("credentials of the vendor's client are asked for each request, and refreshed when the token is rejected", async () => {
    const service = await startService()
    const calls: string[] = []
    const credentials = {
      token: 'expired',
      async getToken(): Promise<string> {
        calls.push('get')
        return this.token
      },
      async refreshCredentials() {
        calls.push('refresh')
        this.token = TOKEN
        return this
      },
    }
    const { layers } = await service.changes({ token: credentials }).of(service.event())
    expect(layers).toHaveLength(1)
    expect(calls.filter((call) => call === 'refresh')).toHaveLength(1)
    expect(calls.length).toBeGreaterThan(4)
  })

  it.each<[string, TokenSource]>([
    [
      'a function that throws',
      () => {
        throw new Error('no network')
      },
    ],
    [
      'a function that rejects',
      () =>
        Promise.reject(Object.assign(new Error('no network'), { options: { client_secret: 'its secret' } })),
    ],
    [
      'credentials that reject',
      {
        getToken: () =>
          Promise.reject(Object.assign(new Error('no network'), { client_secret: 'its secret' })),
      },
    ],
  ])('%s is reported without the request behind it', async (_, token) => {
    const { inspect } = await import('node:util')
    const service = await startService()
    const error = await service
      .changes({ token })
      .of(service.event())
      .catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: 'changes_token_rejected', message: 'no token: no network' })
    expect(inspect(error, { depth: 9 })).not.toContain('its secret')
  })

  it('a function that returns no text is an error', async () => {
    const service = await startService()
    const changes = service.changes({ token: () => undefined as unknown as string })
    await expect(changes.of(service.event())).rejects.toMatchObject({
      message: 'no token: the function or credentials returned no text',
    })
  })

  it('each origin has its own', async () => {
    const servers = [await startHostile(), await startHostile()]
    const changes = createChanges({
      token: (url) => `token-of-${new URL(url).port}`,
      origins: servers.map(({ origin }) => origin),
      pollInterval: FAST,
    })
    for (const { event } of servers) await changes.of(event)
    for (const { origin, got } of servers)
      expect(got.map(({ all }) => /token-of-\d+/.exec(all)?.[0])).toEqual(
        Array(3).fill(`token-of-${new URL(origin).port}`),
      )
  })
})

describe('the referer', () => {
  const REFERER = 'https://maps.example.com/app'
  const referersOf = (got: Got[]) => got.map(({ all }) => /"referer":"([^"]*)"/.exec(all)?.[1])

  it('is sent with each request to the service, but not to the origin of a redirect, nor back', async () => {
    const server = await startHostile({ again: DOCUMENT })
    const files = await startHostile({ file: redirect(`${server.origin}/again`) })
    const first = await startHostile({
      extractChanges: redirect('/moved', 307),
      moved: (res, origin) => res.end(JSON.stringify({ statusUrl: `${origin}/status` })),
      file: redirect(`${files.origin}/file`),
      picture: raw(200, 'bytes', { 'content-type': 'image/png' }),
    })
    const origins = [first.origin, server.origin]
    const changes = createChanges({ origins, referer: REFERER, token: TOKEN, pollInterval: FAST })
    await changes.of(first.event)
    await changes.download({ ...ATTACHMENT, url: `${first.origin}/picture` })
    expect(first.got.map(({ method, path }) => `${method} ${path.split('/').at(-1)}`)).toEqual([
      'POST extractChanges',
      'POST moved',
      'POST status',
      'GET file',
      'GET picture',
    ])
    expect(referersOf(first.got)).toEqual(Array(5).fill(REFERER))
    expect(referersOf([...files.got, ...server.got])).toEqual([undefined, undefined])
  })

  it('is none without the option', async () => {
    const server = await startHostile()
    await createChanges({ origins: [server.origin], pollInterval: FAST }).of(server.event)
    expect(referersOf(server.got)).toEqual([undefined, undefined, undefined])
  })
})

describe('the observer', () => {
  it('sees each step, with its requests, states and errors', async () => {
    const service = await startService()
    const seen: [Step['step'], StepResult][] = []
    const observer: ChangesObserver = {
      async around({ step, service: url, run }) {
        expect(url).toBe(service.url)
        seen.push([step, await run()])
      },
    }
    const changes = service.changes({ observer })
    service.service.faults.add({ fault: 'error_with_200', times: 1 })
    await changes.of(service.event())
    expect(seen).toEqual([
      ['submit', { requests: 2 }],
      ['poll', { requests: 1, state: 'ExportChanges' }],
      ['poll', { requests: 1, state: 'ExportAttachments' }],
      ['poll', { requests: 1, state: 'Completed' }],
      ['fetch', { requests: 1 }],
    ])
    seen.length = 0
    service.service.faults.add({ fault: 'html_answer', times: 1, step: 'submit' })
    const error = await changes.of(service.event()).catch((caught: unknown) => caught)
    expect(seen).toEqual([['submit', { requests: 1, error }]])
  })

  it.each<[string, ChangesObserver]>([
    [
      'throws',
      {
        around() {
          throw new Error('mine')
        },
      },
    ],
    ['rejects', { around: () => Promise.reject(new Error('mine')) }],
    ['runs twice', { around: ({ run }) => Promise.all([run(), run()]) }],
    [
      'has a getter that throws',
      {
        get around(): never {
          throw new Error('mine')
        },
      },
    ],
  ])('that %s does not fail the extraction', async (_, observer) => {
    const service = await startService()
    expect((await service.changes({ observer }).of(service.event())).layers).toHaveLength(1)
  })
})
