import type { IncomingMessage, ServerResponse } from 'node:http'
import type { MockService, MockServiceOptions, Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { geohook, parseEvents, type Running, startGeohook, startProcess } from '../../helpers/cli.ts'
import { serve } from '../../helpers/served.ts'
import { unusedUrl } from '../../helpers/target.ts'
import { create, FEATURE, seed } from '../../mock/support.ts'

const SERVICE = 'Parcels.FeatureServer'
const env = { USER: 'kim' }
const NAME = /geohook-listen-kim-[a-z0-9]+-\d{8}t\d{9}z/
const EDITS = seed(FEATURE)
/** A temporary webhook of another user. */
const FOREIGN = seed(FEATURE, { id: 'f1', name: 'geohook-listen-alex-gis1-20260102t030405678z' })
/** Its name is not that of a temporary webhook. */
const SIMILAR = seed(FEATURE, { id: 's1', name: 'geohook-listen-kim-production' })

interface Served {
  url: string
  mock: MockService
  names(): string[]
}

/** Starts a mock. `intercept` returns true for a request that it has answered. */
async function start(
  webhooks: Webhook[] = [EDITS],
  options: MockServiceOptions = {},
  intercept: (req: IncomingMessage, res: ServerResponse) => boolean = () => false,
): Promise<Served> {
  const mock = create(webhooks, options)
  const { url } = await serve((req, res) => {
    if (!intercept(req, res)) mock.app(req, res)
  })
  return { url, mock, names: () => mock.snapshot().webhooks.map(({ name }) => name) }
}

const argsOf = (url: string, ...more: string[]): string[] => [
  ...['listen', '--port', '0', '--register', SERVICE, '--url', url],
  ...more,
]

const listen = (url: string, ...more: string[]): Running => startGeohook(argsOf(url, ...more), { env })

function refuse(req: IncomingMessage, res: ServerResponse): true {
  req.resume()
  res.setHeader('content-type', 'application/json')
  res.end('{"error":{"code":403,"message":"refused"}}')
  return true
}

describe('geohook listen --register', () => {
  it('a listener that cannot start leaves the webhook of a running one', async () => {
    const { url, names } = await start()
    const listener = listen(url, '--json')
    await listener.printed(/"registered"/)
    const before = names()
    const [{ url: address }] = parseEvents(listener).filter(({ event }) => event === 'listening') as [
      { url: string },
    ]
    const { port } = new URL(address)
    const args = ['listen', '--register', SERVICE, '--url', url, '--port', port]
    expect((await geohook(args, { env })).code).toBe(2)
    expect(names()).toEqual(before)
    listener.stop()
    expect(await listener.exited).toBe(0)
  })

  it('says at the end that another client has deleted its webhook', async () => {
    const { url, mock, names } = await start()
    const listener = listen(url)
    await listener.printed(/^registered/m)
    mock.restore({ webhooks: [EDITS] })
    listener.stop()
    expect(await listener.exited).toBe(1)
    expect(listener.stderr).toMatch(
      /cannot delete the webhook geohook-listen-kim-\S+: it was already deleted/,
    )
    expect(names()).toEqual([EDITS.name])
  })

  it.each(['service', 'enterprise', 'online'] as const)(
    'receives an event of %s with --once, and deletes its webhook',
    async (product) => {
      const { url, mock, names } = await start([EDITS], { like: product })
      const given = ['--product', product, '--change-types', 'FeaturesCreated']
      const listener = listen(url, ...given, '--once', '--json')
      await listener.printed(/"registered"/)
      const [, made] = mock.snapshot().webhooks
      expect(made).toMatchObject({ changeTypes: ['FeaturesCreated'], active: true })
      expect(made?.name).toMatch(NAME)
      expect(made?.signatureKey).toMatch(/^[0-9a-f]{64}$/)
      await mock.trigger([{ serviceName: 'Parcels', changeType: 'FeaturesCreated' }])
      expect(await listener.exited).toBe(0)
      expect(names()).toEqual([EDITS.name])
      const events = parseEvents(listener)
      const placesLeft = product === 'online' ? [4, 9] : []
      expect(events).toContainEqual(
        expect.objectContaining({ event: 'registering', webhooks: 1, placesLeft }),
      )
      expect(events.filter(({ finding }) => finding === 'verified')).toHaveLength(1)
      expect(events.some(({ finding }) => finding === 'handshake')).toBe(product === 'online')
      expect(events.at(-1)).toEqual({ event: 'deleted', name: made?.name })
      expect(listener.output).not.toContain(made?.signatureKey)
    },
  )

  it('registers a webhook of a portal', async () => {
    const { url, mock, names } = await start([], { like: 'portal' })
    const args = ['listen', '--port', '0', '--register', 'portal', '--product', 'portal', '--url', url]
    const listener = startGeohook([...args, '--once', '--json'], { env })
    await listener.printed(/"registered"/)
    const [made] = mock.snapshot().webhooks
    await mock.trigger([
      { serviceType: 'Portal', serviceName: made?.serviceName ?? '', changeType: '/items/add' },
    ])
    expect(await listener.exited).toBe(0)
    expect(parseEvents(listener)).toContainEqual(expect.objectContaining({ finding: 'verified' }))
    expect(names()).toEqual([])
  })

  it('does not count a signed check of the payload URL before the creation', async () => {
    const { url, mock } = await start([EDITS], { like: { product: 'enterprise', creationCheck: true } })
    const listener = listen(url, '--product', 'enterprise', '--once', '--json')
    await listener.printed(/"verified"(.*\n)+.*"registered"/)
    await mock.trigger([{ serviceName: 'Parcels', changeType: 'FeaturesCreated' }])
    expect(await listener.exited).toBe(0)
    expect(parseEvents(listener).filter(({ finding }) => finding === 'verified')).toHaveLength(2)
  })

  it('hides the key in requests that contain it', async () => {
    const { url, mock } = await start()
    const listener = listen(url, '--once', '--json')
    await listener.printed(/"registered"/)
    const [, made] = mock.snapshot().webhooks
    await fetch(`${made?.hookUrl}?k=${made?.signatureKey}`, { method: 'POST' })
    expect(await listener.exited).toBe(1)
    expect(listener.output).toContain('/?k=***')
    expect(listener.output).not.toContain(made?.signatureKey)
  })

  it('prints what it will do before it creates the webhook, and deletes it after Ctrl-C', async () => {
    const { url, mock, names } = await start([EDITS, FOREIGN])
    const listener = listen(url, '--public-url', 'https://tunnel.example/a')
    await listener.printed(/registered/)
    expect(mock.snapshot().webhooks.at(-1)?.hookUrl).toBe('https://tunnel.example/a')
    expect(await listener.stop()).toBe(0)
    expect(names()).toEqual([EDITS.name, FOREIGN.name])
    expect(listener.stderr).toBe('')
    expect(listener.stdout).toMatch(
      /has 2 webhooks; no limit .*\nevents arrive .*\npayloads go to tunnel\.example.*\n(.*\n)*registered .*\ndeleted/,
    )
  })

  it.each([true, false])(
    'deletes the webhook if the creation ends with an error (created: %s)',
    async (isMade) => {
      let id = ''
      const { url, mock, names } = await start([EDITS], {}, (req, res) => {
        const [, read = ''] = /webhooks\/([^/?]{36})(\?|$)/.exec(req.url ?? '') ?? []
        if (id || !read) return false
        id = read
        if (!isMade) mock.delete(id)
        return refuse(req, res)
      })
      const listener = listen(url)
      expect(await listener.exited).toBe(1)
      expect(id).not.toBe('')
      expect(listener.stderr).toContain('did not show the result')
      expect(listener.stderr.includes('the service may still create it')).toBe(!isMade)
      expect(listener.stdout.includes('\ndeleted geohook-listen-kim-')).toBe(isMade)
      expect(names()).toEqual([EDITS.name])
    },
  )

  it('receives although the response to the creation was lost, and deletes the webhook at the end', async () => {
    const { url, names } = await start([EDITS], {}, (req, res) => {
      if (req.url?.endsWith('/create')) res.end = () => res.destroy()
      return false
    })
    const listener = listen(url)
    await listener.printed(/registered/)
    expect(names()).toHaveLength(2)
    expect(await listener.stop()).toBe(0)
    expect(names()).toEqual([EDITS.name])
  })

  it('prints the command that deletes the webhook if it cannot delete it', async () => {
    const { url, names } = await start([EDITS], {}, (req, res) =>
      req.url?.endsWith('/delete') ? refuse(req, res) : false,
    )
    const listener = listen(url)
    await listener.printed(/registered/)
    expect(await listener.stop()).toBe(1)
    expect(listener.stderr).toContain(`geohook delete '${SERVICE}' ${names()[1]} --url ${url}`)
  })

  it('deletes at the next run what a killed one has left, and with SIGTERM its own', async () => {
    const { url, names } = await start([EDITS, FOREIGN, SIMILAR])
    const killed = startProcess(argsOf(url), { env })
    await killed.printed(/registered/)
    await killed.stop('SIGKILL')
    const left = names().at(-1)
    expect(left).toMatch(NAME)
    const next = startProcess(argsOf(url), { env })
    await next.printed(/registered/)
    expect(next.stdout).toContain(`deleted ${left}, which an earlier run had left\n`)
    expect(names()).toHaveLength(4)
    expect(await next.stop('SIGTERM')).toBe(0)
    expect(names()).toEqual([EDITS.name, FOREIGN.name, SIMILAR.name])
  })

  it('deletes the temporary webhooks of all users with --cleanup', async () => {
    const { url, names } = await start([EDITS, FOREIGN, SIMILAR])
    const { code, stdout } = await geohook(['listen', '--cleanup', SERVICE, '--url', url])
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `deleted ${FOREIGN.name}\n1 temporary webhook\n`,
    })
    expect(names()).toEqual([EDITS.name, SIMILAR.name])
  })

  it.each([
    [
      ['--register', SERVICE, '--url', 'https://gis.example.com/server'],
      /requires a --public-url with https/,
    ],
    [['--register', SERVICE, '--public-url', 'http://tunnel.example'], /requires a --public-url with https/],
    [['--register', SERVICE, '--key', 'k'], /key of its own/],
    [['--register', SERVICE, '--cleanup', SERVICE], /either --register or --cleanup/],
    [['--cleanup', SERVICE, '--change-types', '*'], /--change-types requires --register/],
    [['--key', 'k', '--url', 'http://127.0.0.1:1'], /--url requires --register/],
  ])('refuses %j', async (args, message) => {
    const { code, stdout, stderr } = await geohook(['listen', '--port', '0', ...args])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })

  it('exits with 3 if the service is unreachable', async () => {
    expect((await geohook(argsOf(await unusedUrl()))).code).toBe(3)
  })
})
