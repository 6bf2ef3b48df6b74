import { X509Certificate } from 'node:crypto'
import { createMockService, type MockService, type MockServiceOptions } from 'geohook/mock'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Certificate, issue, issueCa, serveSecurely } from '../../helpers/certificates.ts'
import { serve } from '../../helpers/served.ts'
import { create } from '../support.ts'
import { CREATED, named, statusesOf } from './support.ts'

/** One is sent over a connection that stays open, the other over its own. */
const CLIENTS = [undefined, 'slow_drip'] as const

let ca: Certificate
let server: Certificate
beforeAll(async () => {
  ca = issueCa()
  server = issue({ issuer: ca })
})

const createFor = (hookUrl: string, options: MockServiceOptions = {}): MockService =>
  create(named(hookUrl, { a: {} }), options)

/** Returns the status of an attempt, or its error. */
async function deliver(service: MockService, client: (typeof CLIENTS)[number]): Promise<unknown> {
  if (client) service.faults.add({ fault: client, delay: 0, times: 1 })
  const [attempt] = await service.trigger(CREATED)
  return attempt?.error ?? attempt?.answer?.status
}

describe('an https payload URL', () => {
  it.each([
    ['PEM text', () => ca.cert],
    ['PEM text with other blocks', () => `a comment\n${ca.key}${ca.cert}`],
    ['PEM text with several certificates', () => server.cert + ca.cert],
    ['a PEM file', () => Buffer.from(ca.cert)],
    ['a DER file', () => new Uint8Array(new X509Certificate(ca.cert).raw)],
    ['a list', () => [server.cert, Buffer.from(ca.cert)]],
    ['a function', () => () => [ca.cert]],
  ])('is trusted by the CA in the option ca, given as %s', async (_, value) => {
    const { url } = await serveSecurely(server)
    expect(await deliver(createFor(url, { ca: value() }), undefined)).toBe(200)
  })

  it.each<[string, () => Certificate, RegExp]>([
    [
      'a certificate that signs itself',
      () => issue(),
      /^the certificate of ORIGIN is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\): give its CA with --ca \(in code: the option ca\)$/,
    ],
    [
      'a certificate of an unknown CA',
      () => issue({ issuer: issueCa() }),
      /^the certificate of ORIGIN is not trusted \(UNABLE_TO_\w+\): give /,
    ],
    [
      'an expired certificate',
      () => issue({ issuer: ca, days: [-9, -1] }),
      /^the certificate of ORIGIN has expired \(CERT_HAS_EXPIRED\): renew it/,
    ],
    [
      'a certificate that is not valid yet',
      () => issue({ issuer: ca, days: [1, 9] }),
      /^the certificate of ORIGIN is not valid yet \(CERT_NOT_YET_VALID\): check the clocks/,
    ],
    [
      'a certificate for other hosts',
      () => issue({ issuer: ca, dns: ['example.com'], ip: ['192.0.2.1'] }),
      /^the certificate of ORIGIN is for another host \(ERR_TLS_CERT_ALTNAME_INVALID\): use a host of the certificate in the URL \(DNS:example\.com, IP Address:192\.0\.2\.1\), or /,
    ],
    [
      'a certificate for many other hosts',
      () => issue({ issuer: ca, dns: Array.from({ length: 9 }, (_, n) => `host-${n}.example.com`), ip: [] }),
      /: use a host of the certificate in the URL \(DNS:host-0\.example\.com, [^)]{72}…\), or /,
    ],
    [
      'a certificate whose other host has the longest name that is shown whole',
      () => issue({ issuer: ca, dns: [`${'a'.repeat(80)}.example.com`], ip: [] }),
      /: use a host of the certificate in the URL \(DNS:a{80}\.example\.com\), or /,
    ],
    [
      'a certificate for a user whose name is not in ASCII',
      () => issue({ issuer: ca, dns: [], ip: [], users: ['J\u00f6rg\u202e'] }),
      /: use a host of the certificate in the URL \(othername:UPN:J\?rg\?\), or /,
    ],
    [
      'a certificate for no host',
      () => issue({ issuer: ca, dns: [], ip: [] }),
      /: use a host of the certificate in the URL, or give the server a certificate for this host$/,
    ],
  ])('is refused with %s, and the error names the fix', async (_, certificate, expected) => {
    const receiver = await serveSecurely(certificate())
    const error = String(await deliver(createFor(receiver.url, { ca: ca.cert }), undefined))
    expect(error.replaceAll(receiver.url, 'ORIGIN')).toMatch(expected)
    expect(receiver.requests).toBe(0)
  })
})

