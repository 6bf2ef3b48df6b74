import { printJson, printNote } from '../terminal/output.ts'
import { printable } from '../terminal/printable.ts'
import type { Credentials } from './credentials.ts'

/**
 * Creates a function that reports why TLS handshakes failed. Each reason is reported once, because a sender repeats its
 * attempts.
 */
export function createTlsReporter(
  { ca }: Credentials,
  json: boolean,
): (error: NodeJS.ErrnoException) => void {
  const reported = new Set<string>()
  return ({ code = '' }) => {
    const reason = reasonOf(code, ca ? `the CA certificate ${ca.path}` : 'the CA of your certificate')
    if (reason === undefined || reported.has(reason)) return
    reported.add(reason)
    if (json) printJson({ event: 'tls_error', code, reason }, 0)
    else printNote(printable(reason))
  }
}

/** @returns undefined for errors that say nothing about the sender, such as a lost connection */
function reasonOf(code: string, ca: string): string | undefined {
  if (code === 'ERR_SSL_HTTP_REQUEST')
    return 'A sender used plain HTTP: its payload URL must begin with https://.'
  if (/ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|CERTIFICATE_EXPIRED)$/.test(code))
    return `A sender did not accept the certificate (${code}): it must trust ${ca}.`
  return undefined
}
