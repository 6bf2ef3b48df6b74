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

/** Errors of a handshake that the receiver ended. The others come from this side, or say only that nothing arrived. */
const ENDED_BY_RECEIVER = /^ERR_SSL_(?!NO_|INTERNAL_ERROR)|^ECONNRESET$/

/** Offers only versions before TLS 1.2. Returns an error if it does not show whether the receiver accepts them. */
export async function offerOldTls(target: Target): Promise<'accepted' | 'refused' | Error> {
  try {
    const socket = await handshake(target, {
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT:@SECLEVEL=0', // OpenSSL would otherwise not offer them
    })
    socket.destroy()
    return 'accepted'
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    return ENDED_BY_RECEIVER.test(code) ? 'refused' : (error as Error)
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