describe.each(CLIENTS)('an https payload URL, with the fault %s', (client) => {
  it('is refused if its certificate has expired', async () => {
    const receiver = await serveSecurely(issue({ issuer: ca, days: [-9, -1] }))
    expect(await deliver(createFor(receiver.url, { ca: ca.cert }), client)).toMatch(/ has expired /)
    expect(receiver.requests).toBe(0)
  })

  it('is refused without the option ca', async () => {
    const receiver = await serveSecurely(server)
    expect(await deliver(createFor(receiver.url), client)).toMatch(/ is not trusted \(UNABLE_TO_/)
    expect(receiver.requests).toBe(0)
  })

  it('is trusted as soon as the function in the option ca returns its CA, and no longer than that', async () => {
    const receiver = await serveSecurely(server, (_req, res) => {
      res.setHeader('connection', 'close').end()
    })
    let cas: string[] = []
    const service = createFor(receiver.url, { ca: () => cas })
    expect(await deliver(service, client)).toMatch(/ is not trusted /)
    cas = [ca.cert]
    for (let count = 0; count < 3; count++) expect(await deliver(service, client)).toBe(200)
    cas = []
    expect(await deliver(service, client)).toMatch(/ is not trusted /)
    expect(receiver.requests).toBe(3)
  })

  it('gets the error of the function in the option ca', async () => {
    const { url } = await serveSecurely(server)
    const fail = (): never => {
      throw new Error('no CA today')
    }
    expect(await deliver(createFor(url, { ca: fail }), client)).toBe('no CA today')
    const wrong = (() => 'none') as unknown as () => string
    expect(await deliver(createFor(url, { ca: wrong }), client)).toMatch(/^a CA certificate must be /)
  })

  it('is reported if the receiver does not speak TLS', async () => {
    const { port } = await serve((_req, res) => res.end())
    const url = `https://localhost:${port}`
    expect(await deliver(createFor(url, { ca: ca.cert }), client)).toBe(
      `${url} does not speak TLS: use a URL that begins with http://`,
    )
  })
})

it('delivers to http payload URLs without calling the function in the option ca', async () => {
  const { url } = await serve((_req, res) => res.end())
  const fail = (): never => {
    throw new Error('called')
  }
  for (const client of CLIENTS) expect(await deliver(createFor(url, { ca: fail }), client)).toBe(200)
})

it('retries a delivery whose certificate is not trusted', async () => {
  const receiver = await serveSecurely(server)
  let calls = 0
  const service = createFor(receiver.url, {
    ca: () => (++calls < 2 ? [] : [ca.cert]),
    settings: { notificationAttempts: 2, notificationElapsedTimeInSeconds: 1 },
  })
  expect(statusesOf(await service.trigger(CREATED))).toEqual([undefined, 200])
})

it.each([
  [''],
  ['no certificate'],
  [new Uint8Array()],
  [[1]],
  [null],
  [{}],
  ['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'],
])('rejects the option ca %j', (value) => {
  expect(() => createMockService({ ca: value as unknown as string })).toThrow(
    expect.objectContaining({
      code: 'config_invalid',
      message: 'options.ca: a CA certificate must be a PEM text, or the bytes of a PEM or DER file',
    }),
  )
})
