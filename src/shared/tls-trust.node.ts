import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import * as tls from 'node:tls'
import { configInvalid } from '../errors.ts'

/** CA certificates: PEM text, which may contain several, or the bytes of a PEM or DER file. */
export type CaCertificates = string | Uint8Array | readonly (string | Uint8Array)[]

/** CA certificates, or a function that returns the current ones. It is called for each new connection. */
export type CaSource = CaCertificates | (() => CaCertificates)

/**
 * Returns the TLS settings for a new connection.
 *
 * @throws what the function of the {@link CaSource} throws, or an Error if it returns no certificates
 */
export type Trust = () => tls.SecureContext

/** Creates settings that trust Node's CAs and these. They are created again only when the certificates change. */
export function createTrust(source: CaSource): Trust {
  const given = typeof source === 'function' ? source : toPems(source)
  let current: { pems: string; context: tls.SecureContext } | undefined
  return () => {
    const added = typeof given === 'function' ? toPems(given()) : given
    const pems = added.join()
    if (current?.pems !== pems) {
      // Without `ca`, Node uses its own CAs, and does not parse all of them for each context.
      const context = tls.createSecureContext(added.length > 0 ? { ca: [...defaultCas(), ...added] } : {})
      current = { pems, context }
    }
    return current.context
  }
}

/** Reads the option `ca`. @throws {WebhookError} `config_invalid` */
export function readTrust(ca: CaSource): Trust {
  try {
    return createTrust(ca)
  } catch (error) {
    throw configInvalid(`ca: ${(error as Error).message}`)
  }
}

/** Matches the certificates in PEM text; other blocks, such as keys, are ignored. */
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * Splits certificates into PEM texts of one certificate each.
 *
 * @throws {Error} if a value is not a certificate, which Node would ignore
 */
export function toPems(certificates: CaCertificates): string[] {
  const list: readonly unknown[] = Array.isArray(certificates) ? certificates : [certificates]
  return list.flatMap((value) => {
    if (typeof value !== 'string' && !(value instanceof Uint8Array)) throw new Error(INVALID)
    const text = typeof value === 'string' ? value : Buffer.from(value).toString('latin1')
    const blocks = text.match(PEM) ?? [value]
    return blocks.map(toPem)
  })
}

export const INVALID = 'a CA certificate must be a PEM text, or the bytes of a PEM or DER file'

function toPem(certificate: string | Uint8Array): string {
  try {
    return new X509Certificate(certificate).toString()
  } catch {
    throw new Error(INVALID)
  }
}

/** Returns the CAs that Node trusts by default. */
function defaultCas(): readonly string[] {
  // Since Node 22.15; the types are those of Node 20.
  const { getCACertificates } = tls as { getCACertificates?: (type: 'default') => string[] }
  return getCACertificates?.('default') ?? [...tls.rootCertificates, ...extraCas()]
}

/** Returns the certificates of NODE_EXTRA_CA_CERTS. Node warns about an unreadable file, and ignores it. */
function extraCas(): string[] {
  const file = process.env.NODE_EXTRA_CA_CERTS
  if (!file) return []
  try {
    return toPems(readFileSync(file))
  } catch {
    return []
  }
}
