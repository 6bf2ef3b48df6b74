/** Error codes of Node for a certificate whose issuer is not trusted. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'CERT_REJECTED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'INVALID_CA',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** OpenSSL's messages for a response that is not TLS. Node reports some of these errors only as EPROTO. */
const NO_TLS = /wrong version number|(packet|data) length too long/i

/** Maximum number of characters of the names in a certificate that a message shows. */
const MAX_NAMES = 96

/**
 * Describes why the certificate of a server was not accepted, and what to do.
 *
 * @param origin origin of the server
 * @returns undefined for any other error
 */
export function describeCertificateError(thrown: unknown, origin: string): string | undefined {
  const { code = '', message = '', cert } = (thrown ?? {}) as CertificateError
  const problem = (text: string, fix: string): string =>
    `the certificate of ${origin} ${text} (${code}): ${fix}`
  if (UNTRUSTED.has(code)) return problem('is not trusted', 'give its CA with --ca (in code: the option ca)')
  if (code === 'CERT_HAS_EXPIRED') return problem('has expired', 'renew it')
  if (code === 'CERT_NOT_YET_VALID') return problem('is not valid yet', 'check the clocks of both machines')
  if (code === 'INVALID_PURPOSE')
    return problem(
      'may not be used by a server, or its issuer is not a CA',
      'give the server a certificate that a CA has issued for server authentication',
    )
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return problem(
      'is for another host',
      `use a host of the certificate in the URL${namesOf(cert)}, or give the server a certificate for this host`,
    )
  // Tests the message, because some versions of Node have no code for this.
  if (/permitted subtree violation/i.test(message))
    return problem(
      'is for a host that its CA may not certify',
      'give the server a certificate of a CA for this host',
    )
  if (NO_TLS.test(message)) return `${origin} does not speak TLS: use a URL that begins with http://`
  return undefined
}

/** Node's error, with the certificate of the server if its host name is wrong. */
interface CertificateError {
  code?: string
  message?: string
  cert?: { subjectaltname?: string }
}

/** Lists the names in a certificate. The server controls them, so they are shortened. */
function namesOf(cert: CertificateError['cert']): string {
  const names = cert?.subjectaltname?.replace(/[^\x20-\x7e]/g, '?') ?? ''
  if (names === '') return ''
  return ` (${names.length > MAX_NAMES ? `${names.slice(0, MAX_NAMES)}…` : names})`
}
