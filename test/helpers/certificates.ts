import 'reflect-metadata'
import { createPrivateKey, KeyObject, webcrypto } from 'node:crypto'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import * as x509 from '@peculiar/x509'
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
  /** Start and end, as days from now. */
  days?: readonly [number, number]
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const DAY = 86_400_000
let count = 0

/** Issues a certificate, also an invalid one. */
export async function issue({
  issuer,
  isCa = false,
  dns = ['localhost'],
  ip = ['127.0.0.1', '::1'],
  users = [],
  isForClientsOnly = false,
  days: [from, to] = [-1, 1],
}: CertificateOptions = {}): Promise<Certificate> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const subject = `CN=test ${++count}`
  const certificate = await x509.X509CertificateGenerator.create({
    subject,
    issuer: issuer ? new x509.X509Certificate(issuer.cert).subject : subject,
    notBefore: new Date(Date.now() + from * DAY),
    notAfter: new Date(Date.now() + to * DAY),
    publicKey: keys.publicKey,
    signingKey: issuer ? await privateKeyOf(issuer) : keys.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(isCa, undefined, true),
      ...(isForClientsOnly ? [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])] : []),
      ...(isCa
        ? []
        : [
            new x509.SubjectAlternativeNameExtension([
              ...dns.map((value) => ({ type: 'dns', value }) as const),
              ...ip.map((value) => ({ type: 'ip', value }) as const),
              ...users.map((value) => ({ type: 'upn', value }) as const),
            ]),
          ]),
    ],
  })
  return {
    cert: `${certificate.toString('pem')}\n`,
    key: KeyObject.from(keys.privateKey).export({ format: 'pem', type: 'pkcs8' }).toString(),
  }
}

export const issueCa = (options: CertificateOptions = {}): Promise<Certificate> =>
  issue({ ...options, isCa: true })

const privateKeyOf = ({ key }: Certificate): Promise<webcrypto.CryptoKey> =>
  webcrypto.subtle.importKey(
    'pkcs8',
    createPrivateKey(key).export({ format: 'der', type: 'pkcs8' }),
    ALGORITHM,
    false,
    ['sign'],
  )

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
