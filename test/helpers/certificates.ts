import { generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import { onTestFinished } from 'vitest'

/** A certificate and its key, in PEM. */
export interface Certificate {
  cert: string
  key: string
}

export interface CertificateOptions {
  /** Default: the certificate signs itself. */
  issuer?: Certificate
  isCa?: boolean
  /** Default: `localhost`, `127.0.0.1` and `::1`. */
  dns?: readonly string[]
  ip?: readonly string[]
  /** User principal names. Default: none. */
  users?: readonly string[]
  /** Default: a certificate for every use. */
  isForClientsOnly?: boolean
  /** The only DNS name that a CA may certify. Default: every name. */
  permitted?: string
  /** Start and end, as days from now. */
  days?: readonly [number, number]
}

const DAY = 86_400_000
let count = 0

/** Issues a certificate, also an invalid one. */
export function issue({
  issuer,
  isCa = false,
  dns = ['localhost'],
  ip = ['127.0.0.1', '::1'],
  users = [],
  isForClientsOnly = false,
  permitted,
  days: [from, to] = [-1, 1],
}: CertificateOptions = {}): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const subject = `CN=test ${++count}`
  const names = [
    ...dns.map((name) => der(0x82, Buffer.from(name))),
    ...ip.map((address) => der(0x87, toBytes(address))),
    ...users.map((name) => der(0xa0, oid(1, 3, 6, 1, 4, 1, 311, 20, 2, 3), der(0xa0, utf8(name)))),
  ]
  const extensions = [
    extension(oid(2, 5, 29, 19), true, sequence(...(isCa ? [TRUE] : []))),
    ...(isForClientsOnly
      ? [extension(oid(2, 5, 29, 37), false, sequence(oid(1, 3, 6, 1, 5, 5, 7, 3, 2)))]
      : []),
    ...(isCa ? [] : [extension(oid(2, 5, 29, 17), false, sequence(...names))]),
    ...(permitted === undefined
      ? []
      : [
          extension(
            oid(2, 5, 29, 30),
            true,
            sequence(der(0xa0, sequence(der(0x82, Buffer.from(permitted))))),
          ),
        ]),
  ]
  const tbs = sequence(
    der(0xa0, integer(2)), // version 3
    der(0x02, Buffer.from([1]), randomBytes(8)), // serial number
    ECDSA_WITH_SHA256,
    nameOf(issuer ? new X509Certificate(issuer.cert).subject : subject),
    sequence(time(from), time(to)),
    nameOf(subject),
    publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, sequence(...extensions)),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', tbs, issuer?.key ?? key))
  const base64 = sequence(tbs, ECDSA_WITH_SHA256, signature).toString('base64')
  const lines = base64.match(/.{1,64}/g) ?? []
  return {
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
    key,
  }
}

export const issueCa = (options: CertificateOptions = {}): Certificate => issue({ ...options, isCa: true })

/** Encodes a value in DER (X.690). */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts)
const integer = (value: number): Buffer => der(0x02, Buffer.from([value]))
const utf8 = (text: string): Buffer => der(0x0c, Buffer.from(text))
const TRUE: Buffer = der(0x01, Buffer.from([0xff]))

function oid(first: number, second: number, ...rest: readonly number[]): Buffer {
  const base128 = (value: number): number[] => {
    const digits = [value & 127]
    for (let high = value >> 7; high > 0; high >>= 7) digits.unshift((high & 127) | 128)
    return digits
  }
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

const ECDSA_WITH_SHA256: Buffer = sequence(oid(1, 2, 840, 10045, 4, 3, 2))

const extension = (id: Buffer, isCritical: boolean, value: Buffer): Buffer =>
  sequence(id, ...(isCritical ? [TRUE] : []), der(0x04, value))

/** @param text a name with nothing but a common name, such as `CN=test` */
const nameOf = (text: string): Buffer =>
  sequence(der(0x31, sequence(oid(2, 5, 4, 3), utf8(text.slice('CN='.length)))))

/** A UTCTime, such as `260102030405Z`. */
const time = (days: number): Buffer =>
  der(0x17, Buffer.from(new Date(Date.now() + days * DAY).toISOString().replace(/^..|\.\d+|[-T:]/g, '')))

/** @param address an IPv4 address, or `::1` */
const toBytes = (address: string): Buffer =>
  address === '::1'
    ? Buffer.concat([Buffer.alloc(15), Buffer.from([1])])
    : Buffer.from(address.split('.').map(Number))

/** An https server that runs until the test ends. */
export interface SecureServer {
  /** With the host `localhost`, without a slash at its end. */
  url: string
  port: number
  /** Number of requests so far. */
  readonly requests: number
  close(): Promise<void>
}

export async function serveSecurely(
  { cert, key }: Certificate,
  listener: RequestListener = (_req, res) => res.end(),
  options: SecureContextOptions = {},
): Promise<SecureServer> {
  let requests = 0
  const server = createServer({ cert, key, ...options }, (req, res) => {
    requests++
    listener(req, res)
    setImmediate(() => req.resume()) // for listeners that do not read the body
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  onTestFinished(close)
  const { port } = server.address() as AddressInfo
  return {
    url: `https://localhost:${port}`,
    port,
    get requests() {
      return requests
    },
    close,
  }
}
