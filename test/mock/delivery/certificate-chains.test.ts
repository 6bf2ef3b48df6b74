import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { describeCertificateError } from '../../../src/shared/certificate-errors.ts'
import { type Certificate, issue, issueCa, serveSecurely } from '../../helpers/certificates.ts'
import { create } from '../support.ts'
import { CREATED, named } from './support.ts'

/** Certificates by name: `middle` is a CA of `root`, and `unknown` a CA that has nothing to do with them. */
let known: Record<'root' | 'middle' | 'unknown' | 'server', Certificate>
beforeAll(() => {
  const [root, unknown] = [issueCa(), issueCa()]
  const middle = issueCa({ issuer: root })
  known = { root, middle, unknown, server: issue({ issuer: middle }) }
})

/** Returns the error of a delivery, without the address of the server. */
async function errorOf(url: string, trusted: string, fault?: 'slow_drip'): Promise<string> {
  const service = create(named(url, { a: {} }), { ca: trusted })
  if (fault) service.faults.add({ fault, delay: 0, times: 1 })
  const [attempt] = await service.trigger(CREATED)
  return String(attempt?.error).replaceAll(url, 'ORIGIN')
}

it.each<[string, string, (keyof typeof known)[], keyof typeof known]>([
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'its issuer is missing', [], 'root'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'the CA of its issuer is unknown', ['middle'], 'unknown'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'the option ca has only an intermediate CA', [], 'middle'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'the server sends an unknown CA', ['middle', 'root'], 'unknown'],
])('refuses a certificate with %s if %s', async (code, _, sent, trusted) => {
  const { server } = known
  const cert = [server, ...sent.map((name) => known[name])].map((certificate) => certificate.cert).join('')
  const { url } = await serveSecurely({ ...server, cert })
  expect(await errorOf(url, known[trusted].cert)).toContain(
    `the certificate of ORIGIN is not trusted (${code}): give its CA with `,
  )
})

it('refuses a certificate whose signature was not made with the key of its CA', async () => {
  const { root, unknown } = known
  const { url } = await serveSecurely(issue({ issuer: { cert: root.cert, key: unknown.key } }))
  expect(await errorOf(url, root.cert)).toContain(' is not trusted (CERT_SIGNATURE_FAILURE): ')
})

it.each([
  ['it is for clients only', () => issue({ issuer: known.root, isForClientsOnly: true })],
  [
    'its issuer is not a CA',
    () => {
      const issuer = issue({ issuer: known.root })
      const { cert, key } = issue({ issuer })
      return { cert: cert + issuer.cert, key }
    },
  ],
])('refuses a certificate with INVALID_PURPOSE if %s', async (_, make) => {
  const { url } = await serveSecurely(make())
  expect(await errorOf(url, known.root.cert)).toContain(
    'the certificate of ORIGIN may not be used by a server, or its issuer is not a CA (INVALID_PURPOSE): give the ',
  )
})

// Called directly: the first two need a CA file of OpenSSL that forbids uses, and OpenSSL often replaces the third by
// a later error.
it.each(['CERT_REJECTED', 'CERT_UNTRUSTED', 'INVALID_CA'])(
  'describes %s as a certificate that is not trusted',
  (code) => {
    expect(describeCertificateError({ code }, 'ORIGIN')).toContain(`ORIGIN is not trusted (${code}): `)
  },
)

it('refuses a certificate for a host that its CA may not certify', async () => {
  const ca = issueCa({ permitted: 'localhost' })
  const names = { dns: ['localhost', 'hooks.example.com'], ip: [] }
  const receiver = await serveSecurely(issue({ issuer: ca, ...names }))
  expect(await errorOf(receiver.url, ca.cert)).toMatch(
    /^the certificate of ORIGIN is for a host that its CA may not certify \(\w+\): give the server a certificate of a CA for this host$/,
  )
  expect(receiver.requests).toBe(0)
})

it.each([undefined, 'slow_drip'] as const)(
  'reports a response that looks like a TLS record which is too long, with the fault %s',
  async (fault) => {
    // A TLS record: its type (handshake), its version (TLS 1.2), and its length.
    const server = createServer((socket) =>
      socket.on('error', () => {}).end('\x16\x03\x03\x7f\x7f', 'latin1'),
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    expect(await errorOf(`https://localhost:${port}`, known.root.cert, fault)).toBe(
      'ORIGIN does not speak TLS: use a URL that begins with http://',
    )
  },
)
