import { isIP } from 'node:net'
import { type ConnectionOptions, checkServerIdentity, connect, type TLSSocket } from 'node:tls'
import { hostOf, type Target } from './connection.ts'

/** The certificate of a receiver, and whether senders trust it. */
export interface TlsReport {
  /** Node's code, for example `SELF_SIGNED_CERT_IN_CHAIN`; undefined for a trusted chain. */
  readonly chainError: string | undefined
  /** Why the certificate is not for this host; undefined if it is. */
  readonly hostError: string | undefined
  /** The last moment of the certificate. */
  readonly validTo: Date
  readonly protocol: string
}

/** Connects without sending anything. Rejects with Node's error if the receiver is unreachable or does not speak TLS. */
export async function inspectTls(target: Target): Promise<TlsReport> {
  const socket = await handshake(target)
  const host = hostOf(target.url)
  const certificate = socket.getPeerCertificate()
  const code = socket.authorizationError as unknown as string | null
  const hostError = checkServerIdentity(host, certificate)?.message
  const report: TlsReport = {
    chainError: code === null || code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? undefined : String(code),
    hostError,
    validTo: new Date(certificate.valid_to),
    protocol: socket.getProtocol() ?? 'unknown',
  }
  socket.destroy()
  return report
}

/** Returns true if the receiver accepts a protocol version before TLS 1.2, false if it refuses it. */
export async function acceptsOldTls(target: Target): Promise<boolean> {
  try {
    const socket = await handshake(target, {
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT:@SECLEVEL=0', // OpenSSL would otherwise not offer them
    })
    socket.destroy()
    return true
  } catch {
    return false
  }
}

function handshake({ url, timeout, trust }: Target, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const host = hostOf(url)
  const secureContext = options.maxVersion ? undefined : trust()
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port: Number(url.port) || 443,
      ...(isIP(host) ? {} : { servername: host }),
      ...(secureContext ? { secureContext } : {}),
      ...options,
      rejectUnauthorized: false,
    })
    socket.setTimeout(timeout, () => socket.destroy(new Error('no TLS handshake in time')))
    socket.once('error', reject)
    socket.once('secureConnect', () => {
      socket.off('error', reject).on('error', () => {})
      resolve(socket)
    })
  })
}
