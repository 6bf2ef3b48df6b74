import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { usageError } from '../errors.ts'
import { readInput, reasonOf } from '../io/files.ts'
import type { TlsCredentials } from '../io/server.ts'
import type { Io } from '../terminal/io.ts'

export interface TlsOptions {
  tlsCert?: string
  tlsKey?: string
}

const MAX_BYTES = 1024 * 1024

/**
 * Reads the certificate of the listener.
 *
 * @returns undefined without `--tls-cert` and `--tls-key`
 */
export async function readCredentials(
  io: Io,
  { tlsCert, tlsKey }: TlsOptions,
): Promise<TlsCredentials | undefined> {
  if (tlsCert === undefined || tlsKey === undefined) return undefined
  const cert = await readInput(io, tlsCert, MAX_BYTES)
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(cert)
  } catch {
    throw usageError(
      `${tlsCert} is not a certificate in PEM`,
      'Give the certificate, followed by its intermediate certificates.',
    )
  }
  const key = await readKey(io, tlsKey)
  if (!certificate.checkPrivateKey(key.object))
    throw usageError(`the key of --tls-key does not belong to the certificate in ${tlsCert}`)
  return { cert, key: key.bytes }
}

/** Errors do not quote the path, because the user may have typed the key instead. */
async function readKey(io: Io, file: string): Promise<{ bytes: Buffer; object: KeyObject }> {
  const bytes = await io.readBytes(file, MAX_BYTES).catch((error: unknown) => {
    throw usageError(`cannot read the file of --tls-key: ${reasonOf(error)}`, 'Give the path of the file.')
  })
  try {
    return { bytes, object: createPrivateKey(bytes) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MISSING_PASSPHRASE')
      throw usageError('the file of --tls-key is not a private key in PEM')
    const hint = 'Decrypt it: openssl pkey -in key.pem -out decrypted.pem'
    throw usageError('the key of --tls-key is encrypted', hint)
  }
}

/**
 * Creates a function that reports why TLS handshakes failed. Each reason is reported once, because a sender repeats its
 * attempts.
 */
export function createTlsReporter(io: Io): (error: NodeJS.ErrnoException) => void {
  const reported = new Set<string>()
  return ({ code = '' }) => {
    const reason = describeTlsError(code)
    if (reason === undefined || reported.has(reason)) return
    reported.add(reason)
    if (io.json) io.printEvent({ event: 'tls_error', code, reason })
    else io.note(reason)
  }
}

/** @returns undefined for errors that say nothing about the sender, such as a lost connection */
function describeTlsError(code: string): string | undefined {
  if (code === 'ERR_SSL_HTTP_REQUEST')
    return 'A sender used plain HTTP: its payload URL must begin with https://.'
  if (/ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|CERTIFICATE_EXPIRED)$/.test(code))
    return `A sender did not accept the certificate (${code}): it must trust the CA of your certificate.`
  return undefined
}
