import { createPrivateKey, X509Certificate } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { type CliError, usageError } from '../errors.ts'
import { readBytes, readInput, reasonOf } from '../io/files.ts'
import type { TlsCredentials } from '../io/server.ts'
import type { Names } from '../tls/issue.ts'
import { type LocalCa, openLocalCa } from '../tls/local-ca.ts'

/** Values of `--https`, `--tls-cert` and `--tls-key`. */
export interface HttpsOptions {
  https?: true
  tlsCert?: string
  tlsKey?: string
}

/** The certificate of the listener. */
export interface Credentials extends TlsCredentials {
  /** The CA that issued it; undefined for a certificate of the user's own. */
  ca?: LocalCa
}

/**
 * Reads or issues the certificate of the listener.
 *
 * @param host value of `--host`
 * @returns undefined without `--https`
 * @throws {CliError} exit code 2
 */
export async function getCredentials(
  { https, tlsCert, tlsKey }: HttpsOptions,
  host: string,
): Promise<Credentials | undefined> {
  if (!https) return undefined
  if (tlsCert !== undefined && tlsKey !== undefined) return readCredentials(tlsCert, tlsKey)
  const names = await namesFor(host)
  const ca = await openLocalCa()
  const { issueServerCertificate } = await import('../tls/issue.ts')
  const { certificate, key } = await issueServerCertificate(ca, names, Date.now())
  return { cert: certificate, key, ca }
}

const MAX_BYTES = 1024 * 1024

async function readCredentials(certificateFile: string, keyFile: string): Promise<Credentials> {
  const cert = await readInput(certificateFile, MAX_BYTES)
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(cert)
  } catch {
    throw usageError(
      `${certificateFile} is not a certificate in PEM`,
      'Give the certificate, followed by its intermediate certificates.',
    )
  }
  const key = await readKey(keyFile)
  if (!certificate.checkPrivateKey(key.object))
    throw usageError(`the key of --tls-key does not belong to the certificate in ${certificateFile}`)
  return { cert, key: key.bytes }
}

/** Errors do not quote the path, because the user may have typed the key instead. */
async function readKey(
  file: string,
): Promise<{ bytes: Buffer; object: ReturnType<typeof createPrivateKey> }> {
  let bytes: Buffer
  try {
    bytes = await readBytes(file, MAX_BYTES)
  } catch (error) {
    throw usageError(`cannot read the file of --tls-key: ${reasonOf(error)}`, 'Give the path of the file.')
  }
  try {
    return { bytes, object: createPrivateKey(bytes) }
  } catch (error) {
    const isEncrypted = (error as NodeJS.ErrnoException).code === 'ERR_MISSING_PASSPHRASE'
    throw usageError(
      isEncrypted ? 'the key of --tls-key is encrypted' : 'the file of --tls-key is not a private key in PEM',
      isEncrypted ? 'Decrypt it: openssl pkey -in key.pem -out decrypted.pem' : '',
    )
  }
}

/** @throws {CliError} exit code 2 for an address that the local CA may not certify */
async function namesFor(host: string): Promise<Names> {
  // An unknown host is reported when the server begins to listen.
  const { address } = await lookup(host).catch(() => ({ address: '127.0.0.1' }))
  const isEverywhere = address === '0.0.0.0' || address === '::'
  if (!isEverywhere && !isLoopback(address)) throw notLocal(host)
  return {
    dns: [...new Set(['localhost', ...(host.endsWith('.localhost') ? [host] : [])])],
    ip: [...new Set(['127.0.0.1', '::1', ...(isEverywhere ? [] : [address])])],
  }
}

const isLoopback = (address: string): boolean => address === '::1' || address.startsWith('127.')

const notLocal = (host: string): CliError =>
  usageError(
    `the local CA certifies only this machine (localhost, 127.0.0.1 and ::1), not ${host}`,
    'Leave out --host, or give a certificate of your own with --tls-cert and --tls-key.',
  )
